"""Files to rows, rows to tokens, tokens to batches of ids. Needs no PyTorch."""
