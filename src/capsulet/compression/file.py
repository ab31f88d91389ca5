"""A compressed model as the bytes of one ONNX file, and what they are spent on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capsulet.compression.setting import part_of
from capsulet.config import ModelOptions
from capsulet.storage.file import DIGEST, UNSEALED, seal
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import UNKNOWN

if TYPE_CHECKING:
    import onnx

PARTS = ("codes", "codebooks", "GRU", "capsules", "n-grams", "dictionary", "graph", "metadata")
CONFIG, TOKENIZER, CARD = "capsulet.config", "capsulet.tokenizer", "capsulet.card"


def build_file(
    weights: Mapping[str, Any],
    options: ModelOptions,
    words: Sequence[str],
    config: Mapping[str, Any],
    tokenizer: str,
    card: str,
) -> bytes:
    """The file; choices in the weights are in the order of the words, behind those of the unknown word."""
    import onnx

    from capsulet.model.graph import build_graph

    model = build_graph(dict(weights), options, pack_words(words))
    shorten_names(model)
    inside = {key: value for key, value in config.items() if key != "files"}
    inside |= {"vocab_size": len(words) + 1, "dictionary": {"words": len(words)}}
    parts = {CONFIG: compact(inside), TOKENIZER: bare_tokenizer(tokenizer), CARD: card}
    onnx.helper.set_model_props(model, {**parts, DIGEST: UNSEALED})
    return seal(model.SerializeToString(deterministic=True))


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bare_tokenizer(tokenizer: str) -> str:
    """The tokenizer of a model with no word but the unknown one, which is 0."""
    described = json.loads(tokenizer)
    described["model"]["vocab"] = {UNKNOWN: 0}
    return compact(described)


def shorten_names(model: onnx.ModelProto) -> None:
    """Names of nodes are for people and a tenth of a small file is made of them: only the outer ones stay."""
    graph = model.graph
    keep = {value.name for value in [*graph.input, *graph.output]} | {value.name for value in graph.initializer}
    short: dict[str, str] = {}
    for node in graph.node:
        node.name = ""
        for place, name in enumerate(node.input):
            node.input[place] = short.get(name, name)
        for place, name in enumerate(node.output):
            if name not in keep:
                node.output[place] = short.setdefault(name, f"_{len(short)}")


def bytes_by_part(data: bytes) -> dict[str, int]:
    """How many bytes of a file are each of these parts; they sum to it."""
    import onnx

    model = onnx.load_model_from_string(data)
    found = dict.fromkeys(PARTS, 0)
    for constant in model.graph.initializer:
        found[part_of(constant.name)] += constant.ByteSize()
    for entry in model.metadata_props:
        whole = entry.key == TOKENIZER and not found["dictionary"]  # an exported file has its words in there
        found["dictionary" if whole else "metadata"] += entry.ByteSize()
    found["graph"] += len(data) - sum(found.values())
    return found
