"""Shares of the n-gram features on held-out rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import shares
from capsulet.training.ngrams import USUAL_SHARE


def test_a_table_and_what_choosing_comes_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    rows = [
        {"text": f"{word} number {number}", "label": label}
        for number in range(60)
        for label, word in (("good", "wonderful" if number % 2 else "wonderfully"), ("bad", "horrible"))
    ]
    (tmp_path / "set" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--data", str(tmp_path), "--set", "set", "--rows", "120", "--cut", "40", "--choose", "10"]
    small = ["--options", "epochs=3", "hidden_size=16", "num_layers=1"]
    shares.main([*words, *small])
    printed = capsys.readouterr().out
    assert "set, 80 rows" in printed and "0.25" in printed and "chosen on 10 rows, most right: " in printed
    with pytest.raises(SystemExit):
        shares.main([*words[:4], "--rows", "121", "--cut", "40"])
    assert "--rows 121 (of 120)" in capsys.readouterr().err


def test_rules_choose_on_a_few_and_are_judged_by_the_others() -> None:
    truth = np.zeros(100, np.int64)
    wrong = np.tile(np.array([0.1, 0.9], np.float32), (100, 1))
    found = shares.choosing({USUAL_SHARE: wrong, 0.5: wrong[:, ::-1]}, truth, 20)
    assert found == {
        "chosen on 20 rows, as the recipe chooses": 1.0,
        "chosen on 20 rows, most right": 1.0,
        "chosen on 20 rows, usual": 0.0,
    }
