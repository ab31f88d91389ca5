"""Tokenised texts in memory-mapped files: a corpus may be larger than the machine's memory.

A folder holds two corpora, training texts and validation texts, and `corpus.json`, which is written last: labels,
counts, and size and digest of every other file.

train.ids, valid.ids          int32, ids of the words of all texts one after the other
train.starts, valid.starts    int64, start of each text in the ids, and the end of the last one
train.targets, valid.targets  int32, class of each text
words.txt                     all words of the texts by id, one per line, without padding and the unknown word: first
                              those of the vocabulary, then the others
words.read                    int32, the id of the vocabulary that each word is read as

In a multi-label corpus, targets holds the classes of all texts one after the other, with two more files:

train.label_starts, valid.label_starts  int64, start of the classes of each text, and the end of the last ones

If the training texts have weights, there is one more file:

train.worth  float32, weight of each training text, with a mean of 1
"""

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.text.columns import Columns
from capsulet.text.vocabulary import FIRST_WORD, UNKNOWN_ID

TOO_LONG = "…" * 86  # stands for a word of more than 255 bytes; it has 258, so it has no id and no features either
PARTS = ("train", "valid")
DESCRIPTION, WORDS, READ_AS, WORTH = "corpus.json", "words.txt", "words.read", "train.worth"
FILES = (WORDS, READ_AS, *(f"{part}.{kind}" for part in PARTS for kind in ("ids", "starts", "targets")))
LABEL_STARTS = tuple(f"{part}.label_starts" for part in PARTS)  # more files of a multi-label corpus

RowNumbers = Sequence[int] | NDArray[np.int64]


@dataclass(frozen=True)
class Spellings:
    """Letters of words: word i has the letters from ends[i - 1] to ends[i]. Padding and the unknown word have none."""

    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]

    def __getitem__(self, number: int) -> str:
        start = int(self.ends[number - 1]) if number else 0
        return bytes(self.letters[start : int(self.ends[number])]).decode()


def spell(words: Sequence[str]) -> Spellings:
    """Spellings of words by id; padding and the unknown word are not among them."""
    encoded = [b""] * FIRST_WORD + [word.encode() for word in words]
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    return Spellings(letters, np.cumsum([len(word) for word in encoded], dtype=np.int64))


