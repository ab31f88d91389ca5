"""Benchmarks. Each is a command that prints its figures; with --write it stores them with machine and commit."""
