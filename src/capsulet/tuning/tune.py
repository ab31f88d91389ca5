"""`capsulet.tune`: search for better options than the default within a time, and train a model with them."""

from __future__ import annotations

import dataclasses
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.config import build_options, decided, seconds_of
from capsulet.errors import CapsuletError, InputError
from capsulet.option_names import translated
from capsulet.presentation import clock, percent
from capsulet.storage.atomic import check_place, replace_file
from capsulet.storage.folder import check_target, read_config
from capsulet.text.labelled import Data, Tell, can_be_read_again, named, silent, sources
from capsulet.text.rows import ReadOptions, pop_columns, reading_options
from capsulet.tuning.final import BEST, DEFAULT, Final, as_time_allows, finalists_of, number_of_parts
from capsulet.tuning.parts import StoredRows, store_rows
from capsulet.tuning.results import Trial, Tuning
from capsulet.tuning.space import LINEAR, allowed_sizes, first_trials, shown, suggest
from capsulet.tuning.study import best_of, open_folder, open_study, require_optuna, trials_of
from capsulet.tuning.trade_off import draw_trials
from capsulet.tuning.trials import ACCURACY, METRICS, MICRO_F1, Job, Outcome, Pruner, failure, run_trial

if TYPE_CHECKING:
    import optuna

SEED = 0
LAST = 1.5  # seconds of the last training, which has more rows, per second of the best trial
SHARE_OF_FINAL = 0.5  # largest share of the time that is kept for the final
MOST_REPEATS = 50  # the search ends after this many suggestions in a row that were tried before


def tune(
    files: Data, out: str | Path, *, time: str = "20m", metric: str | None = None,
    target_size: str | int | None = None, trials: int | None = None, reading: ReadOptions | None = None,
    resume: bool = False, plot: str | Path | None = "", tell: Tell = silent, **values: Any,
) -> Tuning:  # fmt: skip
    """Search for better options within a time, then train a model with them on all rows.

    A trial is measured on its validation texts; trials of nearly the same metric are compared by log loss. In the
    final, the best trials and the default are trained several times without a part of the rows and measured on this
    part. The options with the best result are used.
    `target_size` makes every trial, and the model, a compressed file of at most this size. `trials` ends the search
    earlier. `plot` is an SVG file of all trials: "" writes it beside the model, None writes none. `values` are options
    of `train` that stay fixed.
    """
    require_optuna()
    from capsulet.compression.setting import parse_size
    from capsulet.training.installed import require_training

    columns, tell = pop_columns(values, tune), translated(tell)
    options = build_options(**values)
    multi_label = options.model.multi_label
    metric = metric or (MICRO_F1 if multi_label else ACCURACY)
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r}: expected one of {', '.join(METRICS)}")
    if target_size is not None and metric != (MICRO_F1 if multi_label else ACCURACY):
        raise InputError(
            "a target size is measured by accuracy, or by micro-f1 of several labels: leave out the metric"
        )
    out, limit = Path(out), seconds_of(time)
    check_target(out)
    picture = out.with_name(out.name + ".tuning.svg") if plot == "" else plot and Path(plot)
    if picture:
        check_place(Path(picture), ".svg")
    require_training("Tuning")
    size = None if target_size is None else parse_size(target_size)
    job = Job(metric, size, dict(values), ReadOptions(multi_label=multi_label))
    search = Search(job, out, Path(f"{out.resolve()}.tuning"), limit, trials, tell)
    reading = reading_options(reading, columns, tune).for_model(multi_label)
    return search.run(files, reading, resume, Path(picture) if picture else None)


