"""Learning curves: losses and metrics after each epoch."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from capsulet.report.charts import line_chart
from capsulet.report.svg import Series, axis, percent, plain
from capsulet.results import Epoch


class LearningCharts(NamedTuple):
    """The charts of the losses and of the metrics, and what is marked in them."""

    loss: str
    metric: str
    name: str  # of the first metric
    best: Epoch
    reached: float  # the first metric in the best epoch


def learning_charts(epochs: Sequence[Epoch]) -> LearningCharts:
    """Draw the losses and the metrics of at least one epoch, with a mark at the best one."""
    best = next((epoch for epoch in reversed(epochs) if epoch.best), epochs[-1])
    across = axis("epoch", [epoch.epoch for epoch in epochs], plain, whole=True)
    losses = epoch_series(epochs, {"training loss": "loss", "validation loss": "valid_loss"}, ("two", "one"))
    values = [value for series in losses for _, value in series.points if math.isfinite(value)]
    first = {"accuracy": "valid_accuracy"} if epochs[0].valid_micro_f1 is None else {"micro-F1": "valid_micro_f1"}
    metrics = epoch_series(epochs, {**first, "macro-F1": "valid_macro_f1"}, ("one", "two"))
    shown = [value for series in metrics for _, value in series.points]
    name, reached, mark = metrics[0].name, dict(metrics[0].points)[best.epoch], f"best epoch: {best.epoch}"
    falling = line_chart(losses, across, axis("", [0, *values], plain), [(best.epoch, best.valid_loss, mark)])
    rising = line_chart(metrics, across, axis("", shown, percent), [(best.epoch, reached, mark)])
    return LearningCharts(falling, rising, name, best, reached)


def epoch_series(epochs: Sequence[Epoch], fields: Mapping[str, str], colours: Sequence[str]) -> list[Series]:
    """Return fields of epochs, by their names, as lines; fields that an epoch does not have are left out."""
    lines = {name: [(epoch.epoch, getattr(epoch, field)) for epoch in epochs] for name, field in fields.items()}
    return [
        Series(name, colour, points)
        for (name, points), colour in zip(lines.items(), colours, strict=True)
        if all(value is not None for _, value in points)
    ]
