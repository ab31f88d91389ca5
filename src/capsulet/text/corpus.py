"""Tokenised texts in memory-mapped files: a corpus may be larger than the machine's memory.

A folder holds two corpora, training texts and validation texts, and `corpus.json`, which is written last: labels,
counts, and size and digest of every other file.

train.ids, valid.ids          int32, ids of all texts one after the other, encoded by text/vocabulary.py
train.starts, valid.starts    int64, start of each text in the ids, and the end of the last one
train.targets, valid.targets  int32, class of each text
tokenizer.json                the tokenizer

In a multi-label corpus, targets holds the classes of all texts one after the other, with two more files:

train.label_starts, valid.label_starts  int64, start of each text's classes in the targets, and the end of the last ones
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
from capsulet.text.tokens import build_tokenizer
from capsulet.text.vocabulary import FIRST_WORD, UNKNOWN_ID, SimilarWords, WordIds

T = TypeVar("T")
CHUNK = 4096  # texts scanned at a time
ROWS_AT_ONCE = 1 << 16  # texts copied at a time
PARTS = ("train", "valid")
DESCRIPTION, TOKENIZER = "corpus.json", "tokenizer.json"
FILES = (TOKENIZER, *(f"{part}.{kind}" for part in PARTS for kind in ("ids", "starts", "targets")))
LABEL_SETS = tuple(f"{part}.label_starts" for part in PARTS)  # of a multi-label corpus

Labels = str | Sequence[str]  # of one text; multi-label: a list or tuple
Scanned = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Corpus:
    """Text i is ids[starts[i]:starts[i + 1]] and has the class targets[i].

    With label_starts, text i has the classes targets[label_starts[i]:label_starts[i + 1]] of num_classes.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    targets: NDArray[np.int32]
    label_starts: NDArray[np.int64] | None = None
    num_classes: int = 0
    word_ids: WordIds | None = None  # None: no unknown word is read as a known one

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens per text."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Corpora:
    """Training and validation texts of an open folder."""

    train: Corpus
    valid: Corpus
    labels: list[str]
    train_counts: dict[str, int]  # texts per label
    valid_counts: dict[str, int]
    vocab_size: int
    notes: list[str]  # messages to the user while the files were read
    tokenizer: str  # the text of tokenizer.json
    similar: bool  # whether unknown words are read as similar known ones
    digest: str  # of corpus.json, which has the digests of all files


class DamagedCorpusError(Exception):
    """A folder whose files are not those that were written."""


def word_counts(corpus: Corpus, vocab_size: int) -> NDArray[np.int64]:
    """Occurrences of each word of the vocabulary: (V,)."""
    counts, word_ids = np.zeros(vocab_size, np.int64), WordIds(vocab_size)
    for start in range(0, len(corpus.ids), 1 << 20):  # in parts: bincount copies its input
        counts += np.bincount(word_ids.read_as(corpus.ids[start : start + (1 << 20)]), minlength=vocab_size)
    return counts


