"""What `train` prints about the data, the linear model and checkpoints."""

from pathlib import Path

from capsulet.choices import PRINTED
from capsulet.config import Options
from capsulet.errors import some
from capsulet.model.shapes import num_parameters, parameter_shapes
from capsulet.presentation import agreed
from capsulet.presentation import count as numbered
from capsulet.report.measures import interval
from capsulet.text.corpus import Corpora
from capsulet.text.label_names import labels_alike
from capsulet.text.labelled import Tell
from capsulet.training.class_weights import NONE
from capsulet.training.measured_model import MeasuredModel

UNEVEN = 20  # rows of the largest class per row of the smallest, from which on a note is printed
MOST_SINGLE = 50  # classes, from which on a class for every other row is probably a mistake
FEW = 5  # validation texts of a class; with fewer its metrics are unreliable


def linear_line(model: MeasuredModel, corpora: Corpora, seconds: float, out: Path) -> str:
    """The line about the linear model and its metrics."""
    history, texts = model.history, len(model.validation or ())
    epoch, minutes = history.best.epoch, f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    value, name = epoch.valid_accuracy, "accuracy "
    if epoch.valid_micro_f1 is not None:
        value, name = epoch.valid_micro_f1, "micro-F1 "
    if max(corpora.train_counts.values()) == 1:
        return f"{minutes} linear model: accuracy cannot be estimated from one row per class; saved in {out}"
    low, high = interval(round(epoch.valid_accuracy * texts), max(texts, 1))
    how = f"{history.folds}-fold cross-validation" if history.folds else numbered(texts, "validation text")
    single = epoch.valid_micro_f1 is None
    spread = f", 95 % interval {100 * low:.1f} to {100 * high:.1f}" if single else ""
    return f"{minutes} linear model: {name}{100 * value:.1f} % ({how}{spread}); saved in {out}"


def announce(corpora: Corpora, options: Options, tell: Tell) -> list[str]:
    """Print the size of the data and of the network, and warnings; return the warnings."""
    warnings = warnings_of(corpora, options)
    for warning in warnings:
        tell(f"note: {warning}")
    held_out = numbered(len(corpora.valid), "validation text") if len(corpora.valid) else "cross-validation"
    line = f"{numbered(len(corpora.train), 'training text')}, {held_out}, {len(corpora.labels):,} classes, "
    line += f"{corpora.vocab_size:,} words"
    if options.training.linear_only:
        tell(line)
        return warnings
    parameters = num_parameters(parameter_shapes(options.model, corpora.vocab_size, len(corpora.labels)))
    tell(f"{line}, a network of {parameters:,} parameters")
    window = options.training.window
    if long := int((corpora.train.lengths > window).sum()) if window else 0:
        texts = agreed("{texts} {have}", long, texts=numbered(long, "training text"))
        tell(
            f"{texts} more than --window {window:,} tokens: a training step of the network reads {window:,} tokens of "
            "such a text, from a random place"
        )
    return warnings


def warnings_of(corpora: Corpora, options: Options) -> list[str]:
    """Warnings about this data and these options."""
    lines, number = [], len(corpora.labels)
    only_focal = options.training.loss == "focal" and options.training.focal == PRINTED
    if only_focal and options.model.head == "capsule" and not options.model.multi_label:
        lines.append(
            "focal loss alone does not shorten the capsules of wrong classes, so the model stays near chance: "
            "try --loss margin+focal, or --focal softmax"
        )
    if single := [label for label, count in corpora.train_counts.items() if count == 1]:
        lines.append(f"{share(len(single), number)} only one training row ({some(single)}): add examples")
    if number > MOST_SINGLE and number > len(corpora.train) / 2:
        lines.append(
            f"{number:,} classes in {len(corpora.train):,} rows: if the columns of text and label are exchanged, name "
            "them with --text-column and --label-column"
        )
    if alike := labels_alike(corpora.labels):
        groups = some([" and ".join(map(repr, names)) for names in alike])
        lines.append(f"the labels {groups} differ only in spelling: if they are one class, give them one name")
    counts = [count for count in corpora.train_counts.values() if count]
    uneven = max(counts) >= UNEVEN * min(counts)
    if uneven and options.training.select != "macro-f1" and options.training.class_weight == NONE:
        lines.append(
            f"the largest class has {max(counts):,} rows and the smallest {min(counts):,}: if rare classes matter as "
            "much as frequent ones, add --select macro-f1, or --class-weight balanced as well"
        )
    if not len(corpora.valid):
        return lines
    if absent := [label for label, count in corpora.valid_counts.items() if not count]:
        lines.append(f"{share(len(absent), number)} no validation text ({some(absent)}): add examples or give --valid")
    if small := [f"{label}: {count}" for label, count in corpora.valid_counts.items() if 0 < count < FEW]:
        lines.append(
            f"{share(len(small), number)} fewer than {FEW} validation texts ({some(small)}), too few to "
            "validate: add examples, raise --valid-fraction or give --valid"
        )
    return lines


def share(part: int, classes: int) -> str:
    """The beginning of a message about some of the classes, such as "3 of 5 classes have"."""
    return agreed("{part} of {classes} classes {have}", part, part=part, classes=classes)


def no_time_left(limit: str) -> str:
    """The line that --time leaves no time for a network."""
    return f"{limit} is too short to train a network: the model is linear"


def announce_checkpoint(path: Path, resume: bool, tell: Tell) -> None:
    """Print whether the training starts from a checkpoint, and whether one is ignored."""
    if resume:
        tell(f"resuming from {path}" if path.exists() else "no checkpoint to resume from: starting from the beginning")
    elif path.exists():
        tell(f"note: {path} belongs to an unfinished training and is ignored; --resume would continue it")
