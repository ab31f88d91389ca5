"""Batches to a trained network: the loop, the optimisers, stopping."""