class CorpusWriter:
    """Writes labelled texts to a folder of corpora, in one pass over the texts and without keeping them in memory.

    Words are first numbered in order of appearance, in `words.part`. After the last text the validation rows and the
    word counts of the training rows are known; then the numbers are replaced by the ids of the vocabulary.
    """

    def __init__(self, folder: Path, max_tokens: int, multi_label: bool = False) -> None:
        self.folder, self.max_tokens = folder, max_tokens
        self.words = Words()
        self.lengths, self.targets = array("i"), array("i")  # per text; targets are numbers of `label_numbers`
        self.label_numbers: dict[str, int] = {}
        self.label_starts = array("q", [0]) if multi_label else None
        self.digests: dict[str, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def spool(self) -> Path:
        """The file of words numbered in order of appearance."""
        return self.folder / "words.part"

    def add(self, pairs: Iterable[tuple[str, Labels]], progress: Callable[[int], None]) -> None:
        """Add texts with their labels; words are scanned in a second thread while the next texts are read."""
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
        """Append the labels of texts."""
        numbers = self.label_numbers
        if self.label_starts is None:
            singles = cast(Sequence[tuple[str, str]], pairs)
            self.targets.extend(numbers.setdefault(label, len(numbers)) for _, label in singles)
            return
        for _, labels in pairs:
            self.targets.extend(numbers.setdefault(label, len(numbers)) for label in labels)
            self.label_starts.append(len(self.targets))

    def put(self, file: IO[bytes], scanned: Scanned) -> None:
        """Append the words of texts."""
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
        """Split off the validation rows, choose the vocabulary by the training rows, and write all files."""
        valid = np.zeros(len(self), bool)
        valid[valid_rows] = True
        counts = np.zeros(len(self.words) + 1, np.int64)
        for _, ids, rows in self.blocks(valid):
            counts += np.bincount(ids[~rows], minlength=len(counts))
        chosen = self.vocabulary(counts, min_count, max_words)
        new_ids = np.full(len(counts), UNKNOWN_ID, np.int32)
        new_ids[chosen] = FIRST_WORD + np.arange(len(chosen))

        tokenizer = build_tokenizer([self.words.spelling(int(number)) for number in chosen], self.max_tokens)
        if similar:
            similar_words = SimilarWords(tokenizer.get_vocab)
            for number in np.flatnonzero(new_ids[1:] == UNKNOWN_ID) + 1:  # all but NO_WORD
                new_ids[number] = similar_words.id_of(self.words.spelling(int(number)), UNKNOWN_ID)
        self.write(TOKENIZER, [tokenizer.to_str(pretty=False).encode()])
        order = {label: place for place, label in enumerate(labels)}
        classes = np.array([order[label] for label in self.label_numbers], np.int32)
        lengths, targets = np.frombuffer(self.lengths, np.int32), classes[np.frombuffer(self.targets, np.int32)]
        starts = None if self.label_starts is None else np.frombuffer(self.label_starts, np.int64)
        label_counts = {}
        for part, rows_mask in (("train", ~valid), ("valid", valid)):
            mask = rows_mask if starts is None else np.repeat(rows_mask, np.diff(starts))  # one per label
            wanted = part == "valid"
            self.write(f"{part}.ids", (new_ids[ids[rows == wanted]] for _, ids, rows in self.blocks(valid)))
            self.write(f"{part}.starts", [places_of(lengths[rows_mask])])
            if starts is not None:
                self.write(f"{part}.label_starts", [places_of(np.diff(starts)[rows_mask])])
            self.write(f"{part}.targets", [targets[mask]])
            label_counts[part] = np.bincount(targets[mask], minlength=len(labels)).tolist()
        description = {
            "labels": list(labels),
            "vocab_size": FIRST_WORD + len(chosen),
            "label_counts": label_counts,
            "notes": list(notes),
            "similar": similar,
            **({} if starts is None else {"multi_label": True}),
            "files": self.digests,
        }
        self.spool.unlink()
        self.write(DESCRIPTION, [json.dumps(description).encode()])

    def blocks(self, valid: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.bool_]]]:
        """First row of each block, numbers of its words, and which words belong to validation texts."""
        with self.spool.open("rb") as file:
            lengths = np.frombuffer(self.lengths, np.int32)
            for start in range(0, len(lengths), ROWS_AT_ONCE):
                part = lengths[start : start + ROWS_AT_ONCE]
                ids = np.frombuffer(file.read(4 * int(part.sum(dtype=np.int64))), np.int32)
                yield start, ids, np.repeat(valid[start : start + ROWS_AT_ONCE], part)

    def vocabulary(self, counts: NDArray[np.int64], min_count: int, max_words: int) -> NDArray[np.int64]:
        """Numbers of the words that are frequent enough, most frequent first, ties by spelling."""
        counts[NO_WORD] = 0
        frequent = np.flatnonzero(counts >= min_count)
        if len(frequent) > max_words:  # drop the words below the cut before sorting by spelling
            frequent = frequent[counts[frequent] >= np.partition(counts[frequent], -max_words)[-max_words]]
        chosen = sorted(frequent.tolist(), key=lambda number: (-counts[number], self.words.spelling(number)))
        return np.array(chosen[:max_words], np.int64)

    def write(self, name: str, pieces: Iterable[bytes | NDArray[Any]]) -> None:
        """Write a file, flush it to disk, and note its size and digest."""
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
    """Start of each run of these lengths, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def open_corpora(folder: Path) -> Corpora:
    """Open a folder of corpora, memory-mapped, after checking the digest of every file."""
    try:
        text = (folder / DESCRIPTION).read_bytes()
        description = json.loads(text)
        multi_label = description.get("multi_label", False)
        names = (*FILES, *LABEL_SETS) if multi_label else FILES
        with ThreadPoolExecutor(2) as pool:  # hashing releases the interpreter lock
            digests = list(pool.map(file_digest, (folder / name for name in names)))
        for name, digest in zip(names, digests, strict=True):
            if description["files"][name] != digest:
                raise DamagedCorpusError(f"{folder / name} is damaged")
        labels = description["labels"]
        train, valid = (
            Corpus(
                mapped(folder / f"{part}.ids", np.int32),
                mapped(folder / f"{part}.starts", np.int64),
                mapped(folder / f"{part}.targets", np.int32),
                mapped(folder / f"{part}.label_starts", np.int64) if multi_label else None,
                len(labels),
                WordIds(description["vocab_size"]),
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
    """A file as a read-only, memory-mapped array."""
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
    """Items in lists of `size`; the last list may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def choose_rows(corpus: Corpus, rows: Sequence[int] | NDArray[np.int64]) -> Corpus:
    """A corpus of some rows of another."""
    ids = [corpus.ids[corpus.starts[row] : corpus.starts[row + 1]] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in ids])]).astype(np.int64)
    words = np.concatenate(ids) if ids else corpus.ids[:0]
    if corpus.label_starts is None:
        return replace(corpus, ids=words, starts=starts, targets=corpus.targets[np.asarray(rows, np.int64)])
    labels = [corpus.targets[corpus.label_starts[row] : corpus.label_starts[row + 1]] for row in rows]
    targets = np.concatenate(labels) if labels else corpus.targets[:0]
    own = places_of(np.array([len(part) for part in labels]))
    return replace(corpus, ids=words, starts=starts, targets=targets, label_starts=own)
