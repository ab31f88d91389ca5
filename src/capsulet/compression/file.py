"""A compressed model as one ONNX file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import torch

from capsulet.compression import description
from capsulet.compression.adaptation import Student
from capsulet.compression.codes import compose
from capsulet.compression.kept_words import KeptWords, WordRanking
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.setting import CODE_BITS, CODEWORDS, Setting, bits_of, round_weights
from capsulet.compression.source import Source
from capsulet.compression.students import plain_network
from capsulet.model.graph import build_graph
from capsulet.model.network import Network
from capsulet.model.quantisation import Rounded, as_rows, from_rows
from capsulet.storage.file import with_metadata
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import UNKNOWN

SPARE = 400  # bytes for figures of the compression and for longer numbers, in estimates


class FileBuilder:
    """Builds the files of one model, or estimates their sizes."""

    def __init__(
        self, source: Source, ranking: WordRanking, ngrams: NgramTables, descriptions: description.Description
    ) -> None:
        self.source, self.ranking, self.ngrams, self.descriptions = source, ranking, ngrams, descriptions
        self.sizes: dict[Setting, int] = {}  # of files without words

    def build(self, student: Student, setting: Setting, facts: Mapping[str, Any]) -> tuple[bytes, Network]:
        """The file of a student, and a network with the weights of the file; `facts` go into its configuration."""
        kept = self.ranking.keep(setting.words)
        weights: dict[str, Any] = {**round_weights(student.weights(), setting, student.scales())}
        choices = student.choices[kept.model_ids]
        codebooks = weights["embedding.codebooks"].values().reshape(setting.codebooks, CODEWORDS, -1)
        plain = {
            name: from_rows(name, weights[name].values(), value.shape)
            for name, value in self.source.network_weights.items()
        }
        network = plain_network(self.source, plain, compose(choices, codebooks))
        network.ngrams = self.ngrams.features(setting.ngram_bits, torch.from_numpy(kept.model_ids))
        weights |= {"embedding.choices": choices, **self.ngrams.weights(setting.ngram_bits, kept.model_ids)}
        return self.pack(weights, kept, setting, facts), network

    def pack(self, weights: dict[str, Any], kept: KeptWords, setting: Setting, facts: Mapping[str, Any]) -> bytes:
        """The file of these weights; row i of the choices belongs to word i of the file."""
        source, words = self.source, kept.words
        config = dataclasses.replace(
            source.config,
            vocab_size=kept.word_ids.size,
            dictionary_words=len(words),
            ngrams=source.config.ngrams if setting.ngram_bits else None,
            **{"calibration": None, "histograms": None, **facts},
        )
        model = build_graph(weights, source.options.model, pack_words(words))
        shorten_names(model)
        card = source.card + card_section(setting, source.has_ngrams)
        return with_metadata(model, config, bare_tokenizer(source.tokenizer), card)

    def size(self, setting: Setting) -> int:
        """Estimated bytes of a file, a little more than it will have: they do not depend on the values of weights."""
        empty = dataclasses.replace(setting, words=0)
        if empty not in self.sizes:
            facts = compression_facts(empty) | self.descriptions.placeholder(setting.words)
            self.sizes[empty] = len(self.pack(self.zero_weights(empty), self.ranking.keep(0), empty, facts)) + SPARE
        bytes_per_word = -(-setting.codebooks * CODE_BITS // 8) + self.ngrams.key_bytes(setting.ngram_bits)
        return self.sizes[empty] + bytes_per_word * setting.words + self.ranking.packed_size(setting.words)

    def zero_weights(self, setting: Setting) -> dict[str, Any]:
        """Weights of a file without words, all zero."""
        codebooks = np.zeros((setting.codebooks, CODEWORDS, self.source.vectors.shape[1]), np.float32)
        weights: dict[str, Any] = {}
        for name, value in {**self.source.network_weights, "embedding.codebooks": codebooks}.items():
            rows = as_rows(name, value)
            scales = np.zeros(len(rows), np.float16)
            weights[name] = Rounded(np.zeros(rows.shape, np.uint8), scales, bits_of(name, setting))
        weights["embedding.choices"] = np.zeros((1, setting.codebooks), np.uint8)
        return weights | self.ngrams.weights(setting.ngram_bits, np.zeros(1, np.int64))


def compression_facts(setting: Setting, **more: Any) -> dict[str, Any]:
    """The `compression` entry of a configuration."""
    return {"compression": {**dataclasses.asdict(setting), **more}}


def card_section(setting: Setting, had_ngrams: bool) -> str:
    """Section about the compression in the model card of a file."""
    if setting.ngram_bits:
        ngrams = f"N-gram features have {setting.ngram_bits} bits per number.\n"
    else:
        ngrams = "N-gram features are left out.\n" if had_ngrams else ""
    return (
        f"\n## Compressed\n\nThis file knows the {setting.words:,} most important words. A word is the sum of "
        f"{setting.codebooks} of {setting.codebooks * CODEWORDS} codewords; weights have {setting.bits} bits.\n{ngrams}"
    )


def bare_tokenizer(tokenizer: str) -> str:
    """A tokenizer without its words; the unknown word has id 0."""
    described = json.loads(tokenizer)
    described["model"]["vocab"] = {UNKNOWN: 0}
    return json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def shorten_names(model: onnx.ModelProto) -> None:
    """Shorten the names of inner nodes, which take a tenth of a small file; outer names and constants stay."""
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
