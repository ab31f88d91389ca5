"""How good a model is: metrics, calibration, reliability, abstention."""
