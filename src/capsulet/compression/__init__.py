"""Compression of a model folder to one small file: discrete codes, weights of few bits, a smaller dictionary."""
