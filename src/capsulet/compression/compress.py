"""`capsulet.compress`: search a setting, adapt, check and write the file."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.compression.parts import bytes_by_part
from capsulet.compression.plot import curve_plot
from capsulet.compression.setting import Setting, parse_size
from capsulet.compression.source import Source, read_source
from capsulet.errors import CapsuletError, InputError
from capsulet.evaluation.describe import chosen_rows, other_rows
from capsulet.results import Compression
from capsulet.runtime.session import open_session
from capsulet.storage.atomic import check_place, replace_file
from capsulet.storage.export import check_file
from capsulet.storage.file import single_file
from capsulet.storage.model_config import ModelConfig
from capsulet.text.corpus import Corpora
from capsulet.text.preparation import LabelledFiles, Listener, Paths, Tell, paths, prepare, silent
from capsulet.text.rows import ReadOptions
from capsulet.training.run import require_training

if TYPE_CHECKING:
    from capsulet.compression.sample import Sample
    from capsulet.compression.search import Search
    from capsulet.compression.trials import Trial

DEFAULT_LOSS = 0.3  # percentage points
MOST_ATTEMPTS = 3  # adapted files until one loses little enough


def compress(
    model: str | Path,
    files: Paths = (),
    out: str | Path = "",
    *,
    target_size: str | int | None = None,
    max_loss: float | None = None,
    valid: Paths = (),
    plot: str | Path | None = None,
    reading: ReadOptions | None = None,
    cache: str | Path | None = "",
    threads: int | None = None,
    tell: Tell = silent,
    progress: Callable[[int, int], None] = lambda done, steps: None,
) -> Compression:
    """Write a model folder as one small file; with its training files, choose and adapt the file on them.

    `target_size` is the largest size in bytes or such as "500KB". `max_loss` is the largest loss of accuracy on the
    validation texts in percentage points (default with files: 0.3). `progress` gets the steps done and the total.
    """
    started = time.perf_counter()
    out, picture = check_file(out, Path(model)), check_plot(plot)
    goal = check_goal(target_size, max_loss, files)
    if paths(valid) and not paths(files):
        raise InputError("--valid was given without training files: also give the files that the model was trained on")
    require_training("Compressing")
    from capsulet.compression.sample import made_up_sample
    from capsulet.compression.search import Search
    from capsulet.model.kernels import training_threads

    source = read_source(Path(model))
    reading = (reading or ReadOptions()).for_model(source.options.model.multi_label)
    with ExitStack() as scratch:
        scratch.enter_context(training_threads(threads))
        labelled = LabelledFiles(paths(files), paths(valid), reading, cache)
        sample = read_sample(source, labelled, scratch, tell) if labelled.train else made_up_sample(source)
        search = Search(source, sample, progress)
        data, chosen, curve = best_file(search, goal, tell, threads)
        before, has_labels, setting = (
            bytes_by_part(single_file(Path(model))),
            sample.labelled is not None,
            chosen.setting,
        )
        points = sorted([*(trial.point() for trial in curve), chosen.point(chosen=True)], key=lambda one: one.bytes)
        replace_file(out, data)
        compression = Compression(
            path=str(out), bytes=len(data), bytes_before=sum(before.values()), parts=bytes_by_part(data),
            parts_before=before, accuracy=chosen.accuracy if has_labels else None,
            accuracy_before=search.judge.accuracy if has_labels else None, agreement=chosen.agreement,
            valid_rows=len(sample.valid) if has_labels else 0, words=setting.words, words_before=source.num_words,
            bits=setting.bits, codebooks=setting.codebooks, curve=tuple(points), seconds=time.perf_counter() - started,
            measure=search.judge.metric.name,
        )  # fmt: skip
        if picture:
            replace_file(picture, curve_plot(compression).encode())
    return compression


def read_sample(source: Source, files: LabelledFiles, scratch: ExitStack, tell: Tell) -> Sample:
    """Read the files, with all of their words, as the model was trained to read them."""
    from capsulet.compression.sample import file_sample
    from capsulet.training.interruption import Interruption

    # every word of the files, even rare ones: the model's own vocabulary decides which words it knows
    text = dataclasses.replace(source.options.text, min_count=1, max_words=2**31 - 1)
    with Interruption() as interruption:
        listener = Listener(tell, stop=interruption.asked)
        corpora = prepare(files, text, source.options.training.valid_fraction, scratch, listener)
    if interruption.asked():
        raise KeyboardInterrupt  # later, Ctrl-C raises it directly: nothing is written before the end
    return file_sample(source, corpora, bool(files.valid) or is_unseen(source.config, corpora, tell))


def is_unseen(config: ModelConfig, corpora: Corpora, tell: Tell) -> bool:
    """Whether these files have the validation texts of the training, judged by row counts; tell the user if not."""
    rows, expected = (len(corpora.train), len(corpora.valid)), (config.data.train_rows, config.data.valid_rows)
    if rows != expected:
        tell(f"the file keeps the calibration of the whole model: {other_rows(*rows, expected)}")
        return False
    known = (config.calibration or {}).get("texts")
    if known is not None and known != len(chosen_rows(rows[1])):
        tell(
            f"the model was calibrated on {known} other texts, the file is calibrated on the {rows[1]:,} validation "
            "texts of these files: give the other texts with --valid to calibrate on them"
        )
    return True


@dataclass(frozen=True)
class Goal:
    """Largest size in bytes, or largest loss in percentage points; neither: the default loss."""

    size: int | None
    loss: float | None


def check_goal(target_size: str | int | None, max_loss: float | None, files: Paths) -> Goal:
    """The goal of a compression; InputError for two goals or for a loss without labelled texts."""
    if target_size is not None and max_loss is not None:
        raise InputError("--target-size and --max-loss are two goals: give one of them")
    if max_loss is not None:
        if isinstance(max_loss, bool) or not isinstance(max_loss, (int, float)) or not 0 <= max_loss <= 100:
            raise InputError(f"--max-loss is {max_loss!r}: expected percentage points of accuracy, 0 to 100")
        if not paths(files):
            raise InputError("--max-loss is judged on labelled texts: give the files that the model was trained on")
    return Goal(None if target_size is None else parse_size(target_size), max_loss)


def check_plot(plot: str | Path | None) -> Path | None:
    """The path of the plot; InputError if it cannot be written."""
    if plot is None:
        return None
    if Path(plot).suffix != ".svg" or Path(plot).is_dir():
        raise InputError(f"--plot is {str(plot)!r}: expected a file to write that ends in .svg")
    check_place(Path(plot))
    return Path(plot)


def best_file(search: Search, goal: Goal, tell: Tell, threads: int | None) -> tuple[bytes, Trial, list[Trial]]:
    """The file that reaches the goal, its trial, and the curve of the trials before it."""
    if goal.size is not None:
        tell("trying settings that fit the size")
        setting, curve = search.fit_size(goal.size), search.curve
        data, chosen = make_file(search, setting, tell, threads)
        if len(data) > goal.size:
            raise search.too_small(goal.size, f"{len(data):,}")
        return data, chosen, curve
    if search.sample.labelled is not None:
        return hold_loss(search, goal.loss, tell, threads)
    return *make_file(search, search.largest, tell, threads), []


def hold_loss(
    search: Search, max_loss: float | None, tell: Tell, threads: int | None
) -> tuple[bytes, Trial, list[Trial]]:
    """The smallest adapted file that loses at most `max_loss` points, by up to three attempts, smallest first.

    With few validation texts the default loss may be out of reach: one of 273 texts is more than 0.3 points. Then the
    file that loses least is taken, with a note. A loss that the user has given is an error if it is out of reach.
    """
    tell("trying settings")
    limit = DEFAULT_LOSS if max_loss is None else max_loss
    curve, judge = search.curve, search.judge
    good = [trial for trial in curve if 100 * (judge.trial_accuracy - trial.accuracy) <= limit]
    settings = [trial.setting for trial in good[:: max(1, len(good) // MOST_ATTEMPTS)]][: MOST_ATTEMPTS - 1]
    settings.append(search.largest)
    attempts: list[tuple[float, bytes, Trial]] = []
    for number, setting in enumerate(settings, 1):
        data, trial = make_file(search, setting, tell, threads)
        loss = 100 * (judge.accuracy - trial.accuracy)
        if loss <= limit:
            return data, trial, curve
        attempts.append((loss, data, trial))
        tell(f"{len(data):,} bytes lose {loss:.2f} points" + (": trying a larger file" if settings[number:] else ""))
    loss, data, trial = min(attempts, key=lambda attempt: attempt[0])
    least = f"the best file loses {loss:.2f} points on the {len(search.sample.valid):,} validation texts"
    if max_loss is not None:
        raise CapsuletError(
            f"--max-loss {limit:g} could not be held: {least}; nothing was written; allow more, or give --target-size"
        )
    tell(f"{least}, more than the default of {limit:g}: it is written all the same")
    return data, trial, curve


def make_file(search: Search, setting: Setting, tell: Tell, threads: int | None) -> tuple[bytes, Trial]:
    """The file of a setting, adapted if there are training texts, and its trial on all validation texts."""
    from capsulet.compression.file import compression_facts

    tell(str(setting))
    student, adapted = search.students.student(setting), False
    if search.sample.train is not None:
        learned = search.students.adapted(setting, search.students.steps)
        if search.measure(learned, setting).error <= search.measure(student, setting).error:
            student, adapted = learned, True
    facts, kept = compression_facts(setting, adapted=adapted), search.ranking.keep(setting.words)
    data, network = search.files.build(student, setting, facts)
    with tempfile.TemporaryDirectory(prefix="capsulet-") as scratch:
        file = Path(scratch) / "model.onnx"
        file.write_bytes(data)
        session = open_session(file, threads)
        lengths = search.judge.file_lengths(session, network, kept)
    data, _ = search.files.build(student, setting, {**facts, **search.descriptions.of_file(session, kept)})
    return data, search.judge.judge(lengths, slice(None), setting, len(data), adapted)
