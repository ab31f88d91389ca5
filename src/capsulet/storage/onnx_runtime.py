"""ONNX Runtime without telemetry. Import `onnxruntime` from here only.

From version 1.29 on, importing ONNX Runtime on Linux and macOS writes a device id to the home folder and starts an
uploader. Only this environment variable, set before the import, prevents both.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

onnxruntime.disable_telemetry_events()  # if the program has imported ONNX Runtime before, and on Windows

__all__ = ["onnxruntime"]