@dataclasses.dataclass
class Search:
    """A search for options, in a folder beside the model."""

    job: Job
    out: Path
    folder: Path
    limit: float  # seconds
    most: int | None  # trials
    tell: Tell
    started: float = 0.0
    num_rows: int = 0
    share: dict[str, Any] = dataclasses.field(default_factory=dict)  # the option `valid_fraction` of the trials

    def run(self, files: Data, reading: ReadOptions, resume: bool, picture: Path | None) -> Tuning:
        """Search, confirm, and train the model."""
        self.started = time.perf_counter()
        rows = self.prepare(files, reading, resume)
        study = open_study(self.folder, SEED)
        interrupted = not self.search(study)
        trials = trials_of(study)
        if not any(trial.quality is not None for trial in trials):
            raise KeyboardInterrupt
        measured: list[Trial] = []
        if not interrupted:

            def seconds_left() -> float:
                return self.seconds_left - self.last_seconds(trials)

            final = Final(self.job, rows, self.folder, study, self.tell, seconds_left)
            measured, interrupted = final.run(as_time_allows(finalists_of(trials), seconds_left()))
        chosen, figures = self.choose(trials, measured)
        if interrupted:
            self.tell("interrupted: the best options so far are used; --resume would continue the search")
        self.tell(f"training on all {len(rows):,} rows with {shown(chosen.options)}")
        outcome, commands = self.finish(chosen, files, reading, len(rows))
        plot = None
        if picture is not None:
            replace_file(picture, draw_trials(trials, chosen.number, self.job.metric).encode())
            plot = str(picture)
        if not interrupted:
            shutil.rmtree(self.folder, ignore_errors=True)
        seconds = time.perf_counter() - self.started
        return Tuning(
            str(outcome.file if self.job.target_size else self.out), self.job.metric, tuple(trials), chosen.number,
            *figures, commands, outcome.bytes, seconds, plot,
        )  # fmt: skip

    def prepare(self, files: Data, reading: ReadOptions, resume: bool) -> StoredRows:
        """Store the rows in the folder of the search."""
        spool = self.out.resolve().with_name(f".{self.out.name}.rows.part")
        spool.parent.mkdir(parents=True, exist_ok=True)
        try:
            stored = store_rows(files, reading, self.tell, spool)
            job = self.job
            identity = {"rows": stored.digest, "fixed": job.fixed, "metric": job.metric, "size": job.target_size}
            continued = open_folder(self.folder, identity, resume)
            self.num_rows = len(stored)
            self.share = job.held_out_share(len(stored))
            spool.replace(self.all_rows)
        finally:
            spool.unlink(missing_ok=True)
        self.tell(f"{'continuing a' if continued else 'a'} search on {len(stored):,} rows")
        return dataclasses.replace(stored, file=self.all_rows)

    @property
    def all_rows(self) -> Path:
        """A copy of all rows."""
        return self.folder / "all.jsonl"

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit."""
        return self.limit - (time.perf_counter() - self.started)

    def model_of(self, number: int) -> Path:
        """Folder of the model of a trial."""
        return self.folder / f"trial-{number}"

    def search(self, study: optuna.Study) -> bool:
        """Run trials until the time is used; return False if Ctrl-C ended the search."""
        try:
            if not trials_of(study):
                self.trial(study, study.ask(), {})
            if "sizes" not in study.user_attrs:
                self.plan(study, trials_of(study)[0].seconds)
            self.warn(trials_of(study))
            while self.has_time(trials_of(study)) and (found := self.suggested(study)):
                self.trial(study, *found)
        except KeyboardInterrupt:
            if not trials_of(study):
                raise
            return False
        return True

    def plan(self, study: optuna.Study, seconds: float) -> None:
        """Decide what trials may change, by the trial of the default, which took `seconds`; queue the first trials."""
        options = read_config(self.model_of(DEFAULT)).options
        usual = LINEAR if self.job.fixed.get("linear_only") else decided(options.model.size)
        sizes = allowed_sizes(self.job.fixed, seconds, self.limit, "small" if usual == LINEAR else usual)
        for values in first_trials(sizes, usual):
            study.enqueue_trial(values)
        study.set_user_attr("epochs", decided(options.training.epochs))
        study.set_user_attr("sizes", sizes)

    def warn(self, trials: list[Trial]) -> None:
        """Print a note if the time limit allows no trial after the first."""
        if len(trials) == 1 and self.most is None and not self.has_time(trials):
            seconds = trials[0].seconds
            self.tell(
                f"note: a training takes about {clock(seconds)}, so no options can be compared within --time; allow "
                f"more than {clock((2 + LAST) * seconds)}"
            )

    def has_time(self, trials: list[Trial]) -> bool:
        """Whether another trial fits before the last training."""
        if self.most is not None and len(trials) >= self.most:
            return False
        usual = sum(one.seconds for one in trials) / len(trials)
        parts = number_of_parts(self.num_rows)
        final = min(SHARE_OF_FINAL * self.limit, parts * (BEST + 1) * usual)
        return usual + final + self.last_seconds(trials) <= self.seconds_left

    def last_seconds(self, trials: list[Trial]) -> float:
        """Estimated seconds of the last training."""
        return LAST * best_of(trials).seconds

    def suggested(self, study: optuna.Study) -> tuple[optuna.Trial, dict[str, Any]] | None:
        """A trial with options that no other trial has; None: the study suggests no others."""
        import optuna

        kept, known = study.user_attrs, trials_of(study)
        for _ in range(MOST_REPEATS):
            trial = study.ask()
            values = suggest(trial, tuple(kept["sizes"]), self.job.target_size is not None, kept["epochs"])
            values = {name: value for name, value in values.items() if name not in self.job.fixed}
            same = next((one for one in known if one.options == values), None)
            if same is None:
                return trial, values
            state = optuna.trial.TrialState.PRUNED if same.quality is None else optuna.trial.TrialState.COMPLETE
            study.tell(trial, same.quality, state=state)
        return None

    def trial(self, study: optuna.Study, trial: optuna.Trial, values: dict[str, Any]) -> None:
        """Run one trial with these options and print its result."""
        import optuna

        began = time.perf_counter()
        state, quality, words = optuna.trial.TrialState.COMPLETE, None, ""
        try:
            outcome = run_trial(
                self.job, self.all_rows, self.model_of(trial.number), values, self.share, Pruner(trial, self.job.metric)
            )
            quality, words = outcome.quality, f"{100 * outcome.quality:.2f} %, "
            words += ("" if outcome.loss is None else f"loss {outcome.loss:.3f}, ") + f"{outcome.bytes:,} bytes"
            for name in ("bytes", "loss", "texts"):
                trial.set_user_attr(name, getattr(outcome, name))
        except optuna.TrialPruned:
            state, words = optuna.trial.TrialState.PRUNED, "stopped early"
        except CapsuletError as error:
            if trial.number == DEFAULT:
                raise
            state, words = optuna.trial.TrialState.FAIL, failure(error)
        except KeyboardInterrupt:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        trial.set_user_attr("options", values)
        trial.set_user_attr("seconds", time.perf_counter() - began)
        study.tell(trial, quality, state=state)
        self.report(trials_of(study), trial.number, words, values)

    def report(self, trials: list[Trial], number: int, words: str, values: dict[str, Any]) -> None:
        """Print the result of a trial and the best so far, and delete its model; the plan reads that of the default."""
        best = best_of(trials)
        if number != DEFAULT:
            shutil.rmtree(self.model_of(number), ignore_errors=True)
            self.model_of(number).with_suffix(".safetensors").unlink(missing_ok=True)
        loss = "" if best.loss is None else f", loss {best.loss:.3f}"
        so_far = "" if best.number == number else f", best {percent(best.quality)}{loss} (trial {best.number})"
        mark = " *" if best.number == number else ""
        remaining = f"{clock(int(max(self.seconds_left, 0.0)))} left"
        self.tell(f"trial {number}: {words}{mark}{so_far}; {shown(values)}; {remaining}")

    def choose(self, trials: list[Trial], final: list[Trial]) -> tuple[Trial, tuple[float | None, float | None, int]]:
        """The trial whose options are used; its quality and that of the default in the final, and the rows."""
        if not final:  # no time, or interrupted
            return best_of(trials), (None, None, 0)
        winner, default = best_of(final), next(one for one in final if one.number == DEFAULT)
        if winner.number == DEFAULT and len(final) > 1:
            self.tell("no other options are better in the final: the default options are used")
        chosen = next(one for one in trials if one.number == winner.number)
        return chosen, (winner.quality, default.quality, winner.texts)

    def finish(self, chosen: Trial, files: Data, reading: ReadOptions, rows: int) -> tuple[Outcome, tuple[str, ...]]:
        """Train the model on all rows, and return it with the commands that repeat it."""
        job = dataclasses.replace(self.job, reading=reading)
        if not all(map(can_be_read_again, sources(files))):  # a pipe or an iterator, which the search has read
            files, job = self.all_rows, self.job
        outcome = run_trial(job, files, self.out, chosen.options, job.final_share(rows))
        command = read_config(self.out).command
        commands = [command.replace("--out MODEL", f"--out {self.out}", 1)]
        if self.job.target_size:
            names = named(sources(files)).replace(", ", " ")
            commands.append(
                f"capsulet compress {self.out} {names} --out {outcome.file} --target-size {self.job.target_size}"
            )
        return outcome, tuple(commands)
