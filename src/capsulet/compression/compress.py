"""`capsulet.compress`: search, adapt, write, check."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from capsulet.compression.file import bytes_by_part
from capsulet.compression.plot import curve_plot
from capsulet.compression.setting import Setting, parse_size
from capsulet.compression.source import read_source
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
    from capsulet.compression.search import Compressor, Sample, Trial

DEFAULT_LOSS = 0.3  # percentage points
MOST_ATTEMPTS = 3  # adaptations until the largest loss holds


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
    """Write a model folder as one small file; with its training files it is chosen and adapted on them.

    `target_size` is the largest number of bytes ("500KB"), `max_loss` the largest loss of accuracy on the validation
    texts, in percentage points (default: 0.3, where there are files). `progress` gets the steps done and to be done.
    """
    started = time.perf_counter()
    out, picture = check_file(out, Path(model)), check_plot(plot)
    target = check_goal(target_size, max_loss, files)
    if paths(valid) and not paths(files):
        raise InputError("--valid is beside training files: name the files that the model was trained on, too")
    require_training("Compressing")
    from capsulet.compression.search import Compressor, file_sample, made_up_sample
    from capsulet.model.kernels import training_threads
    from capsulet.training.interruption import Interruption

    source = read_source(Path(model))
    reading = (reading or ReadOptions()).for_model(source.options.model.multi_label)
    with ExitStack() as scratch:
        scratch.enter_context(training_threads(threads))
        sample: Sample | None = None
        if paths(files):
            # every word of the files, however rare: which of them the model knows is a question of its own
            text = dataclasses.replace(source.options.text, min_count=1, max_words=2**31 - 1)
            labelled = LabelledFiles(paths(files), paths(valid), reading, cache)
            with Interruption() as interruption:
                listener = Listener(tell, stop=interruption.asked)
                corpora = prepare(labelled, text, source.options.training.valid_fraction, scratch, listener)
            if interruption.asked():
                raise KeyboardInterrupt  # from here on it comes by itself: nothing is written before the end
            sample = file_sample(source, corpora, is_unseen(str(model), source.config, corpora, valid, tell))
        compressor = Compressor(source, sample or made_up_sample(source), progress)
        if target is not None:
            tell("trying ways to fit the size")
            setting = compressor.fit_size(target)
            curve = compressor.curve
            data, chosen = make(compressor, setting, tell, threads)
            if len(data) > target:
                raise compressor.too_small(target, f"{len(data):,}")
        elif sample is not None:
            data, chosen, curve = hold_loss(compressor, max_loss, tell, threads)
        else:
            curve = []
            data, chosen = make(compressor, compressor.largest(), tell, threads)
        before, parts = bytes_by_part(single_file(Path(model))), bytes_by_part(data)
        points = sorted([*(trial.point() for trial in curve), chosen.point(chosen=True)], key=lambda one: one.bytes)
        replace_file(out, data)
        compression = Compression(
            path=str(out), bytes=len(data), bytes_before=sum(before.values()), parts=parts, parts_before=before,
            accuracy=chosen.accuracy if sample else None, accuracy_before=compressor.accuracy if sample else None,
            agreement=chosen.agreement, valid_rows=len(sample.valid) if sample else 0,
            words=chosen.setting.words, words_before=compressor.num_words, bits=chosen.setting.bits,
            codebooks=chosen.setting.codebooks, curve=tuple(points), seconds=time.perf_counter() - started,
            measure=compressor.merit.measure,
        )  # fmt: skip
        if picture:
            replace_file(picture, curve_plot(compression).encode())
    return compression


def is_unseen(model: str, config: ModelConfig, corpora: Corpora, valid: Paths, tell: Tell) -> bool:
    """Whether the texts to choose on are none that the model was trained on, as far as numbers tell; if not, say so."""
    if paths(valid):
        return True
    rows, expected = (len(corpora.train), len(corpora.valid)), (config.data.train_rows, config.data.valid_rows)
    if rows != expected:
        tell(f"what the file says of its scores stays that of the whole model: {other_rows(*rows, expected)}")
        return False
    known = (config.calibration or {}).get("texts")
    if known is not None and known != len(chosen_rows(rows[1])):
        tell(
            f"the model was calibrated on {known} other texts, the file is on the {rows[1]:,} validation texts of "
            "these: give the other ones with --valid to keep to them"
        )
    return True


def check_goal(target_size: str | int | None, max_loss: float | None, files: Paths) -> int | None:
    """The largest size in bytes, if there is one, and only one goal that can be judged."""
    if target_size is not None and max_loss is not None:
        raise InputError("--target-size and --max-loss are two goals: give the one or the other")
    if max_loss is not None:
        if isinstance(max_loss, bool) or not isinstance(max_loss, (int, float)) or not 0 <= max_loss <= 100:
            raise InputError(f"--max-loss is {max_loss!r}: expected percentage points of accuracy, 0 to 100")
        if not paths(files):
            raise InputError("--max-loss is judged on labelled texts: name the files that the model was trained on")
    return None if target_size is None else parse_size(target_size)


def check_plot(plot: str | Path | None) -> Path | None:
    """The path of a picture, if it can be one."""
    if plot is None:
        return None
    if Path(plot).suffix != ".svg" or Path(plot).is_dir():
        raise InputError(f"--plot is {str(plot)!r}: expected a file to write that ends in .svg")
    check_place(Path(plot))
    return Path(plot)


def hold_loss(
    compressor: Compressor, asked: float | None, tell: Tell, threads: int | None
) -> tuple[bytes, Trial, list[Trial]]:
    """The smallest file that seems to lose no more than so many points, adapted; a larger one if it did lose more.

    Where nobody asked for a bound, the default cannot always be held: of 273 texts one alone is more. Then it is the
    file that loses least, and a note.
    """
    tell("trying ways to compress")
    most = DEFAULT_LOSS if asked is None else asked
    curve = compressor.curve
    rungs = [trial for trial in curve if 100 * (compressor.trial_accuracy - trial.accuracy) <= most]
    settings = [trial.setting for trial in rungs[:: max(1, len(rungs) // MOST_ATTEMPTS)]][: MOST_ATTEMPTS - 1]
    made: list[tuple[float, bytes, Trial]] = []
    waiting = [*settings, compressor.largest()]
    while waiting:
        data, chosen = make(compressor, waiting.pop(0), tell, threads)
        made.append((100 * (compressor.accuracy - chosen.accuracy), data, chosen))
        if made[-1][0] <= most:
            return data, chosen, curve
        tell(f"{len(data):,} bytes lose {made[-1][0]:.2f} points" + (": trying a larger file" if waiting else ""))
    lost, data, chosen = min(made, key=lambda one: one[0])
    said = f"the best file loses {lost:.2f} points on the {len(compressor.sample.valid):,} validation texts"
    if asked is not None:
        raise CapsuletError(
            f"--max-loss {most:g} could not be held: {said}; nothing was written; allow more, or give --target-size"
        )
    tell(f"{said}, more than the {most:g} that are the goal where none is given: it is written all the same")
    return data, chosen, curve


def make(compressor: Compressor, setting: Setting, tell: Tell, threads: int | None) -> tuple[bytes, Trial]:
    """The file of a setting, adapted where there are texts to adapt to, and how it fares: measured on the file."""
    past = f", ngrams of {setting.ngram_bits} bits" if setting.ngram_bits else ""
    tell(f"{setting.words:,} words, {setting.codebooks} codebooks, {setting.bits}-bit weights{past}")
    student, adapted = compressor.student(setting), False
    if compressor.sample.train is not None:
        learned = compressor.adapted(setting, compressor.steps)
        if compressor.measure(learned, setting).error <= compressor.measure(student, setting).error:
            student, adapted = learned, True
    figures = {"adapted": adapted}
    data, network = compressor.file(student, setting, figures, {})
    with tempfile.TemporaryDirectory(prefix="capsulet-") as scratch:
        file = Path(scratch) / "model.onnx"
        file.write_bytes(data)
        session = open_session(file, threads)
        found = compressor.run(session, network, setting)
    data, _ = compressor.file(student, setting, figures, compressor.describe(session, setting))
    return data, compressor.judge(found, np.arange(len(found)), setting, adapted, len(data))
