"""Results of `curve` and `tune`."""

from dataclasses import asdict, dataclass
from typing import Any

from capsulet.presentation import Result, Table, count, percent
from capsulet.report.svg import image


@dataclass(frozen=True)
class CurveLevel(Result):
    """Trainings on the same number of rows, and the quality of each on the held-out texts."""

    rows: int
    qualities: tuple[float, ...]

    def __repr__(self) -> str:
        return f"<{count(self.rows, 'row')}: {percent(self.quality, 1)}>"

    @property
    def quality(self) -> float:
        """Mean over the trainings."""
        return sum(self.qualities) / len(self.qualities)


@dataclass(frozen=True)
class CurveForecast(Result):
    """Expected quality with more rows, and its gain over all present rows; each with a 95 % interval."""

    rows: int
    quality: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float

    def __repr__(self) -> str:
        interval = f"{percent(self.low, 1)} to {percent(self.high, 1)}"
        return f"<{count(self.rows, 'row')}: {percent(self.quality, 1)}, {interval}>"


@dataclass(frozen=True)
class LearningCurve(Table):
    """Result of a learning curve."""

    measure: str  # accuracy; multi-label: micro-F1
    texts: int  # held-out texts
    levels: tuple[CurveLevel, ...]  # fewest rows first
    forecasts: tuple[CurveForecast, ...]

    def __repr__(self) -> str:
        return f"<LearningCurve: {self.verdict}>"

    def _repr_html_(self) -> str:
        from capsulet.tuning.curve_picture import draw_curve

        return image(draw_curve(self), self.verdict)

    def records(self) -> list[dict[str, Any]]:
        """Return one row per number of rows, measured or expected."""
        measured = [{"rows": level.rows, "quality": level.quality, "measured": True} for level in self.levels]
        return measured + [{**asdict(ahead), "measured": False} for ahead in self.forecasts]

    @property
    def verdict(self) -> str:
        """One sentence about twice as many rows."""
        ahead = self.forecasts[0]
        gain = (
            f"{100 * ahead.gain:.1f} points (95 % interval of the gain: {100 * ahead.gain_low:.1f} to "
            f"{100 * ahead.gain_high:.1f})"
        )
        if ahead.gain_high < 0.005:
            return f"more rows of this kind would change little: twice as many would add {gain} of {self.measure}"
        if ahead.gain_low > 0.005:
            return f"more rows would help: twice as many would add {gain} of {self.measure}"
        return f"more rows may help: twice as many would add {gain} of {self.measure}"


@dataclass(frozen=True)
class Trial(Result):
    """One training of a search."""

    number: int
    options: dict[str, Any]  # that differ from the recipe
    quality: float | None  # on validation texts; None: stopped early, because others were clearly better
    bytes: int  # of the model file
    seconds: float
    loss: float | None = None  # log loss of the calibrated probabilities; None: not measured
    texts: int = 0  # that quality and loss were measured on

    def __repr__(self) -> str:
        quality = "stopped early" if self.quality is None else percent(self.quality)
        return f"<trial {self.number}: {quality}, {self.bytes:,} bytes>"


@dataclass(frozen=True)
class Tuning(Table):
    """Result of a search for better options."""

    path: str  # of the model
    measure: str
    trials: tuple[Trial, ...]
    chosen: int  # number of the trial whose options the model has
    confirmed: float | None  # quality of the chosen options in the final; None: there was none
    confirmed_default: float | None  # quality of the default options in the final
    confirmation_texts: int  # held-out rows of the final
    commands: tuple[str, ...]  # that make the model again
    bytes: int
    seconds: float
    plot: str | None = None

    def __repr__(self) -> str:
        best = next(trial for trial in self.trials if trial.number == self.chosen)
        return (
            f"<Tuning {self.path}: trial {best.number} of {len(self.trials)}, {self.measure} {percent(best.quality)}>"
        )

    def _repr_html_(self) -> str:
        from capsulet.tuning.trade_off import draw_trials

        return image(draw_trials(self.trials, self.chosen, self.measure), repr(self).strip("<>"))

    def records(self) -> list[dict[str, Any]]:
        """Return one row per trial; each option has a column."""
        return [
            {"trial": trial.number, self.measure: trial.quality, "bytes": trial.bytes, "seconds": trial.seconds}
            | trial.options
            for trial in self.trials
        ]
