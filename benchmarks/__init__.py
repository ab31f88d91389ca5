"""Measurements, each a command that prints its figures and can write them with machine and commit."""
