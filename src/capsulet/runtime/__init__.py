"""Prediction with ONNX Runtime, `tokenizers` and NumPy, and nothing heavier."""
