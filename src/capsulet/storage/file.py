"""A model as one ONNX file: tokenizer, configuration and card in its metadata, sealed with a digest."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.errors import MissingExtraError, ModelError
from capsulet.storage.atomic import digest
from capsulet.storage.folder import CARD, GRAPH, TOKENIZER, read_config, read_file
from capsulet.storage.model_config import ModelConfig

if TYPE_CHECKING:
    import onnx

# names of the metadata
CONFIG_KEY, TOKENIZER_KEY, CARD_KEY, DIGEST_KEY = (
    "capsulet.config", "capsulet.tokenizer", "capsulet.card", "capsulet.digest",
)  # fmt: skip
UNSEALED = "0" * 64  # stands in place of the digest while it is computed
SEAL = DIGEST_KEY.encode() + b"\x12\x40"  # the bytes before the digest: its name, then a field (2) of 64 bytes


def seal(data: bytes) -> bytes:
    """Replace `UNSEALED` in the metadata of a file by the digest of the file with `UNSEALED`."""
    place = data.rindex(SEAL) + len(SEAL)
    return data[:place] + digest(data).encode() + data[place + len(UNSEALED) :]


def check_seal(data: bytes, source: Path) -> None:
    """Refuse a file with a wrong digest. A file without a digest is refused later: it is no capsulet model."""
    place = data.rfind(SEAL) + len(SEAL)
    if place < len(SEAL):
        return
    end = place + len(UNSEALED)
    if data[place:end] != digest(data[:place] + UNSEALED.encode() + data[end:]).encode():
        raise ModelError(
            f"{source} is damaged: its {len(data):,} bytes do not match its digest; restore it from a copy, or write "
            "it again with `capsulet export` or `capsulet compress`"
        )


def with_metadata(graph: onnx.ModelProto, config: ModelConfig, tokenizer: str, card: str) -> bytes:
    """The bytes of a graph with everything a model needs in its metadata."""
    import onnx

    inside = json.dumps(dataclasses.replace(config, files={}).as_json(), ensure_ascii=False, separators=(",", ":"))
    metadata = {CONFIG_KEY: inside, TOKENIZER_KEY: tokenizer, CARD_KEY: card, DIGEST_KEY: UNSEALED}
    onnx.helper.set_model_props(graph, metadata)
    return seal(graph.SerializeToString(deterministic=True))


def single_file(model: Path) -> bytes:
    """A model folder as the bytes of one file."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "train", "Exporting") from None
    config = read_config(model)
    graph = onnx.load_model_from_string(read_file(model, GRAPH, config))
    tokenizer = read_file(model, TOKENIZER, config).decode()
    return with_metadata(graph, config, tokenizer, read_file(model, CARD, config).decode(errors="replace"))
