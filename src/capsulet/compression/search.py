"""Search for the file that reaches the goal of a compression, by trials on the validation texts."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from capsulet.compression.codes import compose
from capsulet.compression.file import round_weights
from capsulet.compression.goal import NEW_FILE, SMALLEST_SHARE, GoalSearch
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import KeptWords, Source
from capsulet.compression.students import Student, Students, class_lengths, plain_network, renumbered, with_ngrams
from capsulet.compression.trials import Trial
from capsulet.errors import CapsuletError
from capsulet.model.network import Network
from capsulet.model.quantisation import from_rows
from capsulet.runtime.session import Session, session_of
from capsulet.storage.weights import CHOICES, CODEBOOKS, CODEWORDS
from capsulet.text.batch import ordered_batches
from capsulet.text.corpus import choose_rows
from capsulet.text.labelled import Tell, silent
from capsulet.training.loop import EVALUATION_BATCH

BITS = (8, 6, 5, 4, 3)
CODEBOOK_COUNTS = (8, 6, 4)
CURVE_SHARES = (1.0, 0.5, 0.25, SMALLEST_SHARE)  # of the words
CURVE_CODEBOOKS = 6
CHECKED_TEXTS = 64  # texts that a finished file is checked on
TOLERANCE = 1e-4  # largest difference between class lengths by a file and by a network with its weights


class Search(GoalSearch):
    """Settings of a model with a network: words, precision, and rows of the n-gram table."""

    def __init__(
        self, source: Source, sample: Sample, progress: Callable[[int, int], None], tell: Tell = silent,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(source, sample, tell, threads)
        self.students = Students(source, sample, self.ranking, self.ngrams, progress)

    @property
    def largest(self) -> Setting:
        """The setting with the smallest loss."""
        return Setting(self.source.most_words, max(CODEBOOK_COUNTS), max(BITS), self.ngrams.choices[0])

    @property
    def smallest(self) -> Setting:
        """The setting of the smallest file."""
        return Setting(self.fewest_words, min(CODEBOOK_COUNTS), min(BITS))

    def measure(self, student: Student, setting: Setting) -> Trial:
        """Trial of a student with one setting."""
        return self.measure_each(student, [setting], adapted=False)[0]

    @torch.no_grad()
    def measure_each(self, student: Student, settings: Sequence[Setting], adapted: bool) -> list[Trial]:
        """Trials of a student with settings that differ in their n-gram features only; the network runs once."""
        texts = self.judge.trial_texts
        answers = [np.zeros((len(texts), len(self.source.config.labels)), np.float32) for _ in settings]
        every = np.arange(len(texts))
        added = [self.ngrams.scores(setting.ngram_rows, texts, every) for setting in settings]
        student_ids = self.students.ids(settings[0])
        for rows, batch in ordered_batches(texts, EVALUATION_BATCH):
            ids = renumbered(batch, student_ids)
            classes = student(ids, torch.from_numpy(batch.lengths))
            for lengths, scores in zip(answers, added, strict=True):
                batch_scores = None if scores is None else scores[rows]
                lengths[rows] = with_ngrams(student.network.head, classes, batch_scores).lengths.numpy()
        return [
            self.judge.judge(lengths, self.judge.trial_rows, setting, self.files.size(setting), adapted)
            for lengths, setting in zip(answers, settings, strict=True)
        ]

    @cached_property
    def curve(self) -> list[Trial]:
        """Trials of several precisions and numbers of words, smallest file first."""
        trials, num_words = [], self.source.most_words
        for bits in BITS:
            start = self.students.warmed(bits)
            student = self.students.student(Setting(num_words, CURVE_CODEBOOKS, bits), start)
            for words in sorted({max(round(share * num_words), 1) for share in CURVE_SHARES}):
                settings = [Setting(words, CURVE_CODEBOOKS, bits, ngrams) for ngrams in self.ngrams.choices]
                trials += self.measure_each(student, settings, adapted=start is not None)
        return sorted(trials, key=lambda trial: trial.bytes)

    def fitting(self, target: int) -> list[Trial]:
        """Trials of settings of at most `target` bytes: for each precision and n-gram table, as many words as fit."""
        trials: list[Trial] = []
        for ngram_rows in self.ngrams.choices:
            for bits in BITS:
                trials += self.fit_words(bits, ngram_rows, target)
                if trials and trials[-1].setting == dataclasses.replace(self.largest, bits=bits, ngram_rows=ngram_rows):
                    break  # everything fits: fewer bits would only lose accuracy
            if trials and trials[-1].setting == self.largest:
                break  # fewer n-gram features would only lose accuracy
        return trials

    def fit_words(self, bits: int, ngram_rows: int, target: int) -> list[Trial]:
        """Trials of each number of codebooks with as many words as fit into `target` bytes."""
        trials = []
        for codebooks in CODEBOOK_COUNTS:
            setting = self.with_most_words(Setting(0, codebooks, bits, ngram_rows), target)
            if setting.words < self.smallest.words:
                continue
            trials.append(self.measure(self.students.student(setting, self.students.warmed(bits)), setting))
            if setting.words == self.source.most_words:
                break  # fewer codebooks would only lose accuracy
        return trials

    def make_file(self, setting: Setting) -> tuple[bytes, Trial]:
        """The file of a setting, adapted if there are training texts, and its trial on all validation texts."""
        self.tell(str(setting))
        student, adapted = self.students.student(setting), False
        if self.sample.train is not None:
            learned = self.students.adapted(setting, self.students.steps)
            if self.measure(learned, setting).error <= self.measure(student, setting).error:
                student, adapted = learned, True
        facts = {"compression": {**dataclasses.asdict(setting), "adapted": adapted}}
        kept = self.ranking.keep(setting.words)
        data, network = self.build(student, setting, facts)
        self.check_file(session_of(data, self.threads, "float32", NEW_FILE), network, setting, kept)
        session = session_of(data, self.threads, source=NEW_FILE)
        lengths = self.judge.file_lengths(session)
        data, _ = self.build(student, setting, {**facts, **self.files.description(session, len(kept.words))})
        return data, self.judge.judge(lengths, slice(None), setting, len(data), adapted)

    def build(self, student: Student, setting: Setting, facts: Mapping[str, Any]) -> tuple[bytes, Network]:
        """The file of a student, and a network with the weights of the file; `facts` go into its configuration."""
        kept = self.ranking.keep(setting.words)
        weights = round_weights(student.weights(), setting, student.scales())
        choices = student.choices[kept.model_ids]
        codebooks = weights[CODEBOOKS].values().reshape(setting.codebooks, CODEWORDS, -1)
        plain = {
            name: from_rows(name, weights[name].values(), value.shape)
            for name, value in self.source.network_weights.items()
        }
        network = plain_network(self.source, plain, compose(choices, codebooks))
        return self.files.build({**weights, CHOICES: choices}, setting, facts), network

    def check_file(self, session: Session, network: Network, setting: Setting, kept: KeptWords) -> None:
        """CapsuletError unless a file answers like a network with its weights, and has the ids of the kept words."""
        rows = min(CHECKED_TEXTS, len(self.sample.valid))
        checked, ids = choose_rows(self.sample.valid, np.arange(rows)), kept.file_ids(self.sample.words)
        added = self.ngrams.scores(setting.ngram_rows, checked, np.arange(rows))
        of_network = class_lengths(network, network.head, checked, ids, added)
        difference = float(np.abs(of_network - self.judge.file_lengths(session, np.arange(rows))).max())
        if not difference <= TOLERANCE or session.words()[1:] != kept.words:
            raise CapsuletError(
                f"the compressed file and its weights differ by {difference:g}: nothing was written; please "
                "report this error"
            )
