"""Stability, codes, curves and confusion: the figures, and the pictures where they can be drawn."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
import torch

from docs import paper_figures
from paper import __main__ as command
from paper.codes import level_as_drawn, measure_codes, neighbours, usage
from paper.stability import measure_iterations, relative_entropy

NO_PICTURES = "matplotlib is not installed: pip install --group figures"


def test_entropy_is_one_for_all_and_zero_for_one() -> None:
    uniform, single = torch.full((2, 3, 4), 0.25), torch.eye(4)[:3].expand(2, 3, 4)
    assert relative_entropy(uniform).tolist() == pytest.approx([1, 1])
    assert relative_entropy(4 * uniform).tolist() == pytest.approx([1, 1]), "scaled coupling is a share too"
    assert relative_entropy(single).tolist() == pytest.approx([0, 0], abs=1e-6)
    half = torch.tensor([[[0.5, 0.5, 0.0, 0.0]]])
    assert relative_entropy(half).item() == pytest.approx(math.log(2) / math.log(4))


def test_the_iterations_trained_with_give_the_runtime_s_accuracy(model: Path, rows_file: Path) -> None:
    import capsulet

    points = measure_iterations(model, rows_file, [1, 3, 20])
    assert [point["iterations"] for point in points] == [1, 3, 20]
    assert points[1]["accuracy"] == capsulet.evaluate(model, rows_file).accuracy
    assert all(0 <= point["entropy"] <= 1 for point in points)
    assert len({point["entropy"] for point in points}) == 3


def test_codes(model: Path) -> None:
    found = measure_codes(model, ["match"])
    assert [sum(row) for row in found["usage"]] == pytest.approx([1, 1, 1], abs=1e-3), "a share a codebook"
    assert -1 <= found["likeness_as_drawn"] <= 1 and -1 <= found["likeness"] <= 1
    near = found["neighbours"]["match"]
    assert len(near) == 6 and "match" not in dict(near)
    assert [likeness for _, likeness in near] == sorted((likeness for _, likeness in near), reverse=True)
    assert len(measure_codes(model)["neighbours"]) == 12


def test_codes_as_drawn_are_as_near_as_they_are_said_to_be() -> None:
    drawn = torch.randn(2000, 8, 4, generator=torch.Generator().manual_seed(3)).softmax(-1).numpy()
    spelled = {place: str(place) for place in range(len(drawn))}
    best = [likeness for place in range(2, 102) for _, likeness in neighbours(place, drawn, spelled)]
    assert sum(best) / len(best) == pytest.approx(level_as_drawn(8, 4, 2000, 1.0), abs=0.02)
    shares = usage(drawn)
    assert shares.shape == (8, 4) and abs(shares - 0.25).max() < 0.05
    assert usage(torch.eye(4)[[0, 0, 1]].unsqueeze(1).numpy())[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0])


def test_pictures(call: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NO_PICTURES)
    results = ["--results", str(tmp_path / "results")]
    assert command.main(["stability", *call, "--iterations", "1", "3", "--trained", "2"]) == 0
    assert command.main(["codes", *call, "--words", "goal"]) == 0
    assert command.main(["routing", *call]) == 0
    assert command.main(["curves", "--table", "routing", *results]) == 0
    assert command.main(["confusion", "--table", "routing", *results]) == 0
    for name in ("stability", "codes", "curves", "confusion"):
        assert "<svg" in (tmp_path / "results" / f"{name}.svg").read_text()
        assert json.loads((tmp_path / "results" / f"{name}.json").read_text())["cases"]
    cases = json.loads((tmp_path / "results" / "stability.json").read_text())["cases"]
    assert [(case["routing"], case["trained"]) for case in cases] == [
        ("dynamic", False), ("dynamic", True), ("kmeans", False), ("kmeans", True)
    ]  # fmt: skip


def test_seeds_and_budgets_have_lines_of_their_own(call: list[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NO_PICTURES)
    words = [*call, "--seeds", "1", "2"]
    assert command.main(["stability", *words, "--iterations", "3", "4"]) == 0
    cases = json.loads((tmp_path / "results" / "stability.json").read_text())["cases"]
    lines = paper_figures.stability(cases)
    assert len({line for line in lines if line.startswith("| tiny")}) == 8, "two seeds, two routings, two figures"
    both = ["--rows", "dynamic", "kmeans"]
    assert command.main(["routing", *call, *both]) == 0
    assert command.main(["routing", *call, *both, "--budget", "rows=90", "epochs=1"]) == 0
    assert command.main(["curves", "--table", "routing", "--results", str(tmp_path / "results")]) == 0
    drawn = json.loads((tmp_path / "results" / "curves.json").read_text())["cases"]
    assert [(case["group"][:13], len(case["epochs"])) for case in drawn] == [
        ("tiny: 1 epoch", 1), ("tiny: 1 epoch", 1), ("tiny: 2 epoch", 2), ("tiny: 2 epoch", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(("dynamic", "kmeans", "holds"), [(0.3, 0.97, True), (0.95, 0.97, False), (0.3, 0.4, False)])
def test_the_verdict_follows_from_the_figures(dynamic: float, kmeans: float, holds: bool) -> None:
    cases = [
        {
            "set": "mine", "routing": routing, "seed": 1, "trained": False,
            "points": [
                {"iterations": 3, "entropy": 0.97, "accuracy": 0.86},
                {"iterations": 20, "entropy": last, "accuracy": 0.85},
            ],
        }
        for routing, last in (("dynamic", dynamic), ("kmeans", kmeans))
    ]  # fmt: skip
    said = " ".join(paper_figures.verdicts(cases))
    assert ("**Holds** for the coupling" in said) is holds
    assert ("**Does not hold** for the coupling" in said) is not holds


def test_without_matplotlib(
    call: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command.main(["stability", *call]) == 2
    assert "pip install --group figures" in capsys.readouterr().err


def test_nothing_to_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason=NO_PICTURES)
    assert command.main(["curves", "--table", "losses", "--results", str(tmp_path)]) == 2
    assert "python -m paper losses --data DIR" in capsys.readouterr().err
