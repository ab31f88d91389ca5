"""Write labelled texts to a folder of corpora; text/corpus.py describes its files and opens it."""

import hashlib
import json
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.choices import APART, PAPER, PIECES, SIMILAR
from capsulet.text.columns import Columns
from capsulet.text.corpus import DESCRIPTION, READ_AS, WORDS, WORTH, mapped, places_of
from capsulet.text.numbering import NO_WORD, Words
from capsulet.text.scripts import script_of
from capsulet.text.strings import Labels
from capsulet.text.vocabulary import FIRST_WORD, PADDING, UNKNOWN, UNKNOWN_ID, SimilarWords

CHUNK = 4096  # texts scanned at a time
ROWS_AT_ONCE = 1 << 16  # texts copied at a time
LARGEST = 2**31 - 1  # tokens of a text
RARE = 2  # a number, link or name that occurs less often is read as its shape


class CorpusWriter:
    """Writes labelled texts to a folder of corpora in one pass, without keeping the texts in memory.

    Words are first numbered in order of appearance, in `words.part`. The validation rows and the word counts of the
    training rows are known after the last text. Then the ids of the vocabulary replace the numbers.
    """

    def __init__(self, folder: Path, max_tokens: int, multi_label: bool = False, rule: str = PAPER) -> None:
        self.folder, self.max_tokens, self.rule, self.words = folder, max_tokens, rule, Words(rule)
        self.cut_texts, self.tokens_of_cut_texts = 0, 0  # texts of more than max_tokens tokens
        self.spool = folder / "words.part"  # words numbered in order of appearance
        self.lengths, self.targets = array("i"), array("i")  # per text; targets are numbers of `label_numbers`
        self.label_numbers: dict[str, int] = {}
        self.label_starts = array("q", [0]) if multi_label else None
        self.digests: dict[str, dict[str, Any]] = {}
        self.columns: Columns | None = None  # of the training files, if they have other names than text and label
        self.worth: NDArray[np.float64] | None = None  # weights of the texts of the training files, which come first

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, pairs: Iterable[tuple[str, Labels]], progress: Callable[[int], None]) -> None:
        """Add texts with their labels. A second thread scans the words while the next texts are read."""
        pairs, more = iter(pairs), True
        scanned: Future[tuple[NDArray[np.int32], NDArray[np.int32]]] | None = None
        with self.spool.open("ab") as file, ThreadPoolExecutor(1) as scanner:
            while more:
                chunk = list(islice(pairs, CHUNK))
                more = bool(chunk)
                if scanned:
                    ids, lengths = scanned.result()
                    file.write(ids.tobytes())
                    self.lengths.frombytes(lengths.tobytes())
                    progress(len(self))
                if more:
                    scanned = scanner.submit(self.scan, [text for text, _ in chunk])
                    self.put_labels(chunk)

    def scan(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Numbers of the words of texts and words per text; count the texts that are cut."""
        ids, lengths = self.words.scan(texts, self.max_tokens)
        others = Words(self.rule)  # only counted: words after the limit must not become words of the corpora
        for place in np.flatnonzero(lengths == self.max_tokens).tolist():
            tokens = int(others.scan([texts[place]], LARGEST)[1][0])
            if tokens > self.max_tokens:
                self.cut_texts, self.tokens_of_cut_texts = self.cut_texts + 1, self.tokens_of_cut_texts + tokens
        return ids, lengths

    def put_labels(self, pairs: Sequence[tuple[str, Labels]]) -> None:
        """Append the labels of texts."""
        numbers = self.label_numbers
        for _, labels in pairs:
            names = (labels,) if isinstance(labels, str) else labels
            self.targets.extend(numbers.setdefault(label, len(numbers)) for label in names)
            if self.label_starts is not None:
                self.label_starts.append(len(self.targets))

    def classes(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """Classes of all texts one after the other; class i is labels[i]."""
        order = {label: place for place, label in enumerate(labels)}
        classes = np.array([order[label] for label in self.label_numbers], np.int32)
        return classes[np.frombuffer(self.targets, np.int32)]

    def finish(
        self, labels: Sequence[str], valid_rows: NDArray[np.int64], min_count: int, max_words: int,
        notes: Sequence[str], unknown_words: str = APART,
    ) -> None:  # fmt: skip
        """Split off the validation rows, choose the vocabulary by the training rows, and write all files."""
        valid = np.isin(np.arange(len(self)), valid_rows)
        counts = np.zeros(len(self.words) + 1, np.int64)
        for numbers, in_valid in self.blocks(valid):
            counts += np.bincount(numbers[~in_valid], minlength=len(counts))
        shapes, shape_counts = self.count_shapes(counts, min_count)
        scripts = self.count_scripts(counts, shapes)
        chosen = self.vocabulary(shape_counts, min_count, max_words)
        others = np.setdiff1d(np.arange(1, len(shape_counts)), chosen)  # all but NO_WORD
        new_ids = np.full(len(shape_counts), UNKNOWN_ID, np.int32)  # by the number of a word
        by_id = np.concatenate([chosen, others])  # numbers of the words, in the order of their ids
        new_ids[by_id] = FIRST_WORD + np.arange(len(by_id))
        spelled = (f"{self.words.spelling(int(number))}\n".encode() for number in by_id)
        self.write(WORDS, spelled)  # no word has white space
        self.write(READ_AS, [self.read_as(chosen, others, new_ids, shapes, unknown_words)])
        targets = self.classes(labels)
        label_counts = {
            "train": self.write_part("train", ~valid, new_ids, targets, len(labels)),
            "valid": self.write_part("valid", valid, new_ids, targets, len(labels)),
        }
        if self.worth is not None:
            worth = self.worth[~valid[: len(self.worth)]]
            self.write(WORTH, [(worth / worth.mean()).astype(np.float32)])
        description = {
            "labels": list(labels), "vocab_size": FIRST_WORD + len(chosen), "label_counts": label_counts,
            "scripts": scripts, "notes": list(notes), "max_tokens": self.max_tokens,
            **({} if self.label_starts is None else {"multi_label": True}),
            **({} if self.columns is None else {"columns": asdict(self.columns)}), "files": self.digests,
        }  # fmt: skip
        self.spool.unlink()
        self.write(DESCRIPTION, [json.dumps(description).encode()])

    def read_as(
        self, chosen: NDArray[np.int64], others: NDArray[np.int64], new_ids: NDArray[np.int32],
        shapes: NDArray[np.int32], unknown_words: str,
    ) -> NDArray[np.int32]:  # fmt: skip
        """The id that the network reads for each id. Words of the vocabulary (`chosen`) are read as themselves.

        Another word is read as its shape if the vocabulary has it. Otherwise the option `unknown_words` decides: it is
        read as the unknown word, as a similar word, or as itself, which means by its pieces.
        """
        vocab_size = FIRST_WORD + len(chosen)
        read_as = np.arange(vocab_size + len(others), dtype=np.int32)
        shape_ids, has_shape = new_ids[shapes[others]], shapes[others] != NO_WORD
        unknown = read_as[vocab_size:] if unknown_words == PIECES else UNKNOWN_ID
        read_as[vocab_size:] = np.where(has_shape & (shape_ids < vocab_size), shape_ids, unknown)
        if unknown_words == SIMILAR:
            words = [self.words.spelling(int(number)) for number in chosen]
            known = {word: number for number, word in enumerate((PADDING, UNKNOWN, *words))}
            similar_words = SimilarWords(lambda: known)
            for number in others[~has_shape]:  # links and numbers are not read as similar ones
                nearest = similar_words.nearest(self.words.spelling(int(number)))
                read_as[new_ids[number]] = UNKNOWN_ID if nearest is None else known[nearest]
        return read_as

    def write_part(
        self, part: str, wanted: NDArray[np.bool_], new_ids: NDArray[np.int32], targets: NDArray[np.int32],
        num_classes: int,
    ) -> list[int]:  # fmt: skip
        """Write the ids, starts and targets of the texts `wanted`; return the number of these texts per class."""
        self.write(f"{part}.ids", (new_ids[numbers[is_wanted]] for numbers, is_wanted in self.blocks(wanted)))
        self.write(f"{part}.starts", [places_of(np.frombuffer(self.lengths, np.int32)[wanted])])
        if self.label_starts is not None:
            label_starts = np.frombuffer(self.label_starts, np.int64)
            labels_per_text = label_starts[1:] - label_starts[:-1]
            self.write(f"{part}.label_starts", [places_of(labels_per_text[wanted])])
            wanted = np.repeat(wanted, labels_per_text)  # one per label
        self.write(f"{part}.targets", [targets[wanted]])
        counts: list[int] = np.bincount(targets[wanted], minlength=num_classes).tolist()
        return counts

    def tokens(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Numbers of the words of all texts, memory-mapped, and the start of each text and the end of the last one."""
        return mapped(self.spool, np.int32), places_of(np.frombuffer(self.lengths, np.int32))

    def count_scripts(self, counts: NDArray[np.int64], shapes: NDArray[np.int32]) -> dict[str, int]:
        """Letters of words with these counts by script, most frequent first. Links and names are left out."""
        words = np.flatnonzero((counts > 0) & (shapes[: len(counts)] == NO_WORD))
        words = words[words != NO_WORD]
        letters: Counter[str] = Counter()
        for start in range(0, len(words), ROWS_AT_ONCE):
            part = words[start : start + ROWS_AT_ONCE]
            spelled = [self.words.spelling(int(number)) for number in part]
            points = np.frombuffer("".join(spelled).encode("utf-32-le"), np.uint32)
            times = np.repeat(counts[part], [len(word) for word in spelled])
            different, places = np.unique(points, return_inverse=True)
            totals = np.bincount(places, times, len(different))
            for letter, total in zip(map(chr, different.tolist()), totals.tolist(), strict=True):
                if letter.isalpha():
                    letters[script_of(letter)] += int(total)
        return dict(letters.most_common())

    def count_shapes(self, counts: NDArray[np.int64], min_count: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the number of the shape of each word, or 0, and the counts, in which rare words count as their shape.

        So a shape can be frequent enough for the vocabulary. The model reads numbers, links and names that it does not
        know as their shape.
        """
        shapes = self.words.shapes()
        new = np.zeros(len(self.words) + 1 - len(shapes), np.int32)  # shapes are words, too, which have no shape
        shapes, counts = np.concatenate([shapes, new]), np.concatenate([counts, new.astype(np.int64)])
        rare = np.flatnonzero((shapes != NO_WORD) & (counts < max(min_count, RARE)))
        np.add.at(counts, shapes[rare], counts[rare])
        counts[rare] = 0
        return shapes, counts

    def blocks(self, wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.bool_]]]:
        """Numbers of the words of each block of texts, and which words belong to the texts `wanted`."""
        with self.spool.open("rb") as file:
            lengths = np.frombuffer(self.lengths, np.int32)
            for start in range(0, len(lengths), ROWS_AT_ONCE):
                part = lengths[start : start + ROWS_AT_ONCE]
                ids = np.frombuffer(file.read(4 * int(part.sum(dtype=np.int64))), np.int32)
                yield ids, np.repeat(wanted[start : start + ROWS_AT_ONCE], part)

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
        digest = hashlib.sha256()
        with (self.folder / name).open("wb") as file:
            for piece in pieces:
                data = piece if isinstance(piece, bytes) else piece.tobytes()
                digest.update(data)
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
            self.digests[name] = {"bytes": file.tell(), "sha256": digest.hexdigest()}
