"""Measure a model: metrics, calibration, reliability, abstention. evaluate.py and calibrate.py are the verbs.

This package fits calibrations and thresholds; the core applies them to new texts (core/calibration.c).
"""
