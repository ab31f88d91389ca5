"""Data sets of what a machine has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import debian, local_sets

LISTS = """Package: one
Source: first (1.0)
Section: games
Description: a game of cards
 that goes on
Tag: role::program, uitoolkit::gtk

Package: two
Section: contrib/net
Description: a program for the net

Package: three
Section: games
"""


def rows_of(path: Path) -> list[tuple[str, str]]:
    return [(row["text"], row["label"]) for row in map(json.loads, path.read_text().splitlines())]


def test_package_lists() -> None:
    one, two = debian.parse(LISTS)
    assert one["Description"] == "a game of cards that goes on"
    assert (debian.source_of(one), debian.source_of(two)) == ("first", "two")
    assert two["Section"] == "contrib/net"


def test_packages_of_one_source_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"Package": f"{source}-{part}", "Source": source, "Section": section, "Description": f"{source} {part}"}
        for source, section in ((f"s{number}", ("games", "main/net")[number % 2]) for number in range(200))
        for part in ("lib", "doc")
    ]
    rare = {"Package": "rare", "Section": "zope", "Description": "rare"}
    monkeypatch.setattr(local_sets, "packages", lambda: iter([*found, rare]))
    parts = local_sets.package_sections()
    sources = {name: {text.split()[0] for text, _ in rows} for name, rows in parts.items()}
    assert not sources["train"] & sources["test"]
    assert len(sources["train"]) + len(sources["test"]) == 200
    assert 20 < len(sources["test"]) < 60
    assert {label for rows in parts.values() for _, label in rows} == {"games", "net"}


def test_a_file_is_cut_and_no_text_is_in_both_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    lines = [{"label": str(number % 2), "text": f"text {number // 3}"} for number in range(120)]
    (folder / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"label": "1", "text": ""}]))
    local_sets.main(["--out", str(tmp_path / "out"), "--sets", "--split", str(folder / "all.jsonl")])
    train, test = (rows_of(tmp_path / "out" / "reviews" / f"{name}.jsonl") for name in ("train", "test"))
    assert len(train) == 96
    assert 0 < len(test) < 24
    assert not {text for text, _ in train} & {text for text, _ in test}
    assert "96 training texts" in capsys.readouterr().out


def test_rows_that_could_not_be_read_again_are_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [("a\0b", "x"), ("c", "x"), ("d", "y")]
    local_sets.write(tmp_path, {"train": pairs, "test": []})
    assert rows_of(tmp_path / "train.jsonl") == pairs[1:]
    assert "2 training texts" in capsys.readouterr().out
