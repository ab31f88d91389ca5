"""Trials: answers of compressed networks compared with the whole model and with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.compression.adaptation import Answering, class_lengths
from capsulet.compression.codes import Floats
from capsulet.compression.kept_words import KeptWords
from capsulet.compression.metric import metric_of
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Source
from capsulet.errors import CapsuletError
from capsulet.model.heads import Classes
from capsulet.model.network import Network
from capsulet.model.outputs import LENGTHS
from capsulet.results import CurvePoint
from capsulet.runtime.session import Session
from capsulet.text.corpus import choose_rows

TRIAL_TEXTS, TRIAL_TOKENS = 1500, 120_000  # at most, of the validation texts
CHECKED_TEXTS = 64
TOLERANCE = 1e-4  # between class lengths of a file and of its weights


@dataclass(frozen=True)
class Trial:
    """Result of a compressed network or file."""

    setting: Setting
    accuracy: float  # or micro-F1
    agreement: float  # share of the texts with the labels of the whole model
    error: float  # mean squared distance of class lengths from those of the whole model
    bytes: int
    adapted: bool

    def point(self, chosen: bool = False) -> CurvePoint:
        """The trial as a point of the curve."""
        setting = self.setting
        return CurvePoint(
            self.bytes, self.accuracy, setting.words, setting.bits, setting.codebooks, self.adapted, chosen,
            setting.ngram_bits,
        )  # fmt: skip


class Judge:
    """Judges answers on the validation texts; trials use some of them, finished files all."""

    def __init__(self, source: Source, sample: Sample, whole_model: Answering) -> None:
        self.sample, self.num_classes = sample, source.num_classes
        self.wanted = class_lengths(whole_model, sample.valid, sample.model_ids, self.num_classes)  # (n, C)
        self.metric = metric_of(source.config.thresholds, sample.labelled, self.wanted)
        self.accuracy = self.metric.score(self.wanted)
        count = min(TRIAL_TEXTS, TRIAL_TOKENS * len(sample.valid) // len(sample.valid.ids) + 1)
        self.trial_rows = np.unique(np.linspace(0, len(sample.valid) - 1, count).astype(np.int64))
        self.trial_texts = choose_rows(sample.valid, self.trial_rows)
        self.trial_accuracy = self.metric.score(self.wanted[self.trial_rows], self.trial_rows)

    def judge(
        self, lengths: Floats, rows: NDArray[np.int64] | slice, setting: Setting, size: int, adapted: bool
    ) -> Trial:
        """The trial of class lengths of some validation rows."""
        wanted = self.wanted[rows]
        error = float(np.square(lengths - wanted).sum(1).mean())
        return Trial(
            setting, self.metric.score(lengths, rows), self.metric.agreement(lengths, wanted), error, size, adapted
        )

    def file_lengths(self, session: Session, network: Network, kept: KeptWords) -> Floats:
        """Class lengths of every validation text by a file; CapsuletError unless its weights give the same."""
        ids = kept.file_ids[self.sample.model_ids]

        def through_file(ids: Tensor, counts: Tensor) -> Classes:
            (values,) = session.run([LENGTHS], ids.numpy(), counts.numpy())
            lengths = torch.from_numpy(values)
            return Classes(lengths, lengths, lengths)

        lengths = class_lengths(through_file, self.sample.valid, ids, self.num_classes)
        checked = choose_rows(self.sample.valid, np.arange(min(CHECKED_TEXTS, len(self.sample.valid))))
        of_network = class_lengths(network, checked, ids, self.num_classes)
        difference = float(np.abs(of_network - lengths[: len(checked)]).max())
        if difference > TOLERANCE or not same_ids(session, kept.words):
            raise CapsuletError(
                f"the compressed file answers differently from its own weights (by {difference:g}); nothing was written"
            )
        return lengths


def same_ids(session: Session, words: Sequence[str]) -> bool:
    """Whether the tokenizer of a file gives its words the ids from 1 on."""
    return all(session.tokenizer.token_to_id(word) == number for number, word in enumerate(words, 1))
