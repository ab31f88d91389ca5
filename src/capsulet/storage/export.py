"""`capsulet.export`: a model as an ONNX file for other programs, with configuration and card in its metadata."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capsulet.choices import PAPER
from capsulet.config import decided
from capsulet.errors import CapsuletError, InputError, MissingExtraError, model_path
from capsulet.model import outputs
from capsulet.runtime.session import Session, session_of
from capsulet.storage.atomic import check_place, replace_file
from capsulet.storage.folder import read_card
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import ModelFile, read_model
from capsulet.storage.weights import unpack_weights
from capsulet.text.batch import pad
from capsulet.text.tokens import TOKEN
from capsulet.text.vocabulary import PADDING, UNKNOWN

if TYPE_CHECKING:
    import onnx

FORMATS = ("onnx",)
CONFIG_KEY, TOKENIZER_KEY, CARD_KEY = "capsulet.config", "capsulet.tokenizer", "capsulet.card"  # of the metadata
WORDS_KEY = "capsulet.words"
TOLERANCE = 1e-5


def export(model: str | Path, file: str | Path, to: str = "onnx") -> Path:
    """Write a model as an ONNX file, and check that ONNX Runtime gives the answers of the model."""
    path, file = Path(model_path(model)), Path(file)
    if to not in FORMATS:
        raise InputError(f"--to is {to!r}: expected {', '.join(FORMATS)}")
    check_place(file, ".onnx")
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, "onnx", "Exporting")
    stored = read_model(path)
    # opened first: the core refuses a dictionary that would fill the memory, but Python unpacks it
    session = session_of(bytes(stored.data), 1, "float32", stored.source)
    data = onnx_file(stored, read_card(path).decode(errors="replace"))
    check_answers(session, stored.words, data)
    replace_file(file, data)
    return file


def onnx_file(model: ModelFile, card: str) -> bytes:
    """The bytes of the ONNX file of a model."""
    from onnx.helper import set_model_props

    from capsulet.model.graph import build_graph

    graph = build_graph(unpack_weights(model), model.config.options.model)
    shorten_names(graph)
    metadata = {CONFIG_KEY: in_json(model.config.as_json()), CARD_KEY: card}
    if model.config.options.text.tokens == PAPER:
        metadata[TOKENIZER_KEY] = in_json(tokenizer_of(model.config, model.words))
    else:  # the library cannot express the rule: the core must find the ids
        metadata[WORDS_KEY] = in_json(model.words)
    set_model_props(graph, metadata)
    return bytes(graph.SerializeToString(deterministic=True))


def in_json(value: Any) -> str:
    """JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tokenizer_of(config: ModelConfig, words: Sequence[str]) -> dict[str, Any]:
    """The paper's token rule as the Hugging Face library `tokenizers` reads it. Other words are unknown."""
    special = (PADDING, UNKNOWN) if config.dictionary_words is None else (UNKNOWN,)
    length = decided(config.options.text.max_tokens)
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        # inverted: the parts that match are kept, all others are removed
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": TOKEN}, "behavior": "Removed", "invert": True},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate((*special, *words))},
            "unk_token": UNKNOWN,
        },
    }


def shorten_names(model: onnx.ModelProto) -> None:
    """Shorten the names of inner nodes, which take a tenth of a small file; outer names and constants stay."""
    graph = model.graph
    keep = {value.name for value in [*graph.input, *graph.output]} | {value.name for value in graph.initializer}
    short: dict[str, str] = {}
    for node in graph.node:
        node.name = ""
        node.input[:] = [short.get(name, name) for name in node.input]
        node.output[:] = [name if name in keep else short.setdefault(name, f"_{len(short)}") for name in node.output]


def lacks_pieces(config: ModelConfig) -> bool:
    """Whether the model reads unknown words by their pieces, which the graph cannot do: it reads them as `[UNK]`."""
    return not config.linear_only and config.dictionary_words is None and bool(config.options.model.piece_codes)


def check_answers(session: Session, words: Sequence[str], data: bytes) -> None:
    """CapsuletError if ONNX Runtime answers random texts of these words differently from the model."""
    from capsulet.storage.onnx_runtime import onnxruntime

    dice = random.Random(0)
    texts = [" ".join(dice.choices(words or ["a"], k=dice.randint(1, 60))) for _ in range(32)]
    if not lacks_pieces(session.config):
        texts += ["☃ 你好", "qzxv " * 10]
    texts.append("")
    encoded, expected = session.encode(texts, spelled=True), np.asarray(session.classify(texts, spelled=True)[0])
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    graph = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    inputs = {}
    if session.has_network:
        ids, counts = pad([session.word_ids.read_as(np.asarray(ids)) for ids in encoded])
        inputs = {outputs.IDS: ids, outputs.TOKEN_COUNTS: counts}
    if session.has_ngrams:
        inputs[outputs.NGRAMS] = np.asarray(session.ngram_scores(texts, spelled=True))
    (found,) = graph.run([outputs.LENGTHS], inputs)
    difference = float(np.abs(found - expected).max())
    if not difference <= TOLERANCE:
        raise CapsuletError(
            f"the exported file and the model differ by {difference:g}: nothing was written; please report this error"
        )
