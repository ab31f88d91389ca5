"""Name and shape of every parameter of every variant, without allocating them and without PyTorch.

Axis letters as everywhere: V words, M codebooks, K codewords, D embedding, H hidden, N primary capsules, C classes,
L class capsule length, S rows of the n-gram table.
"""

from __future__ import annotations

import math

from capsulet.config import ModelOptions, decided, resolve_model

Shapes = dict[str, tuple[int, ...]]

LEVELS, SCALES = "ngrams.levels", "ngrams.scales"
KEYS, LEVEL_BITS = "ngrams.keys", "ngrams.bits"  # of a compressed model: its words' ids in the whole one


def parameter_shapes(options: ModelOptions, vocab_size: int, num_classes: int) -> Shapes:
    """Name and shape of each parameter of the network that these options build."""
    options = resolve_model(options, vocab_size, num_classes)
    embedding, hidden = options.embedding_size, options.hidden_size
    shapes: Shapes = {}
    if options.embedding == "plain":
        shapes["embedding.table"] = (vocab_size, embedding)
    else:
        codebooks, codewords = options.num_codebooks, decided(options.num_codewords)
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
    if rows := decided(options.ngram_features):
        shapes[LEVELS] = (rows, num_classes)
        shapes[SCALES] = (num_classes,)
    return shapes


def num_parameters(shapes: Shapes) -> int:
    """How many numbers these parameters have."""
    return sum(math.prod(shape) for shape in shapes.values())


def parameters_by_part(shapes: Shapes) -> dict[str, int]:
    """Numbers per part of the network: embedding, encoder, head, ngrams."""
    parts: dict[str, int] = {}
    for name, shape in shapes.items():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + math.prod(shape)
    return parts
