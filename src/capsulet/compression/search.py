"""Search for the file that reaches the goal of a compression, by trials on the validation texts."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch

from capsulet.compression.file import FileBuilder
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Source, WordRanking
from capsulet.compression.students import Student, Students, renumbered, with_ngrams
from capsulet.compression.trials import Judge, Trial
from capsulet.errors import CapsuletError, InputError
from capsulet.runtime.session import session_of
from capsulet.text.batch import ordered_batches
from capsulet.text.labelled import Tell, silent
from capsulet.training.loop import EVALUATION_BATCH

BITS = (8, 6, 5, 4, 3)
CODEBOOKS = (8, 6, 4)
CURVE_SHARES = (1.0, 0.5, 0.25, 0.1)  # of the words
CURVE_CODEBOOKS = 6
FEWEST_WORDS = 256
DEFAULT_LOSS = 0.3  # percentage points
MOST_ATTEMPTS = 3  # adapted files until one loses little enough
NEW_FILE = "the new file"  # in errors
NEARLY = 0.9  # sizes are estimated too large: a target above this share of the smallest estimate is attempted


class Search:
    """Settings of one model, tried on the sample."""

    def __init__(
        self, source: Source, sample: Sample, progress: Callable[[int, int], None], tell: Tell = silent,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        self.source, self.sample, self.tell, self.threads = source, sample, tell, threads
        self.ranking, self.ngrams = WordRanking(source, sample.counts), NgramTables(source, sample)
        self.files = FileBuilder(source, sample, self.ranking, self.ngrams)
        self.students = Students(source, sample, self.ranking, self.ngrams, progress)
        self.judge = Judge(source, sample, self.ngrams)

    @property
    def largest(self) -> Setting:
        """The setting that loses least."""
        return Setting(self.source.most_words, max(CODEBOOKS), max(BITS), self.ngrams.choices[0])

    @property
    def smallest(self) -> Setting:
        """The setting of the smallest file."""
        words = min(FEWEST_WORDS, max(round(min(CURVE_SHARES) * self.source.most_words), 1))
        return Setting(words, min(CODEBOOKS), min(BITS))

    def measure(self, student: Student, setting: Setting) -> Trial:
        """Trial of a student."""
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
                own = None if scores is None else scores[rows]
                lengths[rows] = with_ngrams(student.network.head, classes, own).lengths.numpy()
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

    def fit_size(self, target: int) -> Setting:
        """The setting of at most `target` bytes whose answers are nearest to those of the whole model."""
        smallest = self.files.size(self.smallest)
        if smallest > target:
            if target < NEARLY * smallest:
                raise self.too_small(target, f"up to {smallest:,}")
            return self.smallest
        trials: list[Trial] = []
        for ngram_rows in self.ngrams.choices:
            for bits in BITS:
                trials += self.fit_words(bits, ngram_rows, target)
                if trials and trials[-1].setting == dataclasses.replace(self.largest, bits=bits, ngram_rows=ngram_rows):
                    break  # everything fits: fewer bits would only lose
            if trials and trials[-1].setting == self.largest:
                break  # fewer n-gram features would only lose
        return min(trials, key=lambda trial: trial.error).setting

    def fit_words(self, bits: int, ngram_rows: int, target: int) -> list[Trial]:
        """Trials of each number of codebooks with as many words as fit into `target` bytes."""
        trials = []
        for codebooks in CODEBOOKS:
            setting = self.with_most_words(Setting(0, codebooks, bits, ngram_rows), target)
            if setting.words < self.smallest.words:
                continue
            trials.append(self.measure(self.students.student(setting, self.students.warmed(bits)), setting))
            if setting.words == self.source.most_words:
                break  # fewer codebooks would only lose
        return trials

    def with_most_words(self, setting: Setting, target: int) -> Setting:
        """The setting with the largest number of words that fits into `target` bytes; 0 words if none fit."""
        low, high = 0, self.source.most_words
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.files.size(dataclasses.replace(setting, words=middle)) <= target
            low, high = (middle, high) if fits else (low, middle - 1)
        return dataclasses.replace(setting, words=low)

    def too_small(self, target: int, smallest: str) -> InputError:
        """Error for a target that no file of the model reaches."""
        setting = self.smallest
        return InputError(
            f"--target-size {target:,} bytes cannot be reached: the smallest file of this model has {smallest} "
            f"({setting.bits}-bit weights, {setting.words:,} words); ask for that or more"
        )

    def best_file(self, target_size: int | None, max_loss: float | None) -> tuple[bytes, Trial, list[Trial]]:
        """The file that reaches the goal, its trial, and the curve of the trials before it."""
        if target_size is not None:
            self.tell("trying settings that fit the size")
            setting, curve = self.fit_size(target_size), self.curve
            data, chosen = self.make_file(setting)
            if len(data) > target_size:
                raise self.too_small(target_size, f"{len(data):,}")
            return data, chosen, curve
        if self.sample.train is not None:
            return self.hold_loss(max_loss)
        return *self.make_file(self.largest), []

    def hold_loss(self, max_loss: float | None) -> tuple[bytes, Trial, list[Trial]]:
        """The smallest adapted file that loses at most `max_loss` points, by up to three attempts, smallest first.

        With few validation texts the default loss may be out of reach: one of 273 texts is more than 0.3 points. Then
        the file that loses least is taken, with a note. A `max_loss` that is out of reach is an error.
        """
        self.tell("trying settings")
        limit = DEFAULT_LOSS if max_loss is None else max_loss
        good = [trial for trial in self.curve if 100 * (self.judge.trial_accuracy - trial.accuracy) <= limit]
        settings = [trial.setting for trial in good[:: max(1, len(good) // MOST_ATTEMPTS)]][: MOST_ATTEMPTS - 1]
        settings.append(self.largest)
        attempts: list[tuple[float, bytes, Trial]] = []
        for number, setting in enumerate(settings, 1):
            data, trial = self.make_file(setting)
            loss = 100 * (self.judge.accuracy - trial.accuracy)
            if loss <= limit:
                return data, trial, self.curve
            attempts.append((loss, data, trial))
            more = ": trying a larger file" if settings[number:] else ""
            self.tell(f"{len(data):,} bytes lose {loss:.2f} points{more}")
        loss, data, trial = min(attempts, key=lambda attempt: attempt[0])
        least = f"the best file loses {loss:.2f} points on the {len(self.sample.valid):,} validation texts"
        if max_loss is not None:
            raise CapsuletError(
                f"--max-loss {limit:g} cannot be reached: {least}; nothing was written; raise --max-loss, or "
                "give --target-size instead"
            )
        self.tell(f"{least}, more than the default of {limit:g}: it is written anyway")
        return data, trial, self.curve

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
        data, network = self.files.build(student, setting, facts)
        self.judge.check_file(session_of(data, self.threads, "float32", NEW_FILE), network, setting, kept)
        session = session_of(data, self.threads, source=NEW_FILE)
        lengths = self.judge.file_lengths(session)
        data, _ = self.files.build(student, setting, {**facts, **self.files.description(session, len(kept.words))})
        return data, self.judge.judge(lengths, slice(None), setting, len(data), adapted)
