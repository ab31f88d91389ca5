"""Calibration and histograms of a compressed file, in few bytes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from capsulet.compression.kept_words import KeptWords
from capsulet.compression.sample import Sample
from capsulet.compression.source import Source
from capsulet.drifting.histograms import largest_json
from capsulet.evaluation import abstention
from capsulet.evaluation.describe import chosen_rows, describe_corpus
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import Session
from capsulet.text.corpus import Corpus, choose_rows

FEW_VALUES = 200  # per ranking of the validation texts: --coverage answers up to half a per cent more than requested


class Description:
    """Fits or inherits the calibration and histograms of compressed files."""

    def __init__(self, source: Source, sample: Sample) -> None:
        self.source, self.sample = source, sample

    def of_file(self, session: Session, kept: KeptWords) -> dict[str, Any]:
        """Calibration and histograms of a file, fitted on the validation texts if those are suitable."""
        if not self.sample.can_describe:
            return self.inherited(len(kept.words))
        rows = choose_rows(self.sample.valid, chosen_rows(len(self.sample.valid)))
        described = describe_corpus(Classifier(session, "the new file"), self.encoded(rows, kept))
        return {**described, **thinned_calibration(described.get("calibration"), self.calibration_bytes)}

    def encoded(self, corpus: Corpus, kept: KeptWords) -> Corpus:
        """Texts with the ids of the file; words that the file does not know are marked as unknown."""
        assert corpus.word_ids is not None
        words = corpus.word_ids.read_as(corpus.ids)
        unknown = corpus.word_ids.is_similar(corpus.ids) | ~np.isin(self.sample.model_ids, kept.model_ids)[words]
        ids = kept.word_ids.mark_unknown(kept.file_ids[self.sample.model_ids][words], unknown)
        return dataclasses.replace(corpus, ids=ids.astype(np.int32), word_ids=kept.word_ids)

    def inherited(self, words: int) -> dict[str, Any]:
        """Calibration of the whole model, and those of its histograms that hold for a file of `words` words."""
        config = self.source.config
        return thinned_calibration(config.calibration) | inherited_histograms(
            config.histograms, words == self.source.num_words
        )

    def placeholder(self, words: int) -> dict[str, Any]:
        """Text that is at least as long as the description of a file of `words` words."""
        if not self.sample.can_describe:
            return self.inherited(words)
        size = largest_json(self.source.num_classes, len(self.sample.valid)) + self.calibration_bytes
        return {"calibration": {"placeholder": "x" * size}}

    @property
    def calibration_bytes(self) -> int:
        """Largest size of a calibration on the validation texts."""
        return largest_calibration(len(self.sample.valid), self.source.options.model.multi_label)


def largest_calibration(texts: int, multi_label: bool) -> int:
    """Largest size in bytes of a calibration on `texts` texts as JSON; long numbers leave room for fewer values."""
    values = 0 if multi_label else len(abstention.RANKINGS) * min(FEW_VALUES, texts)
    return 700 + values * (len("-1.234567,") + 2 * len(f"{texts},"))


def thinned_calibration(stored: Mapping[str, Any] | None, most_bytes: float = float("inf")) -> dict[str, Any]:
    """The calibration of a model, if any, with fewer values per ranking: all values would take 50 KB.

    Counts at the remaining values stay exact, so every guarantee holds; a threshold may answer slightly more texts.
    """
    values = FEW_VALUES
    if stored is None:
        return {}
    while True:
        calibration = {"calibration": abstention.thinned(stored, values, "the model")}
        if json_bytes(calibration) <= most_bytes or values < 3:
            return calibration
        values = values * 9 // 10


def inherited_histograms(stored: Mapping[str, Any] | None, every_word: bool) -> dict[str, Any]:
    """Histograms of a model that do not depend on weights; unknown words only if every word is kept."""
    if stored is None:
        return {}
    inherited = {"texts", "length", *(["unknown"] if every_word else [])}
    return {"histograms": {key: value for key, value in stored.items() if key in inherited}}


def json_bytes(value: Any) -> int:
    """Bytes of a value as JSON without spaces."""
    return len(json.dumps(value, separators=(",", ":")))
