"""The model file: configuration, card, words and weights as tensors. Reading needs the standard library only.

docs/reference/format.md describes it to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import ModelError
from capsulet.storage.model_config import FORMAT_VERSION, ModelConfig, parse_config, wrong_version
from capsulet.storage.tensors import (
    Bytes,
    Tensor,
    as_integers,
    check_checksum,
    damaged,
    from_array,
    from_bytes,
    from_integers,
    map_file,
    pack,
    parse_json,
    read_header,
    unpack,
)
from capsulet.text.packed_dictionary import unpack_words
from capsulet.text.vocabulary import FIRST_WORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL = "model.safetensors"  # the model file of a folder
OLD_CONFIG = "config.json"  # in folders of formats 1 and 2
NAME = "capsulet"  # `format` in the metadata
CONFIG, CARD = "config", "card"
LETTERS, ENDS, SLOTS, ORDER, PACKED = "words.letters", "words.ends", "words.slots", "words.order", "words.packed"
FNV_START, FNV_PRIME, MASK = 2166136261, 16777619, 0xFFFFFFFF


@dataclass(frozen=True)
class ModelFile:
    """A model file in memory: its bytes, and its tensors as views of them."""

    data: Bytes
    source: str  # named in errors
    tensors: Mapping[str, Tensor]

    @cached_property
    def config(self) -> ModelConfig:
        """The configuration, parsed and checked."""
        return parse_config(parse_json(self.bytes_of(CONFIG), self.source, "its configuration"), self.source)

    @property
    def card(self) -> str:
        """The card."""
        return bytes(self.bytes_of(CARD)).decode(errors="replace") if CARD in self.tensors else ""

    @property
    def words(self) -> list[str]:
        """The known words by id, without padding and the unknown word."""
        return words_of(self)

    def bytes_of(self, name: str) -> Bytes:
        """The bytes of a tensor of type U8."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.dtype != "U8":
            damaged(self.source, f"{name} is {'missing' if tensor is None else tensor.dtype}, expected bytes (U8)")
        return tensor.data


def model_file(weights: Mapping[str, NDArray[Any]], words: Sequence[str], config: ModelConfig, card: str) -> bytes:
    """The file of a whole model; words are listed by id, without padding and the unknown word."""
    assert len(words) == config.vocab_size - FIRST_WORD, "words of the vocabulary"
    tensors = {name: from_array(value) for name, value in weights.items()}
    return pack_model({**tensors, **word_tensors(words, config.reads_similar_words)}, config, card)


def pack_model(tensors: Mapping[str, Tensor], config: ModelConfig, card: str) -> bytes:
    """The file of these tensors with a configuration and a card."""
    text = json.dumps(config.as_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    rest = {name: tensor for name, tensor in tensors.items() if name not in (CONFIG, CARD)}
    described = {CONFIG: from_bytes(text.encode()), CARD: from_bytes(card.encode()), **rest}
    return pack(described, {"format": NAME, "version": str(FORMAT_VERSION)})


def word_tensors(words: Sequence[str], similar: bool) -> dict[str, Tensor]:
    """The dictionary of a whole model: letters, ends, hash table and, if words are read as similar ones, the order."""
    encoded = [word.encode() for word in words]
    tensors = {
        LETTERS: from_bytes(b"".join(encoded)),
        ENDS: from_integers(accumulate(map(len, encoded))),
        SLOTS: from_integers(hash_table(encoded)),
    }
    if similar:
        tensors[ORDER] = from_integers(sorted(range(len(encoded)), key=encoded.__getitem__))
    return tensors


def hash_table(words: Iterable[bytes]) -> list[int]:
    """Slots with open addressing: i + 1 of word i, or 0. Each word takes the first free slot from its hash on."""
    words = list(words)
    slots = [0] * max(2, 1 << max(2 * len(words) - 1, 0).bit_length())
    mask = len(slots) - 1
    for number, word in enumerate(words, 1):
        value = FNV_START
        for byte in word:
            value = (value ^ byte) * FNV_PRIME & MASK
        place = (value ^ value >> 15) & mask
        while slots[place]:
            place = place + 1 & mask
        slots[place] = number
    return slots


def words_of(model: ModelFile) -> list[str]:
    """The known words of a model by id, without padding and the unknown word."""
    config, source = model.config, model.source
    try:
        if config.dictionary_words is not None:
            return unpack_words(bytes(model.bytes_of(PACKED)), config.dictionary_words)
        letters = bytes(model.bytes_of(LETTERS))
        if ENDS not in model.tensors:
            damaged(source, f"{ENDS} is missing")
        ends = as_integers(model.tensors[ENDS], ENDS, source).tolist()
        starts = [0, *ends[:-1]]
        if len(ends) != config.vocab_size - FIRST_WORD or (ends[-1] if ends else 0) != len(letters):
            found = f"{len(ends)} words of {len(letters)} bytes"
            damaged(source, f"{found}, expected {config.vocab_size - FIRST_WORD} words that end with the last byte")
        if any(start > end for start, end in zip(starts, ends, strict=False)):
            damaged(source, f"{ENDS} is not in ascending order")
        return [letters[start:end].decode() for start, end in zip(starts, ends, strict=False)]
    except ValueError as error:  # not UTF-8, or from unpack_words
        damaged(source, f"its words cannot be read ({error!s:.80})")


def read_model(path: Path, verify: bool = True) -> ModelFile:
    """The model in a folder or file, mapped into memory; `verify` compares the bytes with their checksum."""
    if not path.exists():
        raise ModelError(
            f"{path} does not exist: expected a model folder or .safetensors file; `capsulet train … --out {path}` "
            "makes one"
        )
    if path.is_dir():
        if not (path / MODEL).exists() or (path / OLD_CONFIG).exists():
            refuse_folder(path)
        path = path / MODEL
    if path.suffix == ".onnx":
        raise ModelError(f"{path} is an export for other programs: name the model that it was exported from")
    return parse_model(map_file(path), str(path), verify)


def parse_model(data: Bytes, source: str, verify: bool = True) -> ModelFile:
    """The model in the bytes of a file."""
    check_format(read_header(data, source).metadata, source)
    if verify:
        check_checksum(data, source)
    model = ModelFile(data, source, unpack(data, source))
    assert model.config  # parsed and checked now
    return model


def check_format(metadata: Mapping[str, str], source: str) -> None:
    """ModelError unless the metadata of a file are those of a capsulet model of this format."""
    version = metadata.get("version", "")
    if metadata.get("format") != NAME or not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise ModelError(
            f"{source} has tensors, but is not a capsulet model of format {FORMAT_VERSION}: name a model that capsulet "
            "wrote, or train it again"
        )
    if int(version) != FORMAT_VERSION:
        raise wrong_version(int(version), source)


def refuse_folder(folder: Path) -> None:
    """ModelError for a folder without a model file of this format."""
    version = old_version(folder)
    if version is not None:
        raise wrong_version(version, str(folder))
    if not (folder / MODEL).exists():
        raise ModelError(f"{folder} has no {MODEL}, so it is not a model: name a folder that `capsulet train` wrote")


def old_version(folder: Path) -> int | None:
    """The format of a model folder that has a configuration file, as formats 1 and 2 had; None for others."""
    try:
        values: dict[str, Any] = parse_json(map_file(folder / OLD_CONFIG), str(folder), "its configuration")
    except ModelError:
        return None
    version = values.get("format_version")
    return version if type(version) is int and 0 < version < FORMAT_VERSION and "files" in values else None
