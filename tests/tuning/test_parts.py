import json
from pathlib import Path

import numpy as np
import pytest

from capsulet.errors import InputError
from capsulet.text.labelled import silent
from capsulet.text.rows import ReadOptions
from capsulet.tuning.parts import store_rows, stratified_draw, stratified_parts


def test_draws_are_nested_stratified_and_have_every_class() -> None:
    classes = np.array([0] * 900 + [1] * 90 + [2])
    small, large = stratified_draw(classes, 50, 3), stratified_draw(classes, 400, 3)
    assert set(small) <= set(large)
    assert np.bincount(classes[large]).tolist() == [363, 36, 1]
    assert set(classes[small]) == {0, 1, 2}
    assert list(small) != list(stratified_draw(classes, 50, 4)), "another seed is another draw"


def test_each_part_has_its_share_of_every_class() -> None:
    classes = np.array([0] * 90 + [1] * 9 + [2])
    parts = stratified_parts(classes, 4)
    assert sorted(row for _, rows in parts for row in rows) == sorted(set(range(100)) - {0, 90, 99})
    for rest, rows in parts:
        assert sorted([*rest, *rows]) == list(range(100))
        assert set(classes[rest]) == {0, 1, 2} and np.bincount(classes[rows])[1] == 2


def test_parts_are_rows_of_the_files(many_rows: Path, tmp_path: Path) -> None:
    stored = store_rows(many_rows, ReadOptions(), silent, tmp_path / "all.jsonl")
    assert (len(stored), stored.num_classes) == (600, 3)
    first, second = np.arange(0, 600, 2), np.array([1, 599])
    stored.write({tmp_path / "a.jsonl": first, tmp_path / "b.jsonl": second})
    lines = [json.loads(line) for line in many_rows.read_text().splitlines()]
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == lines[::2]
    assert [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()] == [lines[1], lines[599]]


def test_rows_of_several_labels_are_drawn_by_their_rarest_label(tmp_path: Path) -> None:
    rows = [{"text": f"a {n}", "labels": ["x", "rare"] if n < 3 else ["x"]} for n in range(30)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stored = store_rows(file, ReadOptions(multi_label=True), silent, tmp_path / "all.jsonl")
    assert np.bincount(stored.classes).tolist() == [3, 27]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (1, "1 labelled row, expected"),
        (3, "3 labelled rows, expected at least 10"),
        (20, "1 label, expected at least two"),
    ],
)
def test_too_little_data_is_one_line(lines: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"label": "a", "text": "b"}\n' * lines)
    with pytest.raises(InputError, match=message):
        store_rows(file, ReadOptions(), silent, tmp_path / "all.jsonl")
