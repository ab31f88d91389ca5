"""Search for the setting of a compression, by trials on texts that the model was not trained on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch

from capsulet.compression.adaptation import Student, renumbered
from capsulet.compression.description import Description
from capsulet.compression.file import FileBuilder
from capsulet.compression.kept_words import WordRanking
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Source
from capsulet.compression.students import Students
from capsulet.compression.trials import Judge, Trial
from capsulet.errors import InputError
from capsulet.text.batch import ordered_batches
from capsulet.training.loop import EVALUATION_BATCH

BITS = (8, 6, 5, 4, 3)
CODEBOOKS = (8, 6, 4)
CURVE_SHARES = (1.0, 0.5, 0.25, 0.1)  # of the words
CURVE_CODEBOOKS = 6
FEWEST_WORDS = 256
NEARLY = 0.9  # sizes are estimated too large: a target above this share of the smallest estimate is attempted


class Search:
    """Settings of one model, tried on the sample."""

    def __init__(self, source: Source, sample: Sample, progress: Callable[[int, int], None]) -> None:
        self.source, self.sample = source, sample
        self.ranking, self.ngrams = WordRanking(source, sample.counts), NgramTables(source)
        self.descriptions = Description(source, sample)
        self.files = FileBuilder(source, self.ranking, self.ngrams, self.descriptions)
        self.students = Students(source, sample, self.ranking, self.ngrams, progress)
        self.judge = Judge(source, sample, self.students.whole_model)

    @property
    def largest(self) -> Setting:
        """The setting that loses least."""
        return Setting(self.source.num_words, max(CODEBOOKS), max(BITS), self.ngrams.choices[0])

    @property
    def smallest(self) -> Setting:
        """The setting of the smallest file."""
        words = min(FEWEST_WORDS, max(round(min(CURVE_SHARES) * self.source.num_words), 1))
        return Setting(words, min(CODEBOOKS), min(BITS))

    def measure(self, student: Student, setting: Setting) -> Trial:
        """Trial of a student."""
        (trial,) = self.measure_each(student, [setting], adapted=False)
        return trial

    @torch.no_grad()
    def measure_each(self, student: Student, settings: Sequence[Setting], adapted: bool) -> list[Trial]:
        """Trials of a student with settings that differ in their n-gram features only; the network runs once."""
        texts = self.judge.trial_texts
        answers = [np.zeros((len(texts), self.source.num_classes), np.float32) for _ in settings]
        features = [self.ngrams.features(setting.ngram_bits) for setting in settings]
        student_ids = self.students.ids(settings[0])
        for rows, batch in ordered_batches(texts, EVALUATION_BATCH):
            ids = renumbered(batch, student_ids)
            classes = student(ids, torch.from_numpy(batch.lengths))
            for lengths, ngrams in zip(answers, features, strict=True):
                extended = classes if ngrams is None else student.network.head.extended(classes, ngrams(ids))
                lengths[rows] = extended.lengths.numpy()
        return [
            self.judge.judge(lengths, self.judge.trial_rows, setting, self.files.size(setting), adapted)
            for lengths, setting in zip(answers, settings, strict=True)
        ]

    @cached_property
    def curve(self) -> list[Trial]:
        """Trials of several precisions and numbers of words, smallest file first."""
        trials, num_words = [], self.source.num_words
        for bits in BITS:
            start = self.students.warmed(bits)
            student = self.students.student(Setting(num_words, CURVE_CODEBOOKS, bits), start)
            for words in sorted({max(round(share * num_words), 1) for share in CURVE_SHARES}):
                settings = [Setting(words, CURVE_CODEBOOKS, bits, ngrams) for ngrams in self.ngrams.choices]
                trials += self.measure_each(student, settings, adapted=start is not None)
        return sorted(trials, key=lambda trial: trial.bytes)

    def fit_size(self, target: int) -> Setting:
        """The setting of at most `target` bytes whose answers are nearest to those of the whole model."""
        smallest = self.files.size(self.smallest)
        if smallest > target:
            if target < NEARLY * smallest:
                raise self.too_small(target, f"up to {smallest:,}")
            return self.smallest
        trials: list[Trial] = []
        for ngram_bits in self.ngrams.choices:
            for bits in BITS:
                trials += self.fit_words(bits, ngram_bits, target)
                if trials and trials[-1].setting == dataclasses.replace(self.largest, bits=bits, ngram_bits=ngram_bits):
                    break  # everything fits: fewer bits would only lose
            if trials and trials[-1].setting == self.largest:
                break  # n-gram features of fewer bits would only lose
        return min(trials, key=lambda trial: trial.error).setting

    def fit_words(self, bits: int, ngram_bits: int, target: int) -> list[Trial]:
        """Trials of each number of codebooks with as many words as fit into `target` bytes."""
        trials = []
        for codebooks in CODEBOOKS:
            words = self.most_words(Setting(0, codebooks, bits, ngram_bits), target)
            if words < self.smallest.words:
                continue
            setting = Setting(words, codebooks, bits, ngram_bits)
            trials.append(self.measure(self.students.student(setting, self.students.warmed(bits)), setting))
            if words == self.source.num_words:
                break  # fewer codebooks would only lose
        return trials

    def most_words(self, setting: Setting, target: int) -> int:
        """Largest number of words with which a file of this setting fits into `target` bytes; 0 if none fit."""
        low, high = 0, self.source.num_words
        while low < high:
            middle = (low + high + 1) // 2
            if self.files.size(dataclasses.replace(setting, words=middle)) <= target:
                low = middle
            else:
                high = middle - 1
        return low

    def too_small(self, target: int, smallest: str) -> InputError:
        """Error for a target that no file of the model reaches."""
        setting = self.smallest
        return InputError(
            f"--target-size {target:,} bytes cannot be reached: the smallest file of this model has {smallest} "
            f"({setting.bits}-bit weights, {setting.words:,} words); ask for that or more"
        )
