"""Words of any script, for peers that count words.

A word is a run of letters, digits and the marks on them. Every other visible character is a word of its own. Chinese,
Japanese and Thai have no spaces between words, so there a word is all that stands between spaces and punctuation.
"""

from __future__ import annotations

import sys
import unicodedata

JOINERS = "\u200c\u200d"
# Python's \w has no vowel signs, of which Hindi and Thai words are full
MARKS = "".join(one for one in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(one)[0] == "M") + JOINERS
WORD = rf"\w[\w{MARKS}]*|[^\s\w]"
