"""Texts as numbers in files that are mapped into memory: a corpus may be larger than the machine's memory.

A folder holds two corpora, the texts to train on and those to validate on, and `corpus.json`, written last: labels,
counts, and the size and digest of every other file.

train.ids, valid.ids          int32, the words of all texts one after the other; unknown ones by text/likeness.py
train.starts, valid.starts    int64, where each text begins, and where the last one ends
train.targets, valid.targets  int32, the class of each text
tokenizer.json                text to ids

Where a text may have several labels, targets holds the classes of all texts one after the other, and two more files say
whose they are:

train.label_starts, valid.label_starts  int64, where the classes of each text begin, and where the last ones end
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from capsulet.text.numbering import NO_WORD, Words
from capsulet.text.tokens import UNKNOWN_ID, build_tokenizer
from capsulet.text.vocabulary import Likeness

T = TypeVar("T")
CHUNK = 4096  # texts numbered at a time
ROWS_AT_ONCE = 1 << 16  # texts copied at a time
PARTS = ("train", "valid")
DESCRIPTION, TOKENIZER = "corpus.json", "tokenizer.json"
FILES = (TOKENIZER, *(f"{part}.{kind}" for part in PARTS for kind in ("ids", "starts", "targets")))
LABEL_SETS = tuple(f"{part}.label_starts" for part in PARTS)  # where a text may have several labels

Labels = str | Sequence[str]  # of a text; several: in a list or tuple
Scanned = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Corpus:
    """Text i is ids[starts[i]:starts[i + 1]] and has the class targets[i].

    With label_starts it has the classes targets[label_starts[i]:label_starts[i + 1]] of num_classes. Ids from
    vocab_size on, if that is known, are unknown words that are read as others (text/likeness.py).
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    label_starts: NDArray[np.int64] | None = None
    num_classes: int = 0
    vocab_size: int = 0

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens in each text."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Corpora:
    """A folder of corpora, open."""

    train: Corpus
    valid: Corpus
    labels: list[str]
    train_counts: dict[str, int]  # texts of each label
    valid_counts: dict[str, int]
    vocab_size: int
    notes: list[str]  # what was said while the files were read
    tokenizer: str  # the text of tokenizer.json
    similar: bool  # whether unknown words are read as known ones that begin alike
    digest: str  # of all of it


class DamagedCorpusError(Exception):
    """A folder that does not hold what was written into it."""


def word_counts(corpus: Corpus, vocab_size: int) -> NDArray[np.int64]:
    """How often each word occurs: (V,)."""
    counts = np.zeros(vocab_size, np.int64)
    for start in range(0, len(corpus.ids), 1 << 20):  # bincount makes a copy of what it counts
        counts += np.bincount(corpus.ids[start : start + (1 << 20)] % vocab_size, minlength=vocab_size)
    return counts


