"""Checks of labelled files: duplicates, contradictions, damaged texts, odd classes, and suspect labels."""
