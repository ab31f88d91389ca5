"""Drift detection: do new texts still look like the validation texts of a model? drift.py is the verb."""
