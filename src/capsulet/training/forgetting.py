"""Compare a grown model with the old one: what it has gained and forgotten."""

from __future__ import annotations

from dataclasses import replace

from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.results import Evaluation, Growth, GrowthRow, Training
from capsulet.runtime.classifier import load
from capsulet.storage.card import validation_count
from capsulet.text.labelled import Tell, labelled_pairs, named
from capsulet.text.preparation import LabelledFiles
from capsulet.training.growth import OldModel

TRAININGS = "each model was measured on other texts that are new to it"


def measured(training: Training, old: OldModel, sources: LabelledFiles, tell: Tell) -> Training:
    """Add a comparison with the old model to a training: on the validation files, if there are any."""
    labels = tuple(label for label in training.labels if label not in old.config.labels)
    if sources.valid:
        rows, note = on_files(training, old, sources, tell), f"both models on {named(sources.valid)}"
    elif training.growth is not None:
        return training
    else:
        rows, note = from_trainings(training, old), TRAININGS
    first = rows[0]
    lost = None if first.before is None or first.after is None else first.before - first.after
    if lost is not None and first.after is not None and not sources.valid:
        texts = 1 / validation_count(old.config) + 1 / first.count
        chance = 1.96 * (first.after * (1 - first.after) * texts) ** 0.5
        note += f"; a difference of up to {100 * chance:.1f} points may be chance"
    kept = training.growth.kept if training.growth else None
    growth = Growth(str(old.path), labels, tuple(one for one in rows if one.count), lost, note, kept)
    return replace(training, growth=growth)


def on_files(training: Training, old: OldModel, sources: LabelledFiles, tell: Tell) -> list[GrowthRow]:
    """Compare both models on validation files, by accuracy or micro-F1 (multi-label)."""
    pairs = list(labelled_pairs(sources.valid, sources.reading, tell, known=training.labels))
    old_labels, new = set(old.config.labels), load(training.path, old.classifier.session.threads)
    known = [pair for pair in pairs if old_labels.issuperset([pair[1]] if isinstance(pair[1], str) else pair[1])]
    others = [pair for pair in pairs if pair not in known]
    found = []
    for texts, own in (("texts of old classes", known), ("texts with new classes", others)):
        before, after = evaluate_pairs(old.classifier, own if own is known else []), evaluate_pairs(new, own)
        found.append(GrowthRow(texts, len(own), share(before) if before.count else None, share(after) if own else None))
    return found


def share(evaluation: Evaluation) -> float:
    """The metric of a comparison: accuracy; multi-label: micro-F1."""
    return evaluation.accuracy if evaluation.micro_f1 is None else evaluation.micro_f1


def from_trainings(training: Training, old: OldModel) -> list[GrowthRow]:
    """Compare both models by the accuracy that their trainings measured on texts that they were not trained on."""
    config, labels = old.config, set(old.config.labels)
    was = config.metrics.valid_accuracy if config.metrics.folds or config.data.valid_rows else None
    found = []
    for texts, before, chosen in (
        ("texts of old classes", was, [one for one in training.classes if one.label in labels]),
        ("texts of new classes", None, [one for one in training.classes if one.label not in labels]),
    ):
        count = sum(one.count for one in chosen)
        right = sum(one.recall * one.count for one in chosen)
        found.append(GrowthRow(texts, count, None if config.multi_label else before, right / count if count else None))
    return found
