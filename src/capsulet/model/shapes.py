"""The parameters of every variant by name and shape, worked out without allocating any and without PyTorch.

Axis letters as everywhere: V words, M codebooks, K codewords, D embedding, H hidden, N primary capsules, C classes,
L class capsule length, S rows of the ngrams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from capsulet.config import ModelOptions, smallest_num_codewords

Shapes = dict[str, tuple[int, ...]]

LEVELS, SCALES = "ngrams.levels", "ngrams.scales"
KEYS, LEVEL_BITS = "ngrams.keys", "ngrams.bits"  # of a compressed model: its words' ids in the whole one
NGRAM_ROWS, NGRAM_NUMBERS = 1 << 18, 1 << 20  # most of them: 262,144 rows, a million numbers


def num_codewords(options: ModelOptions, vocab_size: int) -> int:
    """K: as asked for, or the smallest that can give every word its own combination."""
    return options.num_codewords or smallest_num_codewords(vocab_size, options.num_codebooks)


def parameter_shapes(options: ModelOptions, vocab_size: int, num_classes: int) -> Shapes:
    """Name and shape of each parameter of the network that these options build."""
    embedding, hidden = options.embedding_size, options.hidden_size
    shapes: Shapes = {}
    if options.embedding == "plain":
        shapes["embedding.table"] = (vocab_size, embedding)
    else:
        codebooks, codewords = options.num_codebooks, num_codewords(options, vocab_size)
        shapes["embedding.codes"] = (vocab_size, codebooks * codewords)
        shapes["embedding.codebooks"] = (codebooks, codewords, embedding)
    for layer in range(options.num_layers):
        inputs = 2 * hidden if layer else embedding
        for direction in ("", "_reverse"):
            shapes[f"encoder.gru.weight_ih_l{layer}{direction}"] = (3 * hidden, inputs)
            shapes[f"encoder.gru.weight_hh_l{layer}{direction}"] = (3 * hidden, hidden)
            shapes[f"encoder.gru.bias_ih_l{layer}{direction}"] = (3 * hidden,)
            shapes[f"encoder.gru.bias_hh_l{layer}{direction}"] = (3 * hidden,)
    if options.head == "capsule":
        primary = hidden // options.primary_length
        shapes["head.transforms"] = (primary, options.primary_length, num_classes, options.class_length)
    else:
        shapes["head.weight"] = (num_classes, hidden)
    if rows := ngrams_rows(options, vocab_size, num_classes):
        shapes[LEVELS] = (rows, num_classes)
        shapes[SCALES] = (num_classes,)
    return shapes


def stored_shapes(options: ModelOptions, config: Mapping[str, Any]) -> Shapes:
    """The same of a model that is there: by its configuration it has a ngrams or not."""
    ngrams = config.get("ngrams") or {"rows": 0}
    return parameter_shapes(
        replace(options, ngram_features=ngrams["rows"]), config["vocab_size"], len(config["labels"])
    )


def ngrams_rows(options: ModelOptions, vocab_size: int, num_classes: int) -> int:
    """S: as asked for, or the power of two from eight times the words on, as long as it stays small."""
    if options.ngram_features >= 0:
        return options.ngram_features
    wanted = 1 << (8 * vocab_size - 1).bit_length()
    most = max(1, NGRAM_NUMBERS // num_classes)
    return min(wanted, 1 << (most.bit_length() - 1), NGRAM_ROWS)


def num_parameters(shapes: Shapes) -> int:
    """How many numbers these parameters hold."""
    return sum(math.prod(shape) for shape in shapes.values())


def parameters_by_part(shapes: Shapes) -> dict[str, int]:
    """The same, by the first word of the name: embedding, encoder, head, ngrams."""
    parts: dict[str, int] = {}
    for name, shape in shapes.items():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + math.prod(shape)
    return parts
