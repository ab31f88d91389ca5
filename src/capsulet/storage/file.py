"""A model as one ONNX file: tokenizer, configuration and card in its metadata, sealed with a digest."""

from __future__ import annotations

import json
from pathlib import Path

from capsulet.errors import MissingExtraError, ModelError
from capsulet.storage.atomic import digest
from capsulet.storage.folder import CARD, GRAPH, TOKENIZER, read_config, read_file

CONFIG_KEY, TOKENIZER_KEY, CARD_KEY = "capsulet.config", "capsulet.tokenizer", "capsulet.card"  # metadata of a file
# the metadata of a single file: its name and its value, which is as long as the digest that takes its place
DIGEST, UNSEALED = "capsulet.digest", "0" * 64
SEAL = DIGEST.encode() + b"\x12\x40"  # as it stands in the file: the name, then a field (2) of 64 bytes


def seal(data: bytes) -> bytes:
    """A file with `UNSEALED` in its metadata, its digest put there: that of the same file with `UNSEALED`."""
    place = data.rindex(SEAL) + len(SEAL)
    return data[:place] + digest(data).encode() + data[place + len(UNSEALED) :]


def check_seal(data: bytes, source: Path) -> None:
    """Refuse a file that is not what was written; older ones and those of others have no digest."""
    place = data.rfind(SEAL) + len(SEAL)
    if place < len(SEAL):
        return
    end = place + len(UNSEALED)
    if data[place:end] != digest(data[:place] + UNSEALED.encode() + data[end:]).encode():
        raise ModelError(
            f"{source} is damaged: {len(data):,} bytes with another digest than they were written with; restore it "
            "from a copy, or write it again with `capsulet export` or `capsulet compress`"
        )


def bundled(model: Path) -> bytes:
    """The self-contained file of a model folder."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "train", "Exporting") from None
    config = read_config(model)
    graph = onnx.load_model_from_string(read_file(model, GRAPH, config))
    tokenizer = read_file(model, TOKENIZER, config).decode()
    inside = {key: value for key, value in config.items() if key != "files"}
    card = read_file(model, CARD, config).decode(errors="replace")  # people may have edited it
    metadata = {
        CONFIG_KEY: json.dumps(inside, ensure_ascii=False),
        TOKENIZER_KEY: tokenizer,
        CARD_KEY: card,
        DIGEST: UNSEALED,
    }
    onnx.helper.set_model_props(graph, metadata)
    return seal(graph.SerializeToString(deterministic=True))
