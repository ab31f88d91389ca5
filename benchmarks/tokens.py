"""Speed of the token rules: the rule unicode against the paper's rule on English, and against Python's `re` on Russian.

    python -m benchmarks.tokens                      generated texts
    python -m benchmarks.tokens --english FILE --russian FILE    the lines of files

Each round measures all of them one after the other; the ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from capsulet.config import PAPER, UNICODE
from capsulet.text.numbering import Words

PATTERN = re.compile(r"\w+|[^\w\s]")
MOST = 10**6  # tokens per text
ENGLISH = "the of and to in is that was for it with as his on be at by had not are but from or have an they which one"
RUSSIAN = "и в не на я что тот быть с а весь это как она по но они к у ты из мы за вы так же от сказать этот который"
ENDINGS = {"english": ("ing", "ed", "s", "ly", "ness"), "russian": ("ами", "ого", "ыми", "ость", "ться")}
LETTERS = {"english": "etaoinshrdlucmfwypvbgk", "russian": "оеаинтсрвлкмдпуяыьгзбч"}


def generated(language: str, texts: int = 3000, words: int = 30) -> list[str]:
    """Sentences of frequent words and of longer words made of letters, with commas and capitals."""
    dice = random.Random(language)
    frequent = {"english": ENGLISH, "russian": RUSSIAN}[language].split()
    rare = ["".join(dice.choices(LETTERS[language], k=dice.randrange(2, 7))) + dice.choice(ENDINGS[language])
            for _ in range(20_000)]  # fmt: skip
    rows = []
    for _ in range(texts):
        chosen = [dice.choice(frequent if dice.random() < 0.4 else rare) for _ in range(words)]
        rows.append(" ".join(chosen).capitalize().replace(" ", ", ", 2) + ".")
    return rows


def measured(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each function in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def scanner(rule: str, texts: Sequence[str]) -> Callable[[], object]:
    """A function that numbers the words of texts, whose words are known already."""
    words = Words(rule)
    words.scan(texts, MOST)
    return lambda: words.scan(texts, MOST)


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios of the rounds."""
    return statistics.median(first / second for first, second in zip(above, below, strict=True))


def tokens_per_word(texts: Sequence[str], rule: str) -> float:
    """Tokens per word between spaces."""
    return len(Words(rule).scan(texts, MOST)[0]) / sum(len(text.split()) for text in texts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for language in ("english", "russian"):
        parser.add_argument(f"--{language}", type=Path, metavar="FILE", help="a text per line; default: generated texts")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    english, russian = (
        path.read_text(encoding="utf-8").splitlines() if path else generated(language)
        for language, path in (("english", arguments.english), ("russian", arguments.russian))
    )
    functions = {
        "unicode": scanner(UNICODE, english), "paper": scanner(PAPER, english),
        "russian": scanner(UNICODE, russian), "re": lambda: [PATTERN.findall(text) for text in russian],
    }  # fmt: skip
    seconds = measured(functions, arguments.rounds)
    print(f"English, time of the rule unicode / paper: {ratio(seconds['unicode'], seconds['paper']):.2f}")
    print(f"Russian, time of Python's re / the rule unicode: {ratio(seconds['re'], seconds['russian']):.1f}")
    for name, texts in (("English", english), ("Russian", russian)):
        per_word = ", ".join(f"{rule} {tokens_per_word(texts, rule):.2f}" for rule in (UNICODE, PAPER))
        print(f"{name}, tokens per word between spaces: {per_word}")


if __name__ == "__main__":
    main()