class CorpusWriter:
    """Labelled texts to a folder of corpora, in one pass over the texts and with none of them in memory.

    Words are first numbered as they come, into `words.part`. Once all texts are seen it is known which are for
    validation and how often each word occurs in the others; then the numbers become those of the vocabulary.
    """

    def __init__(self, folder: Path, max_tokens: int, multi_label: bool = False) -> None:
        self.folder, self.max_tokens = folder, max_tokens
        self.words = Words()
        self.lengths, self.targets = array("i"), array("i")  # of each text; targets in the order of `label_numbers`
        self.label_numbers: dict[str, int] = {}
        self.label_starts = array("q", [0]) if multi_label else None
        self.digests: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def spool(self) -> Path:
        """The file of first numbers."""
        return self.folder / "words.part"

    def add(self, pairs: Iterable[tuple[str, Labels]], progress: Callable[[int], None]) -> None:
        """Number the words of these texts with their labels; one thread reads the next texts meanwhile."""
        with self.spool.open("ab") as file, ThreadPoolExecutor(1) as scanner:
            pending: Future[Scanned] | None = None
            for chunk in chunks(pairs, CHUNK):
                if pending:
                    self.put(file, pending.result())
                    progress(len(self))
                pending = scanner.submit(self.words.scan, [text for text, _ in chunk], self.max_tokens)
                self.put_labels(chunk)
            if pending:
                self.put(file, pending.result())
                progress(len(self))

    def put_labels(self, pairs: Sequence[tuple[str, Labels]]) -> None:
        """Append the label of each text, or its labels."""
        numbers = self.label_numbers
        if self.label_starts is None:
            singles = cast(Sequence[tuple[str, str]], pairs)
            self.targets.extend(numbers.setdefault(label, len(numbers)) for _, label in singles)
            return
        for _, labels in pairs:
            self.targets.extend(numbers.setdefault(label, len(numbers)) for label in labels)
            self.label_starts.append(len(self.targets))

    def put(self, file: IO[bytes], scanned: Scanned) -> None:
        """Append numbered texts."""
        ids, lengths = scanned
        file.write(ids.tobytes())
        self.lengths.frombytes(lengths.tobytes())

    def finish(
        self,
        labels: Sequence[str],
        valid_rows: NDArray[np.int64],
        min_count: int,
        max_words: int,
        notes: Sequence[str],
        similar: bool = False,
    ) -> None:
        """Cut off the validation texts, choose the vocabulary by the others, and write everything."""
        valid = np.zeros(len(self), bool)
        valid[valid_rows] = True
        counts = np.zeros(len(self.words) + 1, np.int64)
        for _, ids, rows in self.blocks(valid):
            counts += np.bincount(ids[~rows], minlength=len(counts))
        chosen = self.vocabulary(counts, min_count, max_words)
        places = np.full(len(counts), UNKNOWN_ID, np.int32)
        places[chosen] = np.arange(2, len(chosen) + 2)  # after padding and the unknown word

        tokenizer = build_tokenizer([self.words.spelling(int(number)) for number in chosen], self.max_tokens)
        if similar:
            likeness = Likeness(tokenizer.get_vocab)
            for number in np.flatnonzero(places[1:] == UNKNOWN_ID) + 1:  # all but NO_WORD
                places[number] = likeness.number(self.words.spelling(int(number)), UNKNOWN_ID)
        self.write(TOKENIZER, [tokenizer.to_str(pretty=False).encode()])
        order = {label: place for place, label in enumerate(labels)}
        classes = np.array([order[label] for label in self.label_numbers], np.int32)
        lengths, targets = np.frombuffer(self.lengths, np.int32), classes[np.frombuffer(self.targets, np.int32)]
        starts = None if self.label_starts is None else np.frombuffer(self.label_starts, np.int64)
        label_counts = {}
        for part, rows_mask in (("train", ~valid), ("valid", valid)):
            mask = rows_mask if starts is None else np.repeat(rows_mask, np.diff(starts))  # of the labels
            wanted = part == "valid"
            self.write(f"{part}.ids", (places[ids[rows == wanted]] for _, ids, rows in self.blocks(valid)))
            self.write(f"{part}.starts", [places_of(lengths[rows_mask])])
            if starts is not None:
                self.write(f"{part}.label_starts", [places_of(np.diff(starts)[rows_mask])])
            self.write(f"{part}.targets", [targets[mask]])
            label_counts[part] = np.bincount(targets[mask], minlength=len(labels)).tolist()
        description = {
            "labels": list(labels),
            "vocab_size": len(chosen) + 2,
            "label_counts": label_counts,
            "notes": list(notes),
            "similar": similar,
            **({} if starts is None else {"multi_label": True}),
            "files": self.digests,
        }
        self.spool.unlink()
        self.write(DESCRIPTION, [json.dumps(description).encode()])

    def blocks(self, valid: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.bool_]]]:
        """First row, first numbers of the words, and whether each is of a validation text; some rows at a time."""
        with self.spool.open("rb") as file:
            lengths = np.frombuffer(self.lengths, np.int32)
            for start in range(0, len(lengths), ROWS_AT_ONCE):
                part = lengths[start : start + ROWS_AT_ONCE]
                ids = np.frombuffer(file.read(4 * int(part.sum(dtype=np.int64))), np.int32)
                yield start, ids, np.repeat(valid[start : start + ROWS_AT_ONCE], part)

    def vocabulary(self, counts: NDArray[np.int64], min_count: int, max_words: int) -> NDArray[np.int64]:
        """First numbers of the words that are frequent enough, the most frequent first, ties by spelling."""
        counts[NO_WORD] = 0
        found = np.flatnonzero(counts >= min_count)
        if len(found) > max_words:  # only those that may get in need to be sorted by spelling
            found = found[counts[found] >= np.partition(counts[found], -max_words)[-max_words]]
        chosen = sorted(found.tolist(), key=lambda number: (-counts[number], self.words.spelling(number)))
        return np.array(chosen[:max_words], np.int64)

    def write(self, name: str, pieces: Iterable[bytes | NDArray[Any]]) -> None:
        """Write a file down to the disk and remember its size and digest."""
        digest, size = hashlib.sha256(), 0
        with (self.folder / name).open("wb") as file:
            for piece in pieces:
                data = piece if isinstance(piece, bytes) else piece.tobytes()
                digest.update(data)
                size += file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self.digests[name] = {"bytes": size, "sha256": digest.hexdigest()}


