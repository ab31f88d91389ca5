"""Speed of the token rules: the rule unicode against the paper's rule on English, and against Python's `re` on Russian.

    python -m benchmarks.tokens                      generated texts
    python -m benchmarks.tokens --english FILE --russian FILE    the lines of files
    python -m benchmarks.tokens --data DATA          also tokens per word of Russian and German data sets

The core is compiled for it, to measure tokens alone; `numbered` includes the number of each word, as training needs it.
Each round measures all of them one after the other; the ratios are medians over the rounds, in processor time.

A word is a run of letters, digits and marks, or any other visible character: the words of the rivals in
benchmarks.accuracy. The Greek text is the sentences below.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.peers.words import WORD
from capsulet.choices import PAPER, UNICODE
from capsulet.text.numbering import Words

CORE = Path(__file__).parents[1] / "core"
RULES = {PAPER: 0, UNICODE: 1}  # in core.h
PATTERN = re.compile(r"\w+|[^\w\s]")
MOST = 10**6  # tokens per text
# ruff: noqa: RUF001 - Russian words
ENGLISH = "the of and to in is that was for it with as his on be at by had not are but from or have an they which one"
RUSSIAN = "и в не на я что тот быть с а весь это как она по но они к у ты из мы за вы так же от сказать этот который"
GREEK = """Η ομάδα κέρδισε τον αγώνα στο τελευταίο λεπτό, με γκολ του αρχηγού.
Ο προπονητής δεν ήταν ευχαριστημένος: «Παίξαμε καλά μόνο στο δεύτερο ημίχρονο».
Η τράπεζα αύξησε τα επιτόκια κατά 0,25 % και οι τιμές των μετοχών έπεσαν.
Το 2004 χιλιάδες φίλαθλοι περίμεναν στους δρόμους της Αθήνας.
Απ' όλα τα φαγητά προτιμώ τη σούπα με ψάρι· εσύ τι θα πάρεις;""".splitlines()
SETS = {"Russian": "ru_rusentiment", "German": "de_germeval18"}
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
            start = time.process_time()  # not the time of other programs
            function()
            seconds[name].append(time.process_time() - start)
    return seconds


def compiled() -> ctypes.CDLL:
    """The functions of core/tests/units.c, compiled as a user's core is."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "units.so"
        sources = [*(path for path in CORE.glob("*.c") if path.name != "kernels.c"), CORE / "tests" / "units.c"]
        flags = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", f"-I{CORE}"]
        subprocess.run(["cc", *flags, *map(str, sources), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def counter(core: ctypes.CDLL, rule: str, texts: Sequence[str]) -> Callable[[], object]:
    """A function that reads the tokens of texts."""
    encoded = [text.encode() for text in texts]
    joined, total = b"\n".join(encoded), ctypes.c_uint32()
    return lambda: core.unit_count(RULES[rule], joined, ctypes.c_size_t(len(joined)), ctypes.byref(total))


def scanner(rule: str, texts: Sequence[str]) -> Callable[[], object]:
    """A function that numbers the words of texts, whose words are known already."""
    words = Words(rule)
    words.scan(texts, MOST)
    return lambda: words.scan(texts, MOST)


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios of the rounds."""
    return statistics.median(first / second for first, second in zip(above, below, strict=True))


def tokens_per_word(texts: Sequence[str], rule: str) -> tuple[float, float]:
    """Tokens per word, punctuation marks included, and per word between spaces."""
    count = len(Words(rule).scan(texts, MOST)[0])
    words = re.compile(WORD)
    return count / sum(len(words.findall(text)) for text in texts), count / sum(len(text.split()) for text in texts)


def training_texts(folder: Path) -> list[str]:
    """The training texts of a data set."""
    return [json.loads(line)["text"] for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for language in ("english", "russian"):
        parser.add_argument(f"--{language}", type=Path, metavar="FILE", help="a text per line; default: generated")
    parser.add_argument("--data", type=Path, help="folder with the folder `languages` of data sets")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    english, russian = (
        path.read_text(encoding="utf-8").splitlines() if path else generated(language)
        for language, path in (("english", arguments.english), ("russian", arguments.russian))
    )
    core = compiled()
    functions = {
        "unicode": counter(core, UNICODE, english), "paper": counter(core, PAPER, english),
        "russian": counter(core, UNICODE, russian), "re": lambda: [PATTERN.findall(text) for text in russian],
        "numbered unicode": scanner(UNICODE, english), "numbered paper": scanner(PAPER, english),
        "numbered russian": scanner(UNICODE, russian),
    }  # fmt: skip
    seconds = measured(functions, arguments.rounds)
    for kind in ("", "numbered "):
        english_ratio = ratio(seconds[f"{kind}unicode"], seconds[f"{kind}paper"])
        print(f"English, {kind}tokens, time of the rule unicode / paper: {english_ratio:.2f}")
        russian_ratio = ratio(seconds["re"], seconds[f"{kind}russian"])
        print(f"Russian, {kind}tokens, time of Python's re / the rule unicode: {russian_ratio:.1f}")
    sets = {f"{name}, {data_set}": training_texts(arguments.data / "languages" / data_set)
            for name, data_set in SETS.items() if arguments.data}  # fmt: skip
    for name, texts in {"English": english, "Russian": russian, "Greek": GREEK, **sets}.items():
        for rule in (UNICODE, PAPER):
            per_word, per_space = tokens_per_word(texts, rule)
            print(f"{name}, rule {rule}, tokens per word: {per_word:.2f}; per word between spaces: {per_space:.2f}")


if __name__ == "__main__":
    main()
