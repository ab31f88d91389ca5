"""Search for the settings that reach the goal of a compression: a size or a loss. Settings depend on the model."""

import dataclasses
from abc import ABC, abstractmethod
from functools import cached_property

from capsulet.compression.file import FileBuilder
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Source, WordRanking
from capsulet.compression.trials import Judge, Trial
from capsulet.errors import CapsuletError, InputError
from capsulet.text.labelled import Tell, silent

DEFAULT_LOSS = 0.3  # percentage points
MOST_ATTEMPTS = 3  # maximum number of files to make until the loss of one is small enough
NEW_FILE = "the new file"  # in errors
NEARLY = 0.9  # estimates are too large, so a target of at least this share of the smallest estimate is still tried
FEWEST_WORDS, SMALLEST_SHARE = 256, 0.1  # words of the smallest file: this number or this share, whichever is less


class GoalSearch(ABC):
    """Settings of one model, tried on the sample."""

    def __init__(self, source: Source, sample: Sample, tell: Tell = silent, threads: int | None = None) -> None:
        self.source, self.sample, self.tell, self.threads = source, sample, tell, threads
        self.ranking, self.ngrams = WordRanking(source, sample.counts), NgramTables(source, sample)
        self.files = FileBuilder(source, sample, self.ranking, self.ngrams)
        self.judge = Judge(source, sample)

    @property
    @abstractmethod
    def largest(self) -> Setting:
        """The setting with the smallest loss."""

    @property
    @abstractmethod
    def smallest(self) -> Setting:
        """The setting of the smallest file."""

    @cached_property
    @abstractmethod
    def curve(self) -> list[Trial]:
        """Trials of several settings, smallest file first."""

    @abstractmethod
    def fitting(self, target: int) -> list[Trial]:
        """Trials of settings of at most `target` bytes."""

    @abstractmethod
    def make_file(self, setting: Setting) -> tuple[bytes, Trial]:
        """The file of a setting, and its trial on all validation texts."""

    @property
    def fewest_words(self) -> int:
        """Words of the smallest file."""
        return min(FEWEST_WORDS, max(round(SMALLEST_SHARE * self.source.most_words), 1))

    def fit_size(self, target: int) -> Setting:
        """The setting of at most `target` bytes whose answers are nearest to those of the whole model."""
        smallest = self.files.size(self.smallest)
        if smallest > target:
            if target < NEARLY * smallest:
                raise self.too_small(target, f"up to {smallest:,}")
            return self.smallest
        return min(self.fitting(target), key=lambda trial: trial.error).setting

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
        good = [trial for trial in self.curve if trial.loss(self.judge.trial_accuracy) <= limit]
        settings = [trial.setting for trial in good[:: max(1, len(good) // MOST_ATTEMPTS)]][: MOST_ATTEMPTS - 1]
        settings.append(self.largest)
        attempts: list[tuple[float, bytes, Trial]] = []
        for number, setting in enumerate(settings, 1):
            data, trial = self.make_file(setting)
            loss = trial.loss(self.judge.accuracy)
            if loss <= limit:
                return data, trial, self.curve
            attempts.append((loss, data, trial))
            more = ": trying a larger file" if settings[number:] else ""
            self.tell(f"{len(data):,} bytes lose about {loss:.2f} points{more}")
        loss, data, trial = min(attempts, key=lambda attempt: attempt[0])
        least = f"the best file loses about {loss:.2f} points on the {len(self.sample.valid):,} validation texts"
        if max_loss is not None:
            raise CapsuletError(
                f"--max-loss {limit:g} cannot be reached: {least}; nothing was written; raise --max-loss, or "
                "give --target-size instead"
            )
        self.tell(f"{least}, more than the default of {limit:g}: it is written anyway")
        return data, trial, self.curve
