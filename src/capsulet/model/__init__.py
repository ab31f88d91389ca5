"""The network of the paper and its variants, in PyTorch. It knows no labels and no files."""
