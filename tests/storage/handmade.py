"""Small models made by hand: random weights, a few words, no training."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from capsulet.automatic import DataSize, resolve
from capsulet.config import build_options
from capsulet.model.quantisation import as_rows, best_scales, rounded
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, PIECE_CODES, SCALES, ngram_shapes, parameter_shapes
from capsulet.storage.model_config import ModelConfig, NgramTable, TrainingData, TrainingMetrics
from capsulet.storage.model_file import PACKED, model_file, pack_model
from capsulet.storage.tensors import from_bytes
from capsulet.storage.weights import CHOICES, CODEBOOKS, CODEWORDS, pack_weights
from capsulet.text.packed_dictionary import pack_words

WORDS = ["the", "match", "bank", "soup", "é", "中", "fabulous"]
LABELS = ("food", "money", "sport")
SIZES = {"embedding_size": 4, "hidden_size": 8, "num_codebooks": 2, "class_length": 4, "num_layers": 1}
CARD = "# A card\n"


def settings(words: int = len(WORDS) + 2, rows: int = 16, tokens: str = "unicode", **changes: Any) -> ModelConfig:
    """The configuration of a tiny model."""
    chosen = build_options("default", **SIZES, ngram_features=rows, tokens=tokens, piece_codes=32, valid_fraction=0.25)
    options = resolve(chosen, DataSize(12, 100, words, len(LABELS)))
    config = ModelConfig(
        "0", LABELS, "default", options, words, 1, TrainingData(12, 3, 100, dict.fromkeys(LABELS, 4)),
        TrainingMetrics(0.5, 0.25, 1, 1, "finished"), "capsulet train rows.csv --out MODEL",
        ngrams=NgramTable(rows, 1.0) if rows else None,
    )  # fmt: skip
    return dataclasses.replace(config, **changes)


def weights_of(config: ModelConfig) -> dict[str, Any]:
    """Random weights of every shape that the configuration asks for."""
    dice = np.random.default_rng(0)
    shapes = {} if config.linear_only else parameter_shapes(config.network, config.vocab_size, len(config.labels))
    weights: dict[str, Any] = {name: dice.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    if PIECE_CODES in weights:
        weights[PIECE_CODES] = weights[PIECE_CODES].astype(np.float16)
    if config.ngrams:
        shapes = ngram_shapes(config.ngrams.rows, len(config.labels))
        weights[LEVELS] = dice.integers(-127, 128, shapes[LEVELS]).astype(np.int8)
        weights[SCALES] = dice.normal(size=shapes[SCALES]).astype(np.float32)
        weights[BIAS] = dice.normal(size=shapes[BIAS]).astype(np.float32)
        weights[CHECKS] = dice.integers(0, 256, shapes[CHECKS]).astype(np.uint8)
    return weights


def whole(**changes: Any) -> bytes:
    """The file of a whole model."""
    config = settings(**changes)
    return model_file(weights_of(config), WORDS, config, CARD)


def compressed(bits: int = 5, ngram_bits: int = 4, **changes: Any) -> bytes:
    """The file of a compressed model."""
    size, dice = len(WORDS) + 1, np.random.default_rng(1)
    described = {"dictionary_words": len(WORDS), "ngrams": NgramTable(16, 1.0, ngram_bits), "compression": {}}
    config = settings(size, **described, **changes)
    plain = weights_of(config)
    table = {
        LEVELS: dice.integers(-7, 8, (16, len(LABELS))).astype(np.int8), SCALES: plain[SCALES],
        CHECKS: plain[CHECKS], BIAS: plain[BIAS], LEVEL_BITS: ngram_bits,
    }  # fmt: skip
    weights = {**({} if config.linear_only else packed_network(plain, bits, size, dice)), **table}
    return pack_model({**pack_weights(weights), PACKED: from_bytes(pack_words(WORDS))}, config, CARD)


def packed_network(plain: dict[str, Any], bits: int, size: int, dice: np.random.Generator) -> dict[str, Any]:
    """Rounded weights of a network."""
    matrices = {name: value for name, value in plain.items() if name.startswith(("encoder.", "head."))}
    matrices[CODEBOOKS] = dice.normal(size=(3, CODEWORDS, SIZES["embedding_size"])).astype(np.float32)
    weights: dict[str, Any] = {CHOICES: dice.integers(0, CODEWORDS, (size, 3)).astype(np.uint8)}
    for name, value in matrices.items():
        rows = np.ascontiguousarray(as_rows(name, value))
        weights[name] = rounded(rows, best_scales(rows, bits), bits)
    return weights
