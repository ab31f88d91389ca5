"""The eight data sets: facts, cleaning, files that are missing or of another size."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from capsulet.errors import InputError
from paper.__main__ import main
from paper.datasets import DATA_SETS, DataSet, closest, find_source
from paper.prepared import EMPTY, clean, prepare
from paper.published import COLUMNS

# classes, thousands of training and test rows, words: the paper's table of data sets
FACTS = {
    "AG": (4, 120, 7.6, 62_535), "DBP": (14, 560, 70, 548_338), "Yah.A": (10, 1_400, 60, 771_820),
    "Sogou": (5, 450, 60, 106_385), "Yelp.P": (2, 560, 38, 200_790), "Yelp.F": (5, 650, 50, 216_985),
    "Amz.P": (2, 3_600, 400, 931_271), "Amz.F": (5, 3_000, 650, 835_818),
}  # fmt: skip


def test_facts() -> None:
    found = {
        one.column: (len(one.classes), one.train_rows / 1000, one.test_rows / 1000, one.vocab_size)
        for one in DATA_SETS.values()
    }
    assert found == FACTS
    assert tuple(found) == COLUMNS
    assert all(len(set(one.classes)) == len(one.classes) for one in DATA_SETS.values())


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("ag_news", ["Title", "a second\\team of the\\nations"], "Title a second team of the nations"),
        ("yelp_full", ['great.\\n\\nsaid \\"hi\\" twice\\\\n.'], 'great.  said "hi" twice .'),
        ("yahoo_answers", ["why?", "", "because<br />so<br>it\\nis"], "why? because so it is"),
        ("dbpedia", [" Abbott ", " <b> stays"], "Abbott <b> stays"),
        ("amazon_polarity", ["", " "], EMPTY),
    ],
)
def test_cleaning(name: str, fields: list[str], expected: str) -> None:
    assert clean(fields, DATA_SETS[name]) == expected


def write_original(folder: Path, data_set: DataSet, train: int, test: int) -> None:
    """Files in the layout of Zhang et al., with doubled quotes and a break in each row."""
    (folder / data_set.folder).mkdir(parents=True)
    for split, count in (("train", train), ("test", test)):
        rows = [f'"{place % len(data_set.classes) + 1}","a ""b""","c\\nd {place}"\n' for place in range(count)]
        (folder / data_set.folder / f"{split}.csv").write_text("".join(rows))


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_original_files_are_cleaned_and_named(tmp_path: Path) -> None:
    data_set = DATA_SETS["yelp_polarity"]
    write_original(tmp_path, data_set, 6, 2)
    source = find_source("yelp_polarity", tmp_path)
    with pytest.raises(InputError, match=r"6 rows, Yelp polarity has 560,000.*allow_subset=True"):
        prepare(source, tmp_path / "work", None)
    files = prepare(source, tmp_path / "work", None, allow_subset=True)
    assert read(files.test) == [
        {"label": "negative", "text": 'a "b" c d 0'},
        {"label": "positive", "text": 'a "b" c d 1'},
    ]
    whole = read(files.train)
    with pytest.raises(InputError, match="allow_subset=True"):  # what was let pass once is not let pass for good
        prepare(source, tmp_path / "work", None)
    fewer = prepare(source, tmp_path / "work", 4, allow_subset=True)
    assert len(read(fewer.train)) == 4 and len(read(fewer.test)) == 2
    assert [row for row in whole if row in read(fewer.train)] == read(fewer.train), "in the same order"


def test_files_that_have_changed_are_prepared_again(tmp_path: Path) -> None:
    data_set = DATA_SETS["yelp_polarity"]
    write_original(tmp_path, data_set, 6, 2)
    source = find_source("yelp_polarity", tmp_path)
    prepare(source, tmp_path / "work", None, allow_subset=True)
    source.train.write_text('"1","x"\n')
    assert read(prepare(source, tmp_path / "work", None, allow_subset=True).train) == [
        {"label": "negative", "text": "x"}
    ]


