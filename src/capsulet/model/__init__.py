"""The network of the paper and its variants, in PyTorch: network.py shows all of it. It knows no labels and no files.

It is used for training only; core/network.c computes predictions.
"""
