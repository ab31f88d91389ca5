"""`capsulet.compress`: check the goal, read the texts, search for the best file and write it."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from capsulet.compression.file import bytes_by_part
from capsulet.compression.goal import GoalSearch
from capsulet.compression.linear import LinearSearch
from capsulet.compression.plot import curve_plot
from capsulet.compression.sample import Sample, file_sample, made_up_sample
from capsulet.compression.setting import parse_size
from capsulet.compression.source import Source, read_source
from capsulet.errors import InputError, model_path
from capsulet.evaluation.calibrate import chosen_rows, other_rows
from capsulet.option_names import translated
from capsulet.results import Compression
from capsulet.storage.atomic import check_place, replace_file
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import MODEL
from capsulet.text.corpus import Corpora
from capsulet.text.labelled import Data, Tell, silent, sources
from capsulet.text.labelled import Source as Texts
from capsulet.text.preparation import LabelledFiles, Listener, prepare
from capsulet.text.rows import ReadOptions, reading_options
from capsulet.training.installed import require_training


def compress(
    model: str | Path,
    files: Data = (),
    out: str | Path = "",
    *,
    target_size: str | int | None = None,
    max_loss: float | None = None,
    valid: Data = (),
    plot: str | Path | None = None,
    reading: ReadOptions | None = None,
    cache: str | Path | None = "",
    threads: int | None = None,
    tell: Tell = silent,
    progress: Callable[[int, int], None] = lambda done, steps: None,
    **columns: Any,
) -> Compression:
    """Write a model as one small file; with its training files or data, choose and adapt the file on them.

    `target_size` is the largest size in bytes or such as "500KB". `max_loss` is the largest loss of accuracy in
    percentage points, estimated on the validation texts (default with files: 0.3). `progress` gets the steps done and
    the total. `columns` are options of `ReadOptions`.
    """
    started = time.perf_counter()
    folder = Path(model_path(model))
    out, picture = check_file(out, folder), check_plot(plot)
    train, held_out, tell = sources(files), sources(valid), translated(tell)
    size = check_goal(target_size, max_loss, train)
    if held_out and not train:
        raise InputError("--valid was given without training files: also give the files that the model was trained on")
    source = read_source(folder)
    if not source.config.linear_only:
        require_training("Compressing")
    reading = reading_options(reading, columns, compress).for_model(source.config.multi_label, source.config.columns)
    with ExitStack() as scratch:
        if not source.config.linear_only:
            from capsulet.model.kernels import training_threads

            scratch.enter_context(training_threads(threads))
        labelled = LabelledFiles(train, held_out, reading, cache)
        sample = read_sample(source, labelled, scratch, tell) if labelled.train else made_up_sample(source)
        search = search_of(source, sample, progress, tell, threads)
        data, chosen, curve = search.best_file(size, max_loss)
        before, has_labels, setting = bytes_by_part(source.file), sample.train is not None, chosen.setting
        points = [*(trial.point() for trial in curve), chosen.point(chosen=True)]
        replace_file(out, data)
        compression = Compression(
            path=str(out), bytes=len(data), bytes_before=sum(before.values()), parts=bytes_by_part(data),
            parts_before=before, accuracy=chosen.accuracy if has_labels else None,
            accuracy_before=search.judge.accuracy if has_labels else None, agreement=chosen.agreement,
            valid_rows=len(sample.valid) if sample.held_out else 0, words=setting.words, words_before=source.num_words,
            bits=setting.bits, codebooks=setting.codebooks, measure=search.judge.metric.name,
            curve=tuple(sorted(points, key=lambda point: point.bytes)), seconds=time.perf_counter() - started,
        )  # fmt: skip
        if picture:
            replace_file(picture, curve_plot(compression).encode())
    return compression


def search_of(
    source: Source, sample: Sample, progress: Callable[[int, int], None], tell: Tell, threads: int | None
) -> GoalSearch:
    """The search for the kind of this model; only networks need PyTorch."""
    if source.config.linear_only:
        return LinearSearch(source, sample, tell, threads)
    from capsulet.compression.search import Search

    return Search(source, sample, progress, tell, threads)


def read_sample(source: Source, files: LabelledFiles, scratch: ExitStack, tell: Tell) -> Sample:
    """Read the files, with all of their words, as the model was trained to read them."""
    from capsulet.training.interruption import Interruption

    # every word of the files, even rare ones: the model's own vocabulary decides which words it knows
    text = dataclasses.replace(source.config.options.text, min_count=1, max_words=2**31 - 1)
    with Interruption() as interruption:
        listener = Listener(tell, stop=interruption.requested)
        corpora = prepare(files, text, source.config.options.training.valid_fraction, scratch, listener)
    if interruption.requested():
        raise KeyboardInterrupt  # later, Ctrl-C raises it directly: nothing is written before the end
    return file_sample(source, corpora, bool(files.valid) or is_unseen(source.config, corpora, tell))


def is_unseen(config: ModelConfig, corpora: Corpora, tell: Tell) -> bool:
    """Whether these files have the validation texts of the training, judged by row counts; tell the user if not."""
    rows, expected = (len(corpora.train), len(corpora.valid)), (config.data.train_rows, config.data.valid_rows)
    if rows != expected:
        tell(f"note: the file keeps the original calibration, because {other_rows(*rows, expected)}")
        return False
    known = (config.calibration or {}).get("texts")
    if not rows[1]:  # measured by cross-validation: the model knows all texts
        tell(
            "note: the model was trained on all of these texts, so the loss on new texts may be larger than on these: "
            "give other labelled texts with --valid"
        )
        return False
    if known is not None and known != len(chosen_rows(rows[1])):
        tell(
            f"the model was calibrated on {known} other texts, the file is calibrated on the {rows[1]:,} validation "
            "texts of these files: give the other texts with --valid to calibrate on them"
        )
    return True


def check_goal(target_size: str | int | None, max_loss: float | None, files: Sequence[Texts]) -> int | None:
    """The target size in bytes, if any; InputError for two goals or for a loss without labelled texts."""
    if target_size is not None and max_loss is not None:
        raise InputError("--target-size and --max-loss cannot be combined: leave one of them out")
    if max_loss is not None:
        if isinstance(max_loss, bool) or not isinstance(max_loss, (int, float)) or not 0 <= max_loss <= 100:
            raise InputError(f"--max-loss is {max_loss!r}: expected percentage points of accuracy, 0 to 100")
        if not files:
            raise InputError("--max-loss is measured on labelled texts: give the files that the model was trained on")
    return None if target_size is None else parse_size(target_size)


def check_file(file: str | Path, model: Path) -> Path:
    """The path of the file to write; InputError if it cannot be written or would replace the model."""
    file, source = Path(file), model / MODEL if model.is_dir() else model
    check_place(file, ".safetensors")
    if file.exists() and source.exists() and file.samefile(source):
        raise InputError(f"{file} is the model itself: choose another file")
    return file


def check_plot(plot: str | Path | None) -> Path | None:
    """The path of the plot; InputError if it cannot be written."""
    if plot is None:
        return None
    if Path(plot).suffix != ".svg" or Path(plot).is_dir():
        raise InputError(f"--plot is {str(plot)!r}: expected a file to write that ends in .svg")
    check_place(Path(plot))
    return Path(plot)
