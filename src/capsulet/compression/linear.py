"""Search for the file of a model without a network: an n-gram table of fewer rows or bits. PyTorch is not needed.

Words do not change the answers; they only count as known or unknown. A file has all of them unless a size leaves no
room for them.
"""

import dataclasses
from functools import cached_property

from capsulet.compression.goal import NEW_FILE, GoalSearch
from capsulet.compression.setting import Setting
from capsulet.compression.trials import Trial
from capsulet.errors import CapsuletError
from capsulet.runtime.session import session_of

BITS = (8, 4)  # per number of the table


class LinearSearch(GoalSearch):
    """Settings of a model without a network: words, and rows and bits of the n-gram table."""

    @cached_property
    def tables(self) -> list[Setting]:
        """Settings of every table, without words; the first has the smallest loss, the last the smallest file."""
        return [Setting(0, 0, bits, rows) for rows in self.ngrams.pruned for bits in BITS]

    @property
    def largest(self) -> Setting:
        """The setting with the smallest loss."""
        return dataclasses.replace(self.tables[0], words=self.source.most_words)

    @property
    def smallest(self) -> Setting:
        """The setting of the smallest file."""
        return dataclasses.replace(self.tables[-1], words=self.fewest_words)

    def measure(self, setting: Setting) -> Trial:
        """Trial of a setting on some validation texts. Its file has no words, because they do not change answers."""
        data = self.files.build({}, dataclasses.replace(setting, words=0), {"compression": {}})
        lengths = self.judge.file_lengths(session_of(data, self.threads, source=NEW_FILE), self.judge.trial_rows)
        return self.judge.judge(lengths, self.judge.trial_rows, setting, self.files.size(setting), adapted=False)

    @cached_property
    def curve(self) -> list[Trial]:
        """Trials of every table with all words, smallest file first."""
        trials = [self.measure(dataclasses.replace(one, words=self.source.most_words)) for one in self.tables]
        return sorted(trials, key=lambda trial: trial.bytes)

    def fitting(self, target: int) -> list[Trial]:
        """Trials of every table that leaves room for the fewest words, each with as many words as fit."""
        settings = [self.with_most_words(one, target) for one in self.tables]
        return [self.measure(setting) for setting in settings if setting.words >= self.smallest.words]

    def make_file(self, setting: Setting) -> tuple[bytes, Trial]:
        """The file of a setting, and its trial on all validation texts."""
        self.tell(str(setting))
        facts = {"compression": dataclasses.asdict(setting)}
        session = session_of(self.files.build({}, setting, facts), self.threads, source=NEW_FILE)
        kept = self.ranking.keep(setting.words).words
        if session.words()[1:] != kept:
            raise CapsuletError("the compressed file has other words: nothing was written; please report this error")
        lengths = self.judge.file_lengths(session)
        data = self.files.build({}, setting, {**facts, **self.files.description(session, len(kept))})
        return data, self.judge.judge(lengths, slice(None), setting, len(data), adapted=False)
