"""Label texts with the shared library of the core and nothing else: no NumPy, no package capsulet.

make libcapsulet && python examples/ctypes_predict.py build/libcapsulet.so MODEL TEXT...
"""

import ctypes
import sys
from pathlib import Path

library, model_path, *texts = sys.argv[1:]
core, model = ctypes.CDLL(library), ctypes.c_void_p()
core.capsulet_label.restype = ctypes.c_void_p
data, message = Path(model_path).read_bytes(), ctypes.create_string_buffer(256)
if core.capsulet_open(data, ctypes.c_size_t(len(data)), 0, ctypes.byref(model), message):
    sys.exit(f"{model_path}: {message.value.decode()}")

labels, size = [], ctypes.c_size_t()
while place := core.capsulet_label(model, len(labels), ctypes.byref(size)):  # NULL after the last label
    labels.append(ctypes.string_at(place, size.value).decode())

encoded = [text.encode(errors="replace") for text in texts]
starts = (ctypes.c_char_p * len(texts))(*encoded)
sizes = (ctypes.c_size_t * len(texts))(*map(len, encoded))
lengths = (ctypes.c_float * (len(texts) * len(labels)))()
if core.capsulet_classify(model, starts, sizes, ctypes.c_size_t(len(texts)), 0, lengths, None):
    sys.exit(f"{model_path}: its weights give numbers that are not finite")
for row, text in enumerate(texts):
    own = lengths[row * len(labels) : (row + 1) * len(labels)]
    best = max(range(len(labels)), key=own.__getitem__)
    print(f"{labels[best]}\t{own[best]:.6f}\t{text}")
core.capsulet_close(model)
