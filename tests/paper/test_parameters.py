"""The paper's 48 cells, and the results file that says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper import published
from paper.__main__ import RESULTS, main
from paper.parameters import cells


@pytest.fixture(scope="module")
def counted() -> list[dict]:
    return cells()


def test_all_48_cells_are_the_published_ones(counted: list[dict]) -> None:
    assert len(counted) == 48
    assert [cell for cell in counted if f"{cell['parameters'] / 1e6:.2f}" != f"{cell['published_millions']:.2f}"] == []
    assert all(cell["equal"] for cell in counted)


def test_a_wrong_cell_is_not_called_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    key = ("cwc", "capsule")
    wrong = (2.47, *published.COMPONENT_PARAMETERS[key][1:])
    monkeypatch.setitem(published.COMPONENT_PARAMETERS, key, wrong)
    assert [cell["set"] for cell in cells() if not cell["equal"]] == ["ag_news"]


def test_ours_is_the_same_row_in_both_tables() -> None:
    assert published.SOTA_PARAMETERS["Ours"] == published.COMPONENT_PARAMETERS["cwc", "capsule"]
    assert published.SOTA["Ours"] == published.COMPONENTS["cwc", "capsule"] == published.ROUTING["kmeans"]


def test_the_command_writes_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str], counted: list[dict]) -> None:
    assert main(["parameters", "--results", str(tmp_path)]) == 0
    assert "48 of 48 cells equal" in capsys.readouterr().out
    found = json.loads((tmp_path / "parameters.json").read_text())
    assert found["cells"] == counted
    assert {"command", "commit", "machine", "versions"} <= found.keys()


def test_the_file_in_the_repository_is_what_is_counted(counted: list[dict]) -> None:
    assert json.loads((RESULTS / "parameters.json").read_text())["cells"] == counted
