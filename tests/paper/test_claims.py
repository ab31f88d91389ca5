"""Verdicts: intervals and tests against closed forms, and what each kind of claim makes of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.paired import pack
from paper.claims import (
    CLAIMS,
    FAILS,
    GAIN,
    HOLDS,
    IN_PART,
    LOSS,
    NEAR,
    OPEN,
    Claim,
    Comparison,
    Difference,
    difference,
    interval,
    mcnemar,
    mean_difference,
    word_of,
)  # fmt: skip
from paper.rivals import rival_figure
from paper.rows import TABLES
from paper.verdicts import claim_lines, competitive_lines, missing_lines, overview


def run(row: str, right: list[bool], seed: int = 1, name: str = "mine", recipe: str = "published") -> dict[str, Any]:
    return {"row": row, "recipe": recipe, "seed": seed, "set": name, "right": pack(right)}


def found(low: float, high: float) -> Difference:
    return Difference(Comparison("routing", "kmeans", "dynamic"), None, (low + high) / 2, low, high, (0.5,))


@pytest.mark.parametrize(("one", "other", "chance"), [(0, 0, 1.0), (5, 5, 1.0), (0, 5, 2 / 32), (1, 5, 14 / 64)])
def test_mcnemar_counts_coins(one: int, other: int, chance: float) -> None:
    assert mcnemar(one, other) == mcnemar(other, one) == pytest.approx(chance)


def test_mcnemar_of_many_texts_is_close_to_a_normal_distribution() -> None:
    # 330 against 270 of 600: 2.41 standard deviations, with the correction for a whole number
    assert mcnemar(330, 270) == pytest.approx(math.erfc((30 - 0.5) / math.sqrt(600 / 4) / math.sqrt(2)), rel=0.01)


def test_the_interval_is_that_of_a_mean_over_texts() -> None:
    gaps = np.array([[1] * 300 + [-1] * 200 + [0] * 500])
    low, high = interval(gaps)
    error = 100 * math.sqrt((0.5 - 0.1**2) / 1000)
    assert (low, high) == pytest.approx((10 - 1.96 * error, 10 + 1.96 * error), abs=0.5)


def test_seeds_that_disagree_widen_the_interval() -> None:
    agreeing = np.array([[1] * 60 + [-1] * 40 + [0] * 900] * 3)
    apart = np.array([[1] * 100 + [0] * 900, [1] * 60 + [-1] * 40 + [0] * 900, [1] * 20 + [-1] * 80 + [0] * 900])
    narrow, wide = interval(agreeing), interval(apart)
    assert agreeing.mean() == apart.mean()
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])


def test_a_difference_is_of_the_seeds_that_both_rows_have() -> None:
    comparison = Comparison("routing", "kmeans", "dynamic")
    half, all_right = [True, False] * 50, [True] * 100
    runs = [run("kmeans", all_right), run("dynamic", half), run("kmeans", half, seed=2)]
    runs += [run("dynamic", all_right, recipe="paper"), run("dynamic", all_right, seed=3)]
    one = difference(runs, comparison)
    assert one and one.mean == 50 and one.low > 35 and one.published is None
    assert one.chances == (mcnemar(50, 0),)
    assert difference(runs[1:], comparison) is None
    on_news = [{**each, "set": "ag_news_61k"} for each in runs]
    one = difference(on_news, comparison)
    assert one and one.published == pytest.approx(92.39 - 92.14)


@pytest.mark.parametrize(
    ("low", "high", "gain", "loss", "near"),
    [
        (0.2, 1.0, HOLDS, FAILS, HOLDS), (-0.5, 0.5, OPEN, OPEN, HOLDS), (-0.9, -0.1, FAILS, HOLDS, HOLDS),
        (-1.5, -0.5, FAILS, HOLDS, OPEN), (-9.0, -5.0, FAILS, HOLDS, FAILS),
    ],
)  # fmt: skip
def test_verdicts(low: float, high: float, gain: str, loss: str, near: str) -> None:
    one = found(low, high)
    assert [one.verdict(kind) for kind in (GAIN, LOSS, NEAR)] == [gain, loss, near]


def test_the_verdict_on_a_claim_follows_from_its_comparisons() -> None:
    pair = Comparison("routing", "kmeans", "dynamic")
    claim = Claim("It is better", GAIN, (pair, pair))
    assert word_of(claim, []) == "not run"
    assert word_of(claim, [found(1, 3)]) == HOLDS
    assert word_of(claim, [found(1, 3), found(-3, -1)]) == word_of(claim, [found(1, 3), found(-1, 1)]) == IN_PART
    assert word_of(claim, [found(-1, 1), found(-3, -1)]) == FAILS
    assert word_of(claim, [found(-1, 1), found(-1, 1)]) == OPEN


def test_the_mean_difference_is_of_all_comparisons_that_were_run() -> None:
    kmeans = Comparison("routing", "kmeans", "dynamic")
    cosine = Comparison("routing", "kmeans", "kmeans-cosine")
    frozen = Comparison("routing", "kmeans-frozen", "dynamic-frozen")
    claim = Claim("It is better", GAIN, (kmeans, cosine, frozen))
    runs = [run("kmeans", [True] * 100), run("dynamic", [False] * 100), run("kmeans-cosine", [True, False] * 50)]
    one = mean_difference(runs, claim)
    assert one and one.mean == 75 and 69 < one.low < 75 < one.high < 81
    assert mean_difference(runs[1:], claim) is None
    runs += [run("kmeans", [True] * 100, seed=2), run("dynamic", [True] * 100, seed=2)]
    one = mean_difference(runs, claim)
    assert one and one.mean == 50, "of all seeds of each comparison"
    same = [*runs, run("kmeans-cosine", [True] * 100, seed=2)]
    both = mean_difference(same, claim)
    assert both and both.mean == 37.5 and both.low < 1 < 74 < both.high, "the seeds are drawn again"


def test_an_interval_that_ends_at_zero_contains_it() -> None:
    gaps = np.array([[1, -1, 0], [0, 0, 0], [-1, 1, 0]]) / 3 + 1e-17
    assert all(bound == 0 or abs(bound) > 1e-6 for bound in interval(gaps))
    ends = interval(np.full((3, 4), -1e-17))
    assert ends == (0.0, 0.0) and f"{ends[0]:+.2f}" == "+0.00"


def test_claims_are_about_rows_that_exist() -> None:
    for table, claims in CLAIMS.items():
        names = {row.name for row in TABLES[table].rows}
        for claim in claims:
            assert all({one.row, one.other} <= names and one.table == table for one in claim.comparisons)
    assert len(CLAIMS["losses"][0].comparisons) == 6


def stored(folder: Path, table: str, runs: list[dict[str, Any]]) -> None:
    about = {"budget": {}, "protocol": "ours", "options": {}, "rows": [100, 100], "accuracy": 0.9}
    folder.mkdir(exist_ok=True)
    (folder / f"{table}.json").write_text(json.dumps({"runs": [{**about, **run} for run in runs]}))


def test_lines_of_a_table_name_rows_intervals_and_verdicts(tmp_path: Path) -> None:
    better, worse = [True] * 90 + [False] * 10, [True] * 60 + [False] * 40
    stored(tmp_path, "routing", [run("kmeans", better), run("dynamic", worse)])
    lines = claim_lines("routing", tmp_path)
    (line,) = [line for line in lines if line.startswith("| mine")]
    assert line.startswith("| mine | k-means minus dynamic |  | +30.00 (") and line.endswith("| 0.000 | holds |")
    (line,) = [line for line in overview(tmp_path) if line.startswith("| K-means routing is better")]
    assert "(table 5) | **holds**: +30.00 (" in line and line.endswith("); 1 of 2 comparisons |")
    assert claim_lines("components", tmp_path)[0].endswith("Not run with all rows and epochs.")
    left = missing_lines(tmp_path)
    assert left[0] == "| stage | mine |"
    assert [line.rsplit("| ", 1)[1] for line in left[2:4]] == ["1 of 5 |", "1 of 5 |"], "k-means, and dynamic"


def test_region_embeddings_are_compared_where_they_were_run(tmp_path: Path) -> None:
    stored(tmp_path, "sota", [run("paper", [True], name="ag_news_61k"), run("paper", [True], name="mine")])
    line = " ".join(competitive_lines(tmp_path))
    assert line.startswith("- AG's News, 100 rows: at most 1 point") and "capsules has 90.00 %" in line
    assert "mine" not in line
    assert competitive_lines(tmp_path / "nowhere") == []


def test_a_rival_that_was_not_run_has_a_reason() -> None:
    assert rival_figure("XLNet*", "ag_news_61k") == "not run: needs a download"
    assert rival_figure("ULMFiT*", "ag_news_61k") == "not run: takes too long here"
    assert len(rival_figure("Region Emb.", "ag_news_61k").split(" and ")) == 2
