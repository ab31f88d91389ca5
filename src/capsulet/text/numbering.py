"""Distinct words of many texts, numbered in order of appearance. The core finds the words, as it does in prediction.

A corpus is numbered before its vocabulary is known, because word counts and validation rows are known after the last
text.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.choices import PAPER
from capsulet.native import core_module
from capsulet.text.strings import check_text

NO_WORD = 0
Numbers = NDArray[np.int32]


class Words:
    """Words by a token rule, numbered from 1 in order of appearance.

    A text without words has the one number 0, and so has a word of more than 255 bytes, which no model knows.
    """

    def __init__(self, rule: str = PAPER) -> None:
        self.table = core_module().Words(rule)

    def __len__(self) -> int:
        return len(self.table)

    def spelling(self, number: int) -> str:
        """Word of a number."""
        return str(self.table.spelling(number))

    def shapes(self) -> Numbers:
        """For number 0 and each word the number of its shape, which is added if it is new, or 0."""
        return np.frombuffer(self.table.shapes(), np.int32)

    def scan(self, texts: Sequence[str], limit: int) -> tuple[Numbers, Numbers]:
        """Numbers of all words, at most `limit` per text, and words per text."""
        try:
            ids, lengths = self.table.scan(texts, limit)
        except (TypeError, UnicodeEncodeError):
            for index, text in enumerate(texts):
                check_text(text, index)
            raise
        return np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32)
