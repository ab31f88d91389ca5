"""Small model files with random weights, one for each kind of model. docs/reference/format.md describes the format."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.conftest import TEXTS

Arrays = dict[str, NDArray[Any]]
LABELS = ["food", "money", "sport"]
WORDS = sorted(
    {word for _, text in TEXTS for word in re.findall("[a-z]+|[0-9]", text.lower())} | {"matches", "marathons"}
)
DTYPES = {"float32": "F32", "uint32": "U32", "float16": "F16", "uint16": "U16", "uint8": "U8", "int8": "I8"}
MODEL = {
    "embedding": "cwc", "embedding_size": 12, "num_codebooks": 3, "num_codewords": 4, "hidden_size": 16,
    "num_layers": 1, "pooling": "mean+max", "head": "capsule", "routing": "kmeans", "scale_coupling": False,
    "iterations": 2, "primary_length": 8, "class_length": 6, "multi_label": False,
}  # fmt: skip
CURVE = {"slope": 0.9, "offset": -0.1}
KNOTS = [[0.3, 0.2], [0.5, 0.6], [0.8, 0.9]]
KINDS: dict[str, dict[str, Any]] = {  # options that differ from MODEL, and the rest of the configuration
    "model": {
        "num_layers": 2, "ngrams": 8,
        "calibration": {"method": "platt", "scale": "norm", "factor": 1.5, **CURVE},
    },
    "dynamic": {
        "embedding": "cc", "routing": "dynamic", "scale_coupling": True, "pooling": "max", "hidden_size": 20,
        "embedding_size": 10, "primary_length": 4, "iterations": 3,
    },
    "linear": {
        "embedding": "plain", "head": "linear", "pooling": "mean", "embedding_size": 7, "unknown_words": "apart",
        "calibration": {"method": "isotonic", "scale": "logit", "factor": 1.0, "knots": KNOTS},
    },
    "multi": {
        "multi_label": True, "hidden_size": 40, "ngrams": 8, "thresholds": [0.99, 0.5, 0.9],
        "calibration": {"method": "platt", "scale": "length", "factor": 1.0, "each": True, **CURVE},
    },
    "packed": {
        "packed": True, "ngrams": 4, "hidden_size": 24,
        "calibration": {"method": "temperature", "scale": "log", "factor": 4.0},
    },
}  # fmt: skip


def random_model(kind: str) -> bytes:
    """The file of a model of this kind."""
    options, seed = dict(KINDS[kind]), [*KINDS].index(kind)
    packed, bits, calibration = (
        options.pop("packed", False),
        options.pop("ngrams", None),
        options.pop("calibration", None),
    )
    similar, thresholds = options.pop("unknown_words", "similar"), options.pop("thresholds", None)
    model, dice = MODEL | options, np.random.default_rng(seed)
    vocabulary = len(WORDS) + (1 if packed else 2)
    arrays = {**words(packed, similar == "similar"), **weights(model, vocabulary, packed, dice)}
    config: dict[str, Any] = {
        "format_version": 3, "labels": LABELS, "vocab_size": vocabulary,
        "options": {"model": model, "text": {"unknown_words": similar, "max_tokens": 5000}},
    }  # fmt: skip
    if packed:
        config |= {"dictionary_words": len(WORDS), "compression": {"codebooks": model["num_codebooks"]}}
    if bits:
        config["ngrams"] = {"rows": 257, "strength": 1.0, "bits": bits}
        arrays |= ngrams(bits, packed, vocabulary, dice)
    if thresholds:
        config["thresholds"] = thresholds
    if calibration:
        config["calibration"] = calibration if model["multi_label"] else calibration | rankings(random.Random(seed))
    text = json.dumps(config, separators=(",", ":")).encode()
    return pack({**arrays, "config": np.frombuffer(text, np.uint8)})


def rankings(dice: random.Random) -> dict[str, Any]:
    """Made-up validation texts by each value, highest first."""
    found = {}
    for name, low, high in (("confidence", -9.0, 3.0), ("certainty", -9.0, 3.0), ("set_score", 0.0, 1.0)):
        values = sorted((round(dice.uniform(low, high), 6) for _ in range(200)), reverse=True)
        wrong = accumulate(int(place > 100 and dice.random() < 0.1) for place in range(200))
        found[name] = {"values": values, "reached": list(range(1, 201)), "wrong": list(wrong)}
    return found


def weights(model: Mapping[str, Any], vocabulary: int, packed: bool, dice: np.random.Generator) -> Arrays:
    """Weights of the embedding, the encoder and the head."""
    books, codewords, size, hidden = (
        model[key] for key in ("num_codebooks", "num_codewords", "embedding_size", "hidden_size")
    )
    found: Arrays = {}

    def put(name: str, *shape: int) -> None:
        scale = (
            1.0 if "weight_hh" in name else 2.0
        )  # larger recurrent weights make the contributions of long texts infinite
        found[name] = (dice.standard_normal(shape) * scale / np.sqrt(shape[-1])).astype(np.float32)

    if packed:
        codewords = 16
        choices = dice.integers(0, 16, (vocabulary, books + books % 2))
        found["embedding.choices"] = (choices[:, ::2] + 16 * choices[:, 1::2]).astype(np.uint8)
    elif model["embedding"] == "plain":
        put("embedding.table", vocabulary, size)
    else:
        found["embedding.codes"] = (2 * dice.standard_normal((vocabulary, books * codewords))).astype(np.float32)
    if model["embedding"] != "plain":
        put("embedding.codebooks", books, codewords, size)
    for layer in range(model["num_layers"]):
        for end in (f"l{layer}", f"l{layer}_reverse"):
            put(f"encoder.gru.weight_ih_{end}", 3 * hidden, 2 * hidden if layer else size)
            put(f"encoder.gru.weight_hh_{end}", 3 * hidden, hidden)
            put(f"encoder.gru.bias_ih_{end}", 3 * hidden)
            put(f"encoder.gru.bias_hh_{end}", 3 * hidden)
    if model["head"] == "linear":
        put("head.weight", len(LABELS), hidden)
    else:
        inside, length = model["primary_length"], model["class_length"]
        put("head.transforms", hidden // inside, inside, len(LABELS), length)
    if not packed:
        return found
    rounded: Arrays = {"embedding.choices": found.pop("embedding.choices")}
    for name, value in found.items():
        rounded |= few_bits(name, rows_of(name, value), 5)
    return rounded


def rows_of(name: str, value: NDArray[Any]) -> NDArray[Any]:
    """A weight as rows with one scale each."""
    if name == "head.transforms":  # (N, P, C, L): a row for each capsule and class
        return value.transpose(0, 2, 1, 3).reshape(value.shape[0] * value.shape[2], -1)
    return value.reshape(3, -1) if value.ndim == 1 else value.reshape(-1, value.shape[-1])


def few_bits(name: str, rows: NDArray[Any], bits: int) -> Arrays:
    """Rows of numbers of few bits, and their scales."""
    half = 1 << (bits - 1)
    scales = (np.abs(rows).max(1) / (half - 1)).astype(np.float16)
    levels = np.clip(np.round(rows / scales[:, None].astype(np.float32)) + half, 0, 2 * half - 1).astype(np.uint8)
    flat = np.concatenate([levels.ravel(), np.zeros(-levels.size % 8, np.uint8)]).reshape(-1, 8)
    spread = (flat[:, :, None] >> np.arange(bits)) & 1  # lowest bits first
    return {name: np.packbits(spread.reshape(-1, 8 * bits), axis=1, bitorder="little"), f"{name}.scales": scales}


def ngrams(bits: int, packed: bool, vocabulary: int, dice: np.random.Generator) -> Arrays:
    """The table of the n-gram features."""
    half, rows = 1 << (bits - 1), 257
    levels = dice.integers(-half, half, (rows, len(LABELS)))
    scales = np.array([0.02, 0.03, 0.04], np.float32) * 128 / half
    if bits == 8:
        return {"ngrams.levels": levels.astype(np.int8), "ngrams.scales": scales}
    fields = np.concatenate([levels + half, np.zeros((rows, 1), np.int64)], 1)  # two fields of four bits a byte
    found: Arrays = {"ngrams.levels": (fields[:, ::2] + 16 * fields[:, 1::2]).astype(np.uint8), "ngrams.scales": scales}
    if packed:
        found["ngrams.keys"] = np.arange(1, vocabulary + 1, dtype=np.uint16)
    return found


def words(packed: bool, similar: bool) -> Arrays:
    """The dictionary."""
    encoded = [word.encode() for word in WORDS]  # sorted
    if packed:
        return {"words.packed": np.frombuffer(raw_deflate(front_coded(encoded)), np.uint8)}
    slots = np.zeros(1 << (2 * len(encoded) - 1).bit_length(), np.uint32)
    for number, word in enumerate(encoded, 1):
        value = 2166136261
        for byte in word:
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
        place = value ^ value >> 15
        while slots[place % len(slots)]:
            place += 1
        slots[place % len(slots)] = number
    found: Arrays = {
        "words.letters": np.frombuffer(b"".join(encoded), np.uint8),
        "words.ends": np.array([*accumulate(map(len, encoded))], np.uint32),
        "words.slots": slots,
    }
    if similar:
        found["words.order"] = np.arange(len(encoded), dtype=np.uint32)
    return found


def front_coded(encoded: Sequence[bytes]) -> bytes:
    """Sorted words, each without the beginning that it shares with the one before."""
    coded, before = bytearray(), b""
    for word in encoded:
        pairs = enumerate(zip(before, word, strict=False))
        shared = next((at for at, (one, other) in pairs if one != other), min(len(before), len(word)))
        coded += bytes([shared, len(word) - shared]) + word[shared:]
        before = word
    return bytes(coded)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def pack(arrays: Arrays) -> bytes:
    """The file of these tensors: the largest elements first."""
    ordered = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    header: dict[str, Any] = {"__metadata__": {"format": "capsulet", "version": "3", "crc32": "00000000"}}
    place = 0
    for name, value in ordered:
        header[name] = {
            "dtype": DTYPES[value.dtype.name],
            "shape": list(value.shape),
            "data_offsets": [place, place + value.nbytes],
        }
        place += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    data = len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for _, value in ordered)
    return data.replace(b'"crc32":"00000000"', b'"crc32":"%08x"' % zlib.crc32(data), 1)
