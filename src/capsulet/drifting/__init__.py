"""Drift detection: whether new texts still look like the validation texts of a model."""