@dataclass(frozen=True)
class Corpus:
    """Tokenised texts: text i is ids[starts[i]:starts[i + 1]] and has the class targets[i].

    Multi-label: text i has the classes targets[label_starts[i]:label_starts[i + 1]].
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    label_starts: NDArray[np.int64] | None = None
    num_classes: int = 0
    read_as: NDArray[np.int32] | None = None  # id that the network reads for each id; None: the same id
    spellings: Spellings | None = None  # None: the words are not known
    worth: NDArray[np.float32] | None = None  # weight of each text in training; None: all have weight 1

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens per text."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Corpora:
    """Training and validation texts of a folder."""

    train: Corpus
    valid: Corpus
    labels: list[str]
    train_counts: dict[str, int]  # texts per label
    valid_counts: dict[str, int]
    vocab_size: int
    scripts: dict[str, int]  # letters of the training texts by script
    notes: list[str]  # messages to the user about the files
    max_tokens: int  # of a text that were read
    words: list[str]  # of the vocabulary by id, without padding and the unknown word
    digest: str  # of corpus.json, which has the digests of all files
    columns: Columns | None = None  # of the training files, if they have other names than text and label


class DamagedCorpusError(Exception):
    """A file of the folder is missing, or its content has changed."""


def word_counts(corpus: Corpus, vocab_size: int) -> NDArray[np.int64]:
    """Occurrences of each word of the vocabulary: (V,)."""
    counts = np.zeros(vocab_size, np.int64)
    for start in range(0, len(corpus.ids), 1 << 20):  # in parts: bincount copies its input
        ids = corpus.ids[start : start + (1 << 20)]
        counts += np.bincount(ids if corpus.read_as is None else corpus.read_as[ids], minlength=vocab_size)
    return counts


def spelled_texts(corpus: Corpus, rows: RowNumbers) -> list[str]:
    """Texts as their tokens with a space between them; a text without tokens is empty.

    A word of more than 255 bytes is spelled as `TOO_LONG`, because its own spelling is not stored.
    """
    spellings = corpus.spellings
    assert spellings is not None
    words: dict[int, str] = {}
    texts = []
    for row in rows:
        ids = corpus.ids[corpus.starts[row] : corpus.starts[row + 1]].tolist()
        for number in ids:
            if number not in words:
                words[number] = spellings[number] or TOO_LONG
        texts.append("" if ids == [UNKNOWN_ID] else " ".join(words[number] for number in ids))
    return texts


def places_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Start of each run if runs of these lengths follow one another, and the end of the last run: (n,) -> (n + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def open_corpora(folder: Path) -> Corpora:
    """Open a folder of corpora, memory-mapped, after checking the digest of every file."""
    try:
        text = (folder / DESCRIPTION).read_bytes()
        description = json.loads(text)
        multi_label, labels = description.get("multi_label", False), description["labels"]
        names = (*FILES, *LABEL_STARTS) if multi_label else FILES
        names = (*names, WORTH) if WORTH in description["files"] else names
        with ThreadPoolExecutor(2) as pool:  # hashing releases the interpreter lock
            for name, digest in zip(names, pool.map(file_digest, (folder / name for name in names)), strict=True):
                if description["files"][name] != digest:
                    raise DamagedCorpusError(f"{folder / name} is damaged")
        spellings, vocab_size = read_words(folder / WORDS), description["vocab_size"]
        read_as = np.fromfile(folder / READ_AS, np.int32)
        train, valid = (
            Corpus(
                mapped(folder / f"{part}.ids", np.int32), mapped(folder / f"{part}.starts", np.int64),
                mapped(folder / f"{part}.targets", np.int32),
                mapped(folder / f"{part}.label_starts", np.int64) if multi_label else None,
                len(labels), read_as, spellings,
            )
            for part in PARTS
        )  # fmt: skip
        if WORTH in names:
            train = replace(train, worth=mapped(folder / WORTH, np.float32))
        counts = description["label_counts"]
        train_counts, valid_counts = (dict(zip(labels, counts[part], strict=True)) for part in PARTS)
        return Corpora(
            train, valid, labels, train_counts, valid_counts, vocab_size, description["scripts"], description["notes"],
            description["max_tokens"], [spellings[number] for number in range(FIRST_WORD, vocab_size)],
            hashlib.sha256(text).hexdigest(), stored_columns(description.get("columns")),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCorpusError(f"{folder} is damaged ({error})") from None


def stored_columns(value: Any) -> Columns | None:
    """The columns in the description of a folder."""
    return None if value is None else Columns(tuple(value["text"]), value["label"])


def read_words(path: Path) -> Spellings:
    """The words of a file, one per line. Only a line feed ends a line: a word may be another separator."""
    lines = np.frombuffer(path.read_bytes(), np.uint8)
    breaks = np.flatnonzero(lines == ord("\n"))
    ends = breaks - np.arange(len(breaks))  # without the line feeds before them
    return Spellings(lines[lines != ord("\n")], np.concatenate([np.zeros(FIRST_WORD, np.int64), ends]))


def mapped(path: Path, dtype: type[np.generic]) -> NDArray[Any]:
    """A file as a read-only, memory-mapped array."""
    return np.memmap(path, dtype, mode="r") if path.stat().st_size else np.zeros(0, dtype)


def file_digest(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}


def choose_rows(corpus: Corpus, rows: RowNumbers) -> Corpus:
    """A corpus of some texts of a corpus, in the order of `rows`."""

    def choose(values: NDArray[np.int32], starts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        runs = [values[starts[row] : starts[row + 1]] for row in rows]
        return np.concatenate([values[:0], *runs]), places_of(np.array([len(run) for run in runs]))

    if corpus.worth is not None:
        corpus = replace(corpus, worth=corpus.worth[np.asarray(rows, np.int64)])
    ids, starts = choose(corpus.ids, corpus.starts)
    if corpus.label_starts is None:
        return replace(corpus, ids=ids, starts=starts, targets=corpus.targets[np.asarray(rows, np.int64)])
    targets, label_starts = choose(corpus.targets, corpus.label_starts)
    return replace(corpus, ids=ids, starts=starts, targets=targets, label_starts=label_starts)
