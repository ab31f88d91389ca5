"""Multi-label rows: from every format, through the mapped files, into batches, and split in two."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet.errors import InputError, RowError
from capsulet.text.batch import gather, targets_of
from capsulet.text.corpus import FILES, LABEL_STARTS, DamagedCorpusError, open_corpora
from capsulet.text.corpus_writer import CorpusWriter
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.split import multi_label_split, stratified_split

EXPECTED = [("one", ("a", "b")), ("two", ("b",)), ("three", ()), ("four", ("c", "a"))]


def read(path: Path, labelled: bool = True, **options) -> list[tuple[str, tuple[str, ...]]]:
    rows = list(read_rows([path], labelled=labelled, options=ReadOptions(multi_label=True, **options)))
    assert all(row.label is None for row in rows)
    return [(row.text, row.labels) for row in rows]


FILES_OF_SETS = {
    "a.csv": ("label,text\na|b,one\n b ,two\n,three\nc| a||c,four\n", {}),
    "b.csv": ("text,labels\none,a|b\ntwo,b\nthree,\nfour,c|a\n", {}),
    "c.tsv": ("tags\ttext\na, b\tone\nb\ttwo\n\tthree\nc,a\tfour\n", {"label_column": "tags", "label_separator": ","}),
    "d.csv": ("a|b,one\nb,two\n,three\nc|a,four\n", {"header": False}),
    "e.jsonl": (
        '{"text": "one", "label": ["a", "b", "a"]}\n{"text": "two", "label": "b"}\n{"text": "three", "label": []}\n'
        '{"text": "four", "label": ["c", null, "a"]}\n', {},
    ),
    "f.jsonl": (
        '{"text": "one", "labels": "a|b"}\n{"text": "two", "labels": ["b"]}\n{"text": "three", "labels": null}\n'
        '{"text": "four", "labels": ["c", "a"]}\n', {},
    ),
    "g.txt": ("__label__a __label__b one\n__label__b two\nthree\n__label__c four __label__a\n", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES_OF_SETS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format(tmp_path: Path, name: str, packed: bool) -> None:
    content, options = FILES_OF_SETS[name]
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert read(path, **options) == EXPECTED


def test_parquet_lists(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    lists = [["a", "b"], ["b"], [], ["c", "a"]]
    for column in (pyarrow.array(lists), pyarrow.array(["a|b", "b", None, "c|a"])):
        table = pyarrow.table({"text": ["one", "two", "three", "four"], "labels": column})
        parquet.write_table(table, tmp_path / "rows.parquet")
        assert read(tmp_path / "rows.parquet") == EXPECTED
    numbers = pyarrow.table({"text": ["one", "two"], "label": [[3, 1], None]})
    parquet.write_table(numbers, tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet") == [("one", ("3", "1")), ("two", ())]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "one"}', "no key 'label', found: text"),
        ('{"text": "one", "label": {"a": 1}}', "label is an object, expected a list of strings or integers"),
        ('{"text": "one", "label": [["a"]]}', "label is a list, expected a list of strings or integers"),
        ('{"text": "one", "label": [0.5]}', "expected a list of strings or integers"),
        ('{"text": "one", "label": ["\\ud800"]}', "label contains an unpaired surrogate"),
        ('{"text": "", "label": ["a"]}', "empty text"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "zero", "label": ["a"]}\n' + line + "\n")
    with pytest.raises(RowError) as refused:
        read(path)
    assert "rows.jsonl line 2: " in str(refused.value) and problem in str(refused.value)
    assert read(path, on_bad_row="skip") == [("zero", ("a",))]


def test_one_label_a_row_says_what_to_do_with_several(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "one", "label": ["a", "b"]}\n')
    (tmp_path / "rows.txt").write_text("__label__a __label__b one\n")
    for name in ("rows.jsonl", "rows.txt"):
        with pytest.raises(RowError, match="train with multi_label=True"):
            list(read_rows([tmp_path / name], labelled=True, options=ReadOptions()))


def test_a_separator_is_not_nothing() -> None:
    with pytest.raises(InputError, match="label_separator is empty"):
        ReadOptions(label_separator="")


# the mapped files

TEXTS = ["b b b a a", "c a d C", "", "Zebra apple", "only here", "a"]
LABELS = [("x", "y"), (), ("z",), ("x",), ("z", "x", "y"), ("y",)]


@pytest.mark.parametrize("valid", [[], [1], [0, 4]])
def test_multi_label_rows_go_through_the_files(tmp_path: Path, valid: list[int]) -> None:
    writer = CorpusWriter(tmp_path, 100, multi_label=True)
    writer.add(zip(TEXTS, LABELS, strict=True), lambda rows: None)
    writer.finish(["y", "x", "z"], np.array(valid, np.int64), 1, 100, [])
    corpora = open_corpora(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, *LABEL_STARTS, "corpus.json"}
    train = [row for row in range(6) if row not in valid]
    for corpus, rows, counts in (
        (corpora.train, train, corpora.train_counts),
        (corpora.valid, valid, corpora.valid_counts),
    ):
        expected = [[float(label in LABELS[row]) for label in ("y", "x", "z")] for row in rows]
        assert len(corpus) == len(rows)
        assert targets_of(corpus, np.arange(len(rows))).tolist() == expected
        assert counts == {label: sum(label in LABELS[row] for row in rows) for label in ("y", "x", "z")}
    batch = gather(corpora.train, np.array([len(train) - 1, 0]))
    assert batch.targets.dtype == np.float32 and batch.targets.shape == (2, 3)
    assert batch.targets.tolist() == targets_of(corpora.train, np.array([len(train) - 1, 0])).tolist()


@pytest.mark.parametrize("name", LABEL_STARTS)
def test_damage_is_noticed(tmp_path: Path, name: str) -> None:
    writer = CorpusWriter(tmp_path, 100, multi_label=True)
    writer.add(zip(TEXTS, LABELS, strict=True), lambda rows: None)
    writer.finish(["y", "x", "z"], np.array([1, 2]), 1, 100, [])
    data = bytearray((tmp_path / name).read_bytes())
    data[-1] ^= 1
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DamagedCorpusError, match=name):
        open_corpora(tmp_path)


# the validation part


@given(st.lists(st.frozensets(st.integers(0, 5), max_size=4), min_size=2, max_size=150), st.floats(0.05, 0.5))
def test_every_label_keeps_a_row_and_every_row_is_somewhere(sets, fraction) -> None:
    names = sorted(set().union(*sets))
    targets = np.array([names.index(label) for labels in sets for label in sorted(labels)], np.int64)
    starts = np.concatenate([[0], np.cumsum([len(labels) for labels in sets])])
    if not len(targets):
        return
    train, valid = multi_label_split(targets, starts, fraction)
    assert sorted([*train, *valid]) == list(range(len(sets)))
    assert set().union(*(sets[row] for row in train)) == set(names)
    assert len(valid) <= round(len(sets) * fraction)


def test_rare_labels_get_their_share() -> None:
    dice = np.random.default_rng(0)
    common, rare = dice.random(2000) < 0.5, np.arange(2000) % 100 == 0  # 20 rows have the rare label
    flags = np.stack([common, rare], 1)
    targets, starts = np.nonzero(flags)[1], np.concatenate([[0], np.cumsum(flags.sum(1))])
    _, valid = multi_label_split(targets, starts, 0.1)
    assert rare[valid].sum() == 2 and abs(common[valid].mean() - common.mean()) < 0.06
    assert len(valid) == 200


def test_sets_of_one_label_are_cut_like_classes() -> None:
    targets = np.random.default_rng(0).permutation(np.repeat(np.arange(4), [5, 20, 60, 200]))
    _, sets = multi_label_split(targets, np.arange(len(targets) + 1), 0.1)
    _, classes = stratified_split(targets, 0.1)
    assert sets.tolist() == classes.tolist()