def test_a_class_that_is_none(tmp_path: Path) -> None:
    write_original(tmp_path, DATA_SETS["yelp_polarity"], 2, 2)
    (tmp_path / "yelp_review_polarity_csv" / "train.csv").write_text('"3","x"\n')
    with pytest.raises(InputError, match=r"row 1: class '3'.*expected 1 to 2"):
        prepare(find_source("yelp_polarity", tmp_path), tmp_path / "work", None, allow_subset=True)


def test_gzipped_and_damaged_files(tmp_path: Path) -> None:
    write_original(tmp_path, DATA_SETS["yelp_polarity"], 4, 2)
    train = tmp_path / "yelp_review_polarity_csv" / "train.csv"
    plain = read(prepare(find_source("yelp_polarity", tmp_path), tmp_path / "work", None, allow_subset=True).train)
    whole = train.read_bytes()
    train.unlink()
    packed = train.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(whole))
    source = find_source("yelp_polarity", tmp_path)
    assert source.train == packed
    assert read(prepare(source, tmp_path / "work", None, allow_subset=True).train) == plain
    for content in (gzip.compress(whole)[:-12], whole, gzip.compress(b'"1","\xff"\n')):
        packed.write_bytes(content)
        with pytest.raises(InputError, match=r"train.csv.gz cannot be read after row \d .*expected CSV in UTF-8"):
            prepare(source, tmp_path / "work", None, allow_subset=True)


def test_half_a_download_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Hub:
        @staticmethod
        def snapshot_download(*_: object, **__: object) -> str:
            raise OSError("asked the Hub")

    write_original(tmp_path, DATA_SETS["yelp_polarity"], 4, 2)
    (tmp_path / "yelp_review_polarity_csv" / "test.csv").unlink()
    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    places = ["--data", str(tmp_path), "--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    assert main(["losses", "--sets", "yelp_polarity", "--hub", *places]) == 2
    assert "asked the Hub" in capsys.readouterr().err


def test_any_folder_is_read_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for split in ("train", "test"):
        (folder / f"{split}.jsonl").write_text('{"label": "x", "text": "a\\\\nb"}\n')
    files = prepare(find_source("mine", tmp_path), tmp_path / "work", None)
    assert (files.train, files.test) == (folder / "train.jsonl", folder / "test.jsonl")
    assert not (tmp_path / "work").exists()


def test_parts_of_a_set_are_known_as_such() -> None:
    assert closest("ag_news_61k") is DATA_SETS["ag_news"]
    assert closest("yelp_full") is DATA_SETS["yelp_full"]
    assert closest("trec6") is None


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["losses"], "ag_news_csv/train.csv"),
        (["routing", "--sets", "amazon_full"], "not on the Hugging Face Hub"),
        (["routing", "--sets", "nothing"], "has no train.* and test.*"),
        (["sota", "--sets", "amazon_full", "--hub"], "amazon_review_full_csv.tar.gz"),
        (["losses", "--budget", "epoch=3"], "expected rows=N or epochs=N"),
    ],
)
def test_what_is_missing_is_said_on_one_line(
    words: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--data", str(tmp_path), "--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    (tmp_path / "ag_news").mkdir()
    if "--budget" in words:
        for split in ("train", "test"):
            (tmp_path / "ag_news" / f"{split}.jsonl").write_text('{"label": "x", "text": "y"}\n')
    assert main([*words, *places]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert part in line
    assert not (tmp_path / "results").exists()


def test_without_the_hub_s_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert main(["losses", "--hub", "--data", str(tmp_path), "--work", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        'paper: --hub needs huggingface_hub, which is not installed: pip install "capsulet[hub]"\n'
    )


def test_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Hub:
        @staticmethod
        def snapshot_download(*_: object, **__: object) -> str:
            raise OSError("offline\nfor now")

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert main(["losses", "--hub", "--data", str(tmp_path), "--work", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "fancyzhx/ag_news could not be fetched (offline for now)" in line and "ag_news_csv" in line
