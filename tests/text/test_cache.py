"""The cache: found again, built anew when anything differs, safe against damage, crashes and company."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from capsulet.errors import CapsuletError
from capsulet.text.cache import Cache, default_folder


def old_file(path: Path, text: str) -> Path:
    """A file that was last changed a minute ago."""
    path.write_text(text)
    minute_ago = time.time() - 60
    os.utime(path, (minute_ago, minute_ago))
    return path


def key(cache: Cache, *files: Path, **settings: object) -> str:
    return cache.key({"train": [str(file) for file in files]}, settings)


def test_the_key_follows_contents_and_settings_not_names(tmp_path) -> None:
    cache = Cache(tmp_path / "cache")
    one, copy = old_file(tmp_path / "a.csv", "text"), old_file(tmp_path / "b.csv", "text")
    other, kind = old_file(tmp_path / "c.csv", "texts"), old_file(tmp_path / "a.tsv", "text")
    assert key(cache, one, min_count=2) == key(cache, copy, min_count=2)
    different = [
        key(cache, one),
        key(cache, other),
        key(cache, kind),
        key(cache, one, copy),
        key(cache, one, min_count=1),
    ]
    assert len(set(different)) == 5


def test_a_changed_file_is_read_again(tmp_path) -> None:
    cache, path = Cache(tmp_path / "cache"), tmp_path / "a.csv"
    first = key(cache, old_file(path, "text"))
    path.write_text("texu")
    assert key(cache, path) != first
    assert key(cache, old_file(path, "text")) == first


def test_an_unchanged_file_is_not_read_at_all(tmp_path) -> None:
    cache, path = Cache(tmp_path / "cache"), old_file(tmp_path / "a.csv", "text")
    status = path.stat()
    first = key(cache, path)
    with path.open("r+") as file:  # other contents behind the same size and times: only who reads would notice
        file.write("else")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert key(cache, path) == first


def test_a_file_that_was_just_written_is_not_trusted(tmp_path) -> None:
    cache, path = Cache(tmp_path / "cache"), tmp_path / "a.csv"
    path.write_text("text")
    status = path.stat()
    first = key(cache, path)
    path.write_text("else")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert key(cache, path) != first


def test_a_damaged_note_is_passed_over(tmp_path) -> None:
    cache, path = Cache(tmp_path / "cache"), old_file(tmp_path / "a.csv", "text")
    first = key(cache, path)
    (note,) = (tmp_path / "cache" / "contents").iterdir()
    for damage in ("{", "[]", '{"status": 3}'):
        note.write_text(damage)
        assert key(cache, path) == first


def test_an_entry_appears_whole_or_not_at_all(tmp_path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ZeroDivisionError), cache.building("k") as folder:
        (folder / "corpus.json").write_text("half")
        raise ZeroDivisionError
    assert not cache.entry("k").exists() and [path.name for path in tmp_path.iterdir()] == ["contents"]
    with cache.building("k") as folder:
        (folder / "corpus.json").write_text("whole")
        assert not cache.entry("k").exists()
    assert [path.name for path in cache.entry("k").iterdir()] == ["corpus.json"]


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path) -> None:
    cache = Cache(tmp_path)
    dead, living = tmp_path / "a.x.part", tmp_path / "b.x.part"
    for folder in (dead, living):
        folder.mkdir()
        (folder / "lock").write_text("")
    with (living / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with cache.building("k") as folder:
            (folder / "corpus.json").write_text("whole")
    assert not dead.exists() and living.exists()


def test_entries_used_longest_ago_make_room(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("capsulet.text.cache.LIMIT_BYTES", 250)
    cache = Cache(tmp_path)
    for number, name in enumerate(("a", "b", "c")):
        with cache.building(name) as folder:
            (folder / "corpus.json").write_text("x" * 100)
        os.utime(cache.entry(name) / "corpus.json", (number, number))
        if name == "b":
            cache.touch("a")
    assert [name for name in ("a", "b", "c") if cache.entry(name).exists()] == ["a", "c"]


def test_the_usual_place(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CAPSULET_CACHE", "/somewhere")
    assert default_folder() == Path("/somewhere")
    monkeypatch.delenv("CAPSULET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "capsulet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "capsulet"


def test_a_place_that_cannot_be_written_is_named(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CapsuletError, match=r"file/cache cannot be used .* cache=…, or use cache=None"):
        Cache(tmp_path / "file" / "cache")
