"""Name and shape of every parameter, without allocating them and without PyTorch.

Axis letters of the whole project: B texts, T tokens, V words, M codebooks, K codewords, D embedding, H hidden,
N primary capsules, P primary capsule length, C classes, L class capsule length, S rows of the n-gram table.
In some modules also: n texts of a corpus, F n-gram features of a regression, U distinct words of a batch, W numbers in
a row of an embedding, which is M K for codes and D for a plain table.
"""

import math
from collections.abc import Mapping
from typing import Any

from capsulet.automatic import resolve_model
from capsulet.config import ModelOptions, decided

Shapes = dict[str, tuple[int, ...]]

LEVELS, SCALES, CHECKS, BIAS = "ngrams.levels", "ngrams.scales", "ngrams.checks", "ngrams.bias"
PIECE_CODES = "embedding.pieces"  # rows of pieces of words
LEVEL_BITS = "ngrams.bits"  # of compressed models


def parameter_shapes(options: ModelOptions, vocab_size: int, num_classes: int) -> Shapes:
    """Names and shapes of the parameters of the network that these options describe, without n-gram features."""
    options = resolve_model(options, vocab_size, num_classes)
    embedding, hidden = options.embedding_size, decided(options.hidden_size)
    shapes: Shapes = {}
    if options.embedding == "plain":
        shapes["embedding.table"] = (vocab_size, embedding)
        row = embedding
    else:
        codebooks, codewords = options.num_codebooks, decided(options.num_codewords)
        shapes["embedding.codes"] = (vocab_size, codebooks * codewords)
        shapes["embedding.codebooks"] = (codebooks, codewords, embedding)
        row = codebooks * codewords
    if rows := decided(options.piece_codes):
        shapes[PIECE_CODES] = (rows, row)
    for layer in range(decided(options.num_layers)):
        inputs = 2 * hidden if layer else embedding
        for end in (f"l{layer}", f"l{layer}_reverse"):
            shapes[f"encoder.gru.weight_ih_{end}"] = (3 * hidden, inputs)
            shapes[f"encoder.gru.weight_hh_{end}"] = (3 * hidden, hidden)
            shapes[f"encoder.gru.bias_ih_{end}"] = shapes[f"encoder.gru.bias_hh_{end}"] = (3 * hidden,)
    if options.head == "capsule":
        length = options.primary_length
        shapes["head.transforms"] = (hidden // length, length, num_classes, options.class_length)
    else:
        shapes["head.weight"] = (num_classes, hidden)
    return shapes


def ngram_shapes(rows: int, num_classes: int) -> Shapes:
    """Names and shapes of a table of n-gram features."""
    return {LEVELS: (rows, num_classes), SCALES: (num_classes,), CHECKS: (rows,), BIAS: (num_classes,)}


def shapes_of(weights: Mapping[str, Any]) -> Shapes:
    """Names and shapes of arrays."""
    return {name: tuple(value.shape) for name, value in weights.items()}


def num_parameters(shapes: Shapes) -> int:
    """Number of learned values in these arrays."""
    return sum(parameters_by_part(shapes).values())


def parameters_by_part(shapes: Shapes) -> dict[str, int]:
    """Number of learned values per part: embedding, encoder, head, ngrams. The checks of n-grams are not learned."""
    parts: dict[str, int] = {}
    for name, shape in shapes.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + (0 if name == CHECKS else math.prod(shape))
    return parts
