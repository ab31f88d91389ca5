"""The token rule `unicode` in plain Python, from docs/reference/tokens.md: an independent reading to compare with.

It is slow and short. Characters that this Python does not know are left out of comparisons (`is_known`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

SPACES = {*range(0x21), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200C), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
IGNORED = {
    0xAD, 0x34F, 0x61C, 0x640, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0x200C, 0x2010),
    *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0,
    *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE1000),
}  # fmt: skip
VISIBLE_FORMATS = {*range(0x600, 0x606), 0x6DD, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
EMOJI = re.compile(
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001f0ff\U0001f16c-\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a"
    "\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f249-\U0001f3fa\U0001f400-\U0001f6ff"
    "\U0001f7d5-\U0001f7ff\U0001f90c-\U0001faff\U0001fc00-\U0001fffd]"
)
HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff]")
KATAKANA = re.compile(
    "[\u30a0-\u30ff\u31f0-\u31ff\U0001aff0-\U0001afff\U0001b000\U0001b120-\U0001b122\U0001b155\U0001b164-\U0001b167]"
)
WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u2fdf\u3005-\u3007"
    "\u3021-\u3029\u3038-\u303b\u3041-\u309f\u3100-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf"
    "\ua980-\ua9ff\uaa60-\uaadf\uf900-\ufaff\U000116d0-\U000116ff\U00016fe0-\U00018dff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff]"
)
OWN_FORMS = re.compile(
    "([\u2474-\u24b5\u3200-\u321e\u32c0-\u32cb\u3300-\u3370\u33e0-\u33fe\ufa10-\ufad9\ufbea-\ufbfb\ufc00-\ufd3d"
    "\ufd50-\ufdc7\U0001f100-\U0001f12a\U0002f800-\U0002fa1d])"
)
JOINERS = {"'": "'", "’": "'", "＇": "'", "׳": "'", "·": "·", "\u0387": "·", '"': '"', "״": '"'}
SEPARATORS = {".": ".", ",": ",", ":": ":", "/": "/", "'": "'", "’": "'", "＇": "'", "׳": "'", "٫": ".", "٬": ",",
              "．": ".", "，": ",", "：": ":", "／": "/"}  # fmt: skip
LETTERS = "LETTER", "HANGUL", "KATAKANA", "LONE"
Token = tuple[str, int, int, str]  # spelling, first character, last character + 1, kind


@cache
def spelling(character: str) -> str:
    """What a character adds to the spelling of a token."""
    if character == "İ":
        return "i"
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if OWN_FORMS.match(character):
        return character
    text = character
    for _ in range(2):
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return "".join(letter for letter in text if letter != " " and ord(letter) not in IGNORED) or character


@cache
def kind_of(character: str) -> str:
    """The class of a character."""
    code, category = ord(character), unicodedata.category(character)
    if code in SPACES:
        return "SPACE"
    if code in IGNORED or (category == "Cf" and code not in VISIBLE_FORMATS):
        return "IGNORED"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "REGIONAL"
    if 0x1F3FB <= code <= 0x1F3FF:
        return "MODIFIER"
    if EMOJI.match(character):
        return "EMOJI"
    if code >= 0x20000:
        return "LONE" if code < 0x40000 else "SYMBOL"
    if category == "Nd":
        return "DIGIT"
    if category[0] == "M" or character in "ำຳﾞﾟ":
        return "MARK"
    spelled = spelling(character)
    if category == "So" and len(spelled) == 1:
        category = unicodedata.category(spelled)  # a letter in a circle
    if (category[0] != "L" and category != "Nl") or " " in unicodedata.normalize("NFKC", character):
        return "SYMBOL"
    names = ((HANGUL, "HANGUL"), (KATAKANA, "KATAKANA"), (WITHOUT_SPACES, "LONE"))
    return next((name for pattern, name in names if pattern.match(spelled)), "LETTER")


def is_known(text: str) -> bool:
    """Whether this Python knows every character as the tables of the core do."""
    return all(unicodedata.category(character) not in ("Cn", "Cs") for character in text)


class Reader:
    """Reads the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.kinds = [kind_of(character) for character in text]
        self.parts: list[str] = []
        self.marks = 0

    def kind(self, at: int) -> str:
        return self.kinds[at] if at < len(self.text) else "END"

    def character(self, at: int) -> str:
        return self.text[at] if at < len(self.text) else ""

    def take(self, spelled: str | None = None) -> None:
        """Add the next character to the token."""
        character, kind = self.text[self.at], self.kinds[self.at]
        self.at += 1
        if kind == "IGNORED" and spelled is None:
            return
        self.marks = self.marks + 1 if kind == "MARK" else 0
        if self.marks > 30 or (character == "\u0307" and "".join(self.parts)[-1:] == "i"):
            return
        self.parts.append(spelling(character) if spelled is None else spelled)

    def take_while(self, *kinds: str, also: str = "") -> None:
        while self.kind(self.at) in (*kinds, "MARK", "IGNORED") or (self.character(self.at) or "\n") in also:
            self.take()

    def tokens(self) -> list[Token]:
        found = []
        while self.at < len(self.text):
            if self.kinds[self.at] in ("SPACE", "IGNORED"):
                self.at += 1
                continue
            start, self.parts, self.marks = self.at, [], 0
            kind = self.token()
            text = "".join(self.parts)
            found.append((composed(text) if len(text.encode()) <= 255 else text, start, self.at, kind))
        return found

    def token(self) -> str:
        """Read one token and return its kind."""
        character, kind, start = self.text[self.at], self.kinds[self.at], self.at
        if character in "0123456789#*" and re.match("\ufe0f?\u20e3", self.text[self.at + 1 :]):
            self.take()
            self.take_while()
            return "emoji"
        if kind == "LETTER" and self.link():
            return "url"
        if kind in ("LETTER", "DIGIT"):
            return self.word(start)
        if kind == "KATAKANA":
            self.take_while(kind)
            return "word"
        if kind in ("LONE", "HANGUL"):
            self.cluster()
            return "character"
        if kind in ("EMOJI", "MODIFIER"):
            self.emoji()
            return "emoji"
        if kind == "REGIONAL":
            self.take()
            if self.kind(self.at) == "REGIONAL":
                self.take()
            self.take_while()
            return "emoji"
        if kind == "MARK":
            self.take_while()
            return "symbol"
        if character in "@＠" and (self.kind(start + 1) in ("LETTER", "DIGIT") or self.character(start + 1) == "_"):
            self.take()
            self.take_while("LETTER", "DIGIT", also="_")
            return "name"
        if character in "#＃":
            end = start + 1
            while self.kind(end) in (*LETTERS, "DIGIT") or self.character(end) == "_" or (
                end > start + 1 and self.kind(end) in ("MARK", "IGNORED")
            ):  # fmt: skip
                end += 1
            if any(self.kinds[place] in LETTERS for place in range(start + 1, end)):
                while self.at < end:
                    self.take()
                return "tag"
        self.symbols()
        return "symbol"

    def link(self) -> bool:
        """Read http://…, https://… or www.… if it is here."""
        begin = re.compile(r"https?://|(?=www\.)", re.IGNORECASE | re.ASCII).match(self.text, self.at)
        if not begin:
            return False
        start = host = begin.end()
        if re.compile(r"www\.", re.IGNORECASE | re.ASCII).match(self.text, host):
            if self.kind(host + 4) in ("LETTER", "DIGIT"):
                host += 4
            elif start == self.at:
                return False
        end = host
        while end < len(self.text) and (
            re.match(r'[^\x00-\x20\x7f<>"{}|\\^`]', self.text[end])
            if self.text[end].isascii() else self.kinds[end] in ("LETTER", "MARK", "DIGIT")
        ):  # fmt: skip
            end += 1
        while end > host and (
            self.text[end - 1] in ".,;:!?'*~]"
            or (self.text[end - 1] == ")" and self.text.count(")", host, end) > self.text.count("(", host, end))
        ):
            end -= 1
        if end == host:
            return False
        self.parts, self.at = ["http://"], host
        while self.at < end and self.text[self.at] not in "/?#:":
            self.take()
        self.at = end
        return True

    def word(self, start: int) -> str:
        """Read a word, a number or an e-mail address."""
        letters = separated = False
        while self.at < len(self.text):
            kind, character = self.kinds[self.at], self.text[self.at]
            following, number = self.kind(self.at + 1), not letters
            if (kind == "LETTER" and not separated) or kind == "MARK":
                letters |= not separated
                self.take()
            elif kind in ("DIGIT", "IGNORED"):
                self.take()
            elif number and character in SEPARATORS and following == "DIGIT":
                separated = True
                self.take(SEPARATORS[character])
            elif character in JOINERS and not separated and following == "LETTER" and (
                JOINERS[character] != '"' or (hebrew("".join(self.parts)[-1]) and hebrew(self.text[self.at + 1]))
            ):  # fmt: skip
                self.take(JOINERS[character])
            else:
                break
        pattern = r"[A-Za-z0-9._%+-]{1,64}@(?=[A-Za-z0-9])"
        local = re.compile(pattern).match(self.text, start)
        if self.character(self.at) in tuple("@.-_+%") and local:
            end = domain_end(self.text, local.end())
            if end:
                self.parts, self.at = [self.text[start:end].lower()], end
                return "address"
        return "word" if letters else "number"

    def cluster(self) -> None:
        below = False
        while True:
            character, kind = self.text[self.at], self.kinds[self.at]
            below = character in "\u17d2\u1039" or (below and kind == "IGNORED")
            self.take()
            following = self.kind(self.at)
            composes = re.match("[\u1161-\u1175\u11a8-\u11c2]", spelling(self.character(self.at) or " "))
            jamo = following == "HANGUL" and composes
            if following not in ("MARK", "IGNORED") and not (below and following == "LONE") and not jamo:
                return

    def emoji(self) -> None:
        self.take()
        while self.at < len(self.text):
            character, kind = self.text[self.at], self.kinds[self.at]
            if character == "\u200d" and self.kind(self.at + 1) == "EMOJI":
                self.take(character)
                self.take()
            elif 0xE0020 <= ord(character) <= 0xE007F:
                self.take(character)
            elif kind in ("MODIFIER", "MARK", "IGNORED"):
                self.take()
            else:
                return

    def symbols(self) -> None:
        """Read a run of one symbol; three are spelled, or one if its spelling is several characters."""
        symbol, repeats = self.text[self.at], 1
        most = 3 if len(spelling(symbol)) == 1 else 1
        self.take()
        while self.at < len(self.text):
            if self.kinds[self.at] == "MARK":
                self.take_while()
                return
            if self.kinds[self.at] == "IGNORED":
                self.take()
            elif self.text[self.at] == symbol:
                repeats += 1
                self.take(None if repeats <= most else "")
            else:
                return


def composed(text: str) -> str:
    """NFC, except for forms that are kept."""
    return "".join(
        part if OWN_FORMS.match(part) else unicodedata.normalize("NFC", part) for part in OWN_FORMS.split(text)
    )


def hebrew(character: str) -> bool:
    """Whether a character is a Hebrew letter or point."""
    return "\u0591" <= character <= "\u05f2"


def domain_end(text: str, start: int) -> int:
    """The end of a domain with at least one point, 0 if there is none; at most 255 characters are read."""
    domain = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9-]*\.)*[A-Za-z0-9][A-Za-z0-9-]*").match(text, start, start + 255)
    if not domain:
        return 0
    end = 0
    at = start
    for number, label in enumerate(domain.group().split(".")):
        whole = label.rstrip("-")
        if number:
            end = at + len(whole)
        if whole != label:
            break
        at += len(label) + 1
    return end


def tokens(text: str) -> list[Token]:
    """Tokens of a text with their places in characters."""
    return Reader(text).tokens()