def places_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where each of several runs of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def open_corpora(folder: Path) -> Corpora:
    """The corpora of a folder, mapped into memory, once every file is seen to be whole."""
    try:
        text = (folder / DESCRIPTION).read_bytes()
        description = json.loads(text)
        several = description.get("multi_label", False)
        names = (*FILES, *LABEL_SETS) if several else FILES
        with ThreadPoolExecutor(2) as pool:  # hashing leaves the interpreter's lock
            found = list(pool.map(file_digest, (folder / name for name in names)))
        for name, digest in zip(names, found, strict=True):
            if description["files"][name] != digest:
                raise DamagedCorpusError(f"{folder / name} is damaged")
        labels = description["labels"]
        train, valid = (
            Corpus(
                mapped(folder / f"{part}.ids", np.int32),
                mapped(folder / f"{part}.starts", np.int64),
                mapped(folder / f"{part}.targets", np.int32),
                mapped(folder / f"{part}.label_starts", np.int64) if several else None,
                len(labels),
                description["vocab_size"],
            )
            for part in PARTS
        )
        counts = description["label_counts"]
        return Corpora(
            train,
            valid,
            labels,
            dict(zip(labels, counts["train"], strict=True)),
            dict(zip(labels, counts["valid"], strict=True)),
            description["vocab_size"],
            description["notes"],
            (folder / TOKENIZER).read_text(encoding="utf-8"),
            description["similar"],
            hashlib.sha256(text).hexdigest(),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedCorpusError(f"{folder} is damaged ({error})") from None


def mapped(path: Path, dtype: type[np.generic]) -> NDArray[Any]:
    """An array that is a file."""
    return np.memmap(path, dtype, mode="r") if path.stat().st_size else np.zeros(0, dtype)


def file_digest(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            size += len(block)
    return {"bytes": size, "sha256": digest.hexdigest()}


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of this size."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def choose_rows(corpus: Corpus, rows: Sequence[int] | NDArray[np.int64]) -> Corpus:
    """A corpus of these texts only."""
    ids = [corpus.ids[corpus.starts[row] : corpus.starts[row + 1]] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in ids])]).astype(np.int64)
    words = np.concatenate(ids) if ids else corpus.ids[:0]
    if corpus.label_starts is None:
        return replace(corpus, ids=words, starts=starts, targets=corpus.targets[np.asarray(rows, np.int64)])
    labels = [corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]] for row in rows]
    targets = np.concatenate(labels) if labels else corpus.targets[:0]
    own = places_of(np.array([len(part) for part in labels]))
    return replace(corpus, ids=words, starts=starts, targets=targets, label_starts=own)
