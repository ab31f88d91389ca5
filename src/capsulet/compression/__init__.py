"""A model folder to one small file: discrete codes, weights of few bits, a dictionary without what does not matter."""
