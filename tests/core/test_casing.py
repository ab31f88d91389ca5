"""core/casing.h: lower case and white space are those of Unicode 17."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest

CORE = Path(__file__).parents[2] / "core"
TABLE = (CORE / "casing.h").read_text()


@pytest.fixture
def casing() -> ModuleType:
    specification = importlib.util.spec_from_file_location("casing", CORE / "casing.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def pairs() -> list[tuple[int, int]]:
    """Codes and their lower case in the table."""
    runs = [map(int, run) for run in re.findall(r"\{(\d+), (\d+), (\d+), (-?\d+)\}", TABLE)]
    return [(code, code + difference) for first, count, step, difference in runs for code in
            range(first, first + count * step, step)]  # fmt: skip


def test_the_table_is_that_of_this_python(casing: ModuleType) -> None:
    if unicodedata.unidata_version == casing.VERSION:
        assert casing.render() == TABLE, "run `python core/casing.py`"
    # characters that an older Python does not know are in the table all the same
    known = [pair for pair in pairs() if unicodedata.category(chr(pair[0])) != "Cn"]
    assert known == [pair for pair in casing.lower_pairs() if pair[0] in dict(pairs())]
    assert len(known) > 1400
    later = {code for code, _ in casing.lower_pairs()} - dict(pairs()).keys()
    assert not later or unicodedata.unidata_version > casing.VERSION


def test_the_file_is_written_as_it_is(casing: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(casing, "lower_pairs", pairs)
    assert casing.render() == TABLE


def test_another_version_of_unicode_is_refused(
    casing: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(casing, "FILE", tmp_path / "casing.h")
    monkeypatch.setattr(casing, "VERSION", "0.0.0")
    assert casing.main() == 1
    assert f"has Unicode {unicodedata.unidata_version}, expected 0.0.0" in capsys.readouterr().err
    assert not casing.FILE.exists()
