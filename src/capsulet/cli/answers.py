"""Answers of `predict` beside their rows: the row number, the columns of the input, then label and probability."""

from __future__ import annotations

from collections import deque

from capsulet.errors import InputError
from capsulet.text.cells import free_name, safe_label

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from capsulet.results import Prediction
    from capsulet.text.rows import Row

    Answered = tuple[Row, Prediction | None]  # no prediction: the row was skipped

ALL, NONE = "all", "none"
DIGITS = 6  # decimals of a probability or length


class AnswerColumns:
    """Which columns an answer has, and their values: nested values for JSON, one cell per column for tables."""

    def __init__(
        self, top_k: int, *, lengths: bool = False, sets: bool = False, reasons: bool = False,
        multi_label: bool = False, separator: str | None = None, raw: bool = False,
    ) -> None:  # fmt: skip
        self.multi_label, self.top_k, self.sets, self.reasons, self.raw = multi_label, top_k, sets, reasons, raw
        self.number, self.numbers = ("length", "lengths") if lengths else ("probability", "probabilities")
        self.separator = separator  # of a multi-label model in a table: labels are joined by it

    def nested(self, prediction: Prediction | None, problem: str = "") -> dict[str, object]:
        """The answer for JSON."""
        if prediction is None:
            return {"labels": [], "reason": problem} if self.multi_label else {
                "label": None, self.number: None, "reason": problem,
            }  # fmt: skip
        return prediction.to_dict(DIGITS)

    def flat(self, prediction: Prediction | None, problem: str = "") -> dict[str, object]:
        """The answer as cells: label, probability and, for several best labels, label_2, probability_2 …

        With a separator the model is multi-label: labels and probabilities are joined by it.
        """
        first, start = ("label", self.number), 1
        if self.separator is not None:
            first, start = ("labels", self.numbers), 0
        cells: dict[str, object] = dict.fromkeys(first)
        if prediction is not None and self.separator is None:
            value = prediction.probability if prediction.length is None else prediction.length
            cells = {"label": self.name(prediction.label), self.number: round(value, DIGITS)}
        elif prediction is not None and self.separator is not None:
            pairs = prediction.labels or ()
            cells["labels"] = self.separator.join(self.name(label) or "" for label, _ in pairs)
            cells[self.numbers] = self.separator.join(f"{value:.6g}" for _, value in pairs)
        for rank in range(start, self.top_k) if self.top_k > 1 else ():
            label, number = prediction.top[rank] if prediction else (None, None)
            cells[f"label_{rank + 1}"] = self.name(label)
            cells[f"{self.number}_{rank + 1}"] = None if number is None else round(number, DIGITS)
        if self.sets:
            cells["set"] = list(prediction.label_set or ()) if prediction else None
        if self.reasons:
            cells["reason"] = problem or (prediction.reason if prediction else "")
        return cells

    def name(self, label: str | None) -> str | None:
        """A label as a cell."""
        return label if self.raw or label is None else safe_label(label)


class InputColumns:
    """Which columns of the input are copied: all, none, or those named."""

    def __init__(self, wanted: str, several_files: bool) -> None:
        self.wanted, self.several = wanted, several_files
        self.names = [] if wanted in (ALL, NONE) else [name.strip() for name in wanted.split(",") if name.strip()]

    def of(self, row: Row, number: int, answer: dict[str, object]) -> dict[str, object]:
        """The row number, the copied columns and the answer."""
        kept: dict[str, object] = {"row": number}
        if self.several:
            kept["file"] = row.source
        record = row.record or {}
        if self.wanted == ALL:
            names: Sequence[str] = list(record)
        else:
            names = self.names
            if missing := next((name for name in names if name not in record and not row.problem), None):
                raise InputError(
                    f"{row.source}: no column {missing!r}, found: {', '.join(record) or 'none'}. Name the columns to "
                    f"copy with --columns, or write --columns {NONE}"
                )
        for name in names:
            kept[free_name(name, {*kept, *answer}, record)] = record.get(name)
        return kept | answer


def answered(rows: Iterable[Row], predict: Callable[[Iterator[str]], Iterable[Prediction]]) -> Iterator[Answered]:
    """Yield each row with its prediction, in order; a skipped row has none. `predict` answers a stream of texts."""
    waiting: deque[Row] = deque()  # rows whose texts were given to `predict` and that have no answer yet

    def texts() -> Iterator[str]:
        for row in rows:
            waiting.append(row)
            if not row.problem:
                yield row.text

    for prediction in predict(texts()):
        while waiting[0].problem:
            yield waiting.popleft(), None
        yield waiting.popleft(), prediction
    while waiting:
        yield waiting.popleft(), None


def complete(rows: Iterable[tuple[dict[str, object], bool]]) -> Iterator[dict[str, object]]:
    """Yield rows for a table, whose first row decides the columns. Each row comes with whether it has all columns.

    A skipped row has only some of them. So the first rows wait for the first one that has all.
    """
    source, first_rows = iter(rows), list[dict[str, object]]()
    for row, is_complete in source:
        first_rows.append(row)
        if is_complete:
            break
    columns: dict[str, object] = dict.fromkeys(first_rows[-1] if first_rows else ())
    yield from (columns | row for row in first_rows)
    yield from (row for row, _ in source)
