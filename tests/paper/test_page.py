"""The page about the paper: one table per table of the paper, and what a part of a data set is short of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.paired import pack
from docs.paper_accuracy import accuracy
from paper.limits import growth_lines, limit_lines
from paper.rows import TABLES
from paper.verdicts import set_title

TEXTS = 1000


def run(row: str, wrong: int, **more: Any) -> dict[str, Any]:
    row_ = next(one for table in ("components", "sota") for one in TABLES[table].rows if one.name == row)
    epochs = [{"loss": 0.2, "valid_loss": 0.3, "valid_accuracy": 0.88}]
    epochs.append({"loss": 0.01, "valid_loss": 0.5, "valid_accuracy": 0.89})
    return {
        "row": row, "set": "ag_news_61k", "seed": 1, "recipe": row_.recipe or "published", "budget": {},
        "options": dict(row_.options), "protocol": "ours", "bytes": [1, 1], "rows": [61_513, TEXTS],
        "accuracy": 1 - wrong / TEXTS, "right": pack([place >= wrong for place in range(TEXTS)]), "epochs": epochs,
        "command": "python -m paper all", "commit": "0", **more,
    }  # fmt: skip


def store(folder: Path, table: str, runs: list[dict[str, Any]]) -> None:
    (folder / f"{table}.json").write_text(json.dumps({"runs": runs}))


def lines_of(folder: Path) -> list[str]:
    return accuracy("Table 6", TABLES["components"], "About.", folder)


def test_all_sets_are_columns_of_one_table(tmp_path: Path) -> None:
    other = {"set": "trec6", "rows": [5452, TEXTS]}
    runs = [run("plain-linear", 100), run("plain-linear", 120, seed=2), run("cwc-capsule", 90, **other)]
    runs += [run("cwc-capsule", 80, recipe="paper", **other)]
    store(tmp_path, "components", runs)
    lines = lines_of(tmp_path)
    assert "|  | recipe | AG's News, 61,513 rows | TREC |" in lines
    assert "| conventional, linear | `published` | 92.64 / 89.00 ± 1.41 (2 seeds) | not run |" in lines
    assert "| CWC, capsule | `published` | 92.39 / not run | 91.00 |" in lines
    assert "| CWC, capsule | `paper` |  | 92.00 |" in lines
    assert not any(line.startswith("###") for line in lines)
    assert "- `python -m paper all` (commit 0)" in lines


def test_runs_that_chose_on_test_are_apart(tmp_path: Path) -> None:
    looking = {"protocol": "published", "looks": [0.8, 0.95], "last_look": 0.8}
    store(tmp_path, "components", [run("plain-linear", 100), run("plain-linear", 50, **looking)])
    lines = lines_of(tmp_path)
    first, second = (
        lines.index("| conventional, linear | `published` | 92.64 / 90.00 |"),
        lines.index("### Table 6, ag_news_61k: all rows, the recipe's epochs; seeds 1"),
    )
    assert first < second
    assert "the best epoch on the test file itself, which is too high" in lines[second + 2]


def test_without_runs_the_page_says_how_to_make_them(tmp_path: Path) -> None:
    lines = lines_of(tmp_path)
    assert "Not run yet: `python -m paper components --data DATA`." in lines
    assert any(line.startswith("| conventional, linear | 92.64 | 98.84") for line in lines)
    assert limit_lines(tmp_path) == ["Not run yet.", ""]
    assert any("--stages 1 5" in line for line in growth_lines(tmp_path))


def test_what_a_part_is_short_of(tmp_path: Path) -> None:
    sizes = [
        run("plain-linear", wrong, rows=[rows, TEXTS], budget={"rows": rows})
        for rows, wrong in ((15_000, 140), (30_000, 120))
    ]
    looking = {"protocol": "published", "looks": [0.8, 0.905], "last_look": 0.9}
    looking = {key: value for key, value in run("plain-linear", 95, **looking).items() if key != "right"}
    store(tmp_path, "components", [run("plain-linear", 100), looking, *sizes])
    store(tmp_path, "sota", [run("default-network", 80)])
    growth, said = " ".join(growth_lines(tmp_path)), " ".join(" ".join(limit_lines(tmp_path)).split())
    assert "15,000: 86.00, 30,000: 88.00, 61,513: 90.00" in growth and "| 92.64 | plausible |" in growth
    assert "**What is left** when the curve is continued to 120,000 rows: 1.20 points (" in said
    assert "has 90.00 %, 2.64 points below the published 92.64 %" in said
    assert "375 evaluations. With all rows and the best of ten, one per epoch: *conventional, linear* 90.50 % " in said
    assert "(after the last epoch 90.00 %; 90.00 % with a validation part)." in said
    assert "lowest after epoch 1 (0.300) and 0.500 at the end, while the training loss falls to 0.010" in said
    assert "reaches 92.00 % on the same rows" in said
    assert "Region Emb. 1.55" in said, "other systems lose as much"


@pytest.mark.parametrize(
    ("name", "rows", "title"),
    [
        ("trec6", 10, "TREC"), ("mine", 10, "mine"), ("ag_news_61k", 61_513, "AG's News, 61,513 rows"),
        ("ag_news", 120_000, "AG's News"), ("yelp_full", 650_000, "Yelp full"),
    ],
)  # fmt: skip
def test_sets_have_titles(name: str, rows: int, title: str) -> None:
    assert set_title(name, rows) == title
