"""Compression of a model to one small file: discrete codes, weights of few bits, a smaller dictionary."""
