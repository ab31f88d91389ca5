"""A compressed model file: its weights, words, calibration and histograms, and its size by part."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from capsulet.compression.codes import Floats
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import KeptWords, Source, WordRanking
from capsulet.drifting.histograms import largest_json
from capsulet.evaluation import rankings
from capsulet.evaluation.calibrate import chosen_rows, describe_corpus
from capsulet.model.quantisation import Rounded, as_rows, best_scales, rounded
from capsulet.model.shapes import LEVELS
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import Session
from capsulet.storage.model_file import CARD, CONFIG, PACKED, pack_model
from capsulet.storage.tensors import from_bytes, unpack
from capsulet.storage.weights import CHOICES, CODE_BITS, CODEBOOKS, CODEWORDS, pack_weights
from capsulet.text.corpus import choose_rows
from capsulet.text.packed_dictionary import pack_words

SPARE = 400  # bytes that estimates of a size add, for the figures of the compression and for longer numbers
FEW_VALUES = 200  # per ranking of the validation texts: --coverage then answers up to 0.5 % more texts than requested
HEADER = "header"
PARTS = {  # names of tensors begin with these
    "embedding.codebooks": "codebooks", "embedding.": "codes", "encoder.": "GRU", "head.": "capsules",
    "ngrams.": "n-grams", "words.": "dictionary", CONFIG: "configuration", CARD: "card",
}  # fmt: skip


class FileBuilder:
    """Builds and describes the files of one model, or estimates their sizes."""

    def __init__(self, source: Source, sample: Sample, ranking: WordRanking, ngrams: NgramTables) -> None:
        self.source, self.sample, self.ranking, self.ngrams = source, sample, ranking, ngrams
        self.sizes: dict[Setting, int] = {}  # of files without words

    def build(self, network: Mapping[str, Any], setting: Setting, facts: Mapping[str, Any]) -> bytes:
        """The file of these weights of a network, none in a model without one; `facts` go into its configuration."""
        weights = {**network, **self.ngrams.weights(setting.ngram_rows, setting.ngram_bits)}
        return self.pack(weights, self.ranking.keep(setting.words), setting, facts)

    def pack(self, weights: dict[str, Any], kept: KeptWords, setting: Setting, facts: Mapping[str, Any]) -> bytes:
        """The file of these weights; row i of the choices belongs to word i of the file."""
        source, words, size, ngrams = self.source, kept.words, kept.word_ids.size, self.source.config.ngrams
        if ngrams:
            rows, bits = setting.ngram_rows, setting.ngram_bits
            ngrams = dataclasses.replace(ngrams, rows=rows, bits=bits) if rows else None
        facts = {"calibration": None, "histograms": None, **facts}
        config = dataclasses.replace(
            source.config, vocab_size=size, dictionary_words=len(words), ngrams=ngrams, **facts
        )
        tensors = {**pack_weights(weights), PACKED: from_bytes(pack_words(words))}
        had_ngrams = LEVELS in source.weights and not config.linear_only
        return pack_model(tensors, config, source.card + card_section(setting, had_ngrams))

    def size(self, setting: Setting) -> int:
        """Estimated bytes of a file, a little more than it will have. The values of the weights need not be known."""
        empty = dataclasses.replace(setting, words=0)
        if empty not in self.sizes:
            facts = {"compression": dataclasses.asdict(empty), **self.placeholder(setting.words)}
            self.sizes[empty] = len(self.pack(self.zero_weights(empty), self.ranking.keep(0), empty, facts)) + SPARE
        bytes_per_word = -(-setting.codebooks * CODE_BITS // 8)
        return self.sizes[empty] + bytes_per_word * setting.words + self.ranking.packed_size(setting.words)

    def zero_weights(self, setting: Setting) -> dict[str, Any]:
        """Weights of a file without words; those of the network are zero."""
        if self.source.config.linear_only:
            return self.ngrams.weights(setting.ngram_rows, setting.ngram_bits)
        codebooks = np.zeros((setting.codebooks, CODEWORDS, self.source.vectors.shape[1]), np.float32)
        weights: dict[str, Any] = {CHOICES: np.zeros((1, setting.codebooks), np.uint8)}
        for name, value in {**self.source.network_weights, CODEBOOKS: codebooks}.items():
            levels = np.zeros(as_rows(name, value).shape, np.uint8)
            weights[name] = Rounded(levels, np.zeros(len(levels), np.float16), setting.bits_of(name))
        return weights | self.ngrams.weights(setting.ngram_rows, setting.ngram_bits)

    def description(self, session: Session, words: int) -> dict[str, Any]:
        """Calibration and histograms of a file, fitted on the validation texts if those are suitable."""
        if not self.sample.can_describe:
            return self.inherited(words)
        rows = choose_rows(self.sample.valid, chosen_rows(len(self.sample.valid)))
        description = describe_corpus(Classifier(session, "the new file"), rows)
        return {**description, **thinned_calibration(description.get("calibration"), self.calibration_bytes)}

    def inherited(self, words: int) -> dict[str, Any]:
        """Calibration of the whole model, and those of its histograms that hold for a file of `words` words."""
        inherited, histograms = thinned_calibration(self.source.config.calibration), self.source.config.histograms
        if histograms is not None:  # scores and codes depend on the weights, unknown words on the words that are kept
            parts = {"texts", "length", *(["unknown"] if words == self.source.num_words else [])}
            inherited["histograms"] = {key: value for key, value in histograms.items() if key in parts}
        return inherited

    def placeholder(self, words: int) -> dict[str, Any]:
        """A calibration of the same or a larger size as that of a file of `words` words, for estimates."""
        if not self.sample.can_describe:
            return self.inherited(words)
        size = largest_json(len(self.source.config.labels), len(self.sample.valid)) + self.calibration_bytes
        return {"calibration": {"placeholder": "x" * size}}

    @property
    def calibration_bytes(self) -> int:
        """Largest size of a calibration on the validation texts; long numbers leave room for fewer values."""
        texts = len(self.sample.valid)
        values = 0 if self.source.config.multi_label else len(rankings.RANKINGS) * min(FEW_VALUES, texts)
        return 700 + values * (len("-1.234567,") + 2 * len(f"{texts},"))


def round_weights(weights: dict[str, Floats], setting: Setting, scales: dict[str, Floats]) -> dict[str, Rounded]:
    """Round weights, at the given scales or, where none are given, at those with the smallest error."""
    rounded_weights = {}
    for name, weight in weights.items():
        rows, bits = np.ascontiguousarray(as_rows(name, weight)), setting.bits_of(name)
        rounded_weights[name] = rounded(rows, scales[name] if name in scales else best_scales(rows, bits), bits)
    return rounded_weights


def card_section(setting: Setting, had_ngrams: bool) -> str:
    """Section about the compression in the model card of a file."""
    ngrams = "N-gram features are left out.\n" if had_ngrams else ""
    if setting.ngram_rows:
        ngrams = f"The table of n-gram features has {setting.ngram_rows:,} rows.\n"
    network = ""
    if setting.codebooks:
        codewords = f"{setting.codebooks} of {setting.codebooks * CODEWORDS} codewords"
        network = f" A word is the sum of {codewords}; weights have {setting.bits} bits."
    figures = "The figures above are those of the model before its compression."
    return (
        f"\n## Compressed\n\n{figures} This file knows the {setting.words:,} most important words.{network}\n{ngrams}"
    )


def thinned_calibration(stored: Mapping[str, Any] | None, most_bytes: float = float("inf")) -> dict[str, Any]:
    """The calibration of a model, if any, with fewer values per ranking: all values would take 50 KB.

    Counts at the remaining values stay exact, so every guarantee holds. With a threshold, the model may answer slightly
    more texts than requested.
    """
    values = FEW_VALUES
    if stored is None:
        return {}
    while True:
        calibration = {"calibration": rankings.thinned(stored, values, "the model")}
        if json_bytes(calibration) <= most_bytes or values < 3:
            return calibration
        values = values * 9 // 10


def json_bytes(value: Any) -> int:
    """Bytes of a value as JSON without spaces."""
    return len(json.dumps(value, separators=(",", ":")))


def bytes_by_part(data: bytes) -> dict[str, int]:
    """Bytes of a model file that each part takes; they sum to the size of the file."""
    sizes = dict.fromkeys((*PARTS.values(), HEADER), 0)
    for name, tensor in unpack(data, "the model").items():
        part = next((part for prefix, part in PARTS.items() if name.startswith(prefix)), HEADER)
        sizes[part] += len(tensor.data)
    sizes[HEADER] += len(data) - sum(sizes.values())
    return sizes
