"""Compare a grown model with the old one: what it has gained and forgotten."""

from __future__ import annotations

from dataclasses import replace

from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.results import Evaluation, Growth, GrowthRow, Training
from capsulet.runtime.classifier import load
from capsulet.storage.card import validation_count
from capsulet.text.labelled import Tell, labelled_pairs, named
from capsulet.text.preparation import LabelledFiles
from capsulet.text.strings import Labels
from capsulet.training.old_model import OldModel

DIFFERENT_TEXTS = "each model was measured on other texts that are new to it"


def with_comparison(training: Training, old: OldModel, sources: LabelledFiles, tell: Tell) -> Training:
    """Add a comparison with the old model to a training: on the validation files, else by the metrics of trainings."""
    labels = tuple(label for label in training.labels if label not in old.config.labels)
    if sources.valid:
        rows, note = on_files(training, old, sources, tell), f"both models on {named(sources.valid)}"
    elif training.growth is not None:
        return training
    else:
        rows, note = from_trainings(training, old), DIFFERENT_TEXTS
    before, after, count = rows[0].before, rows[0].after, rows[0].count  # on texts of old classes
    lost = None if before is None or after is None else before - after
    if lost is not None and after is not None and not sources.valid:
        # 95 % interval of the difference of two shares that were measured on different texts
        chance = 1.96 * (after * (1 - after) * (1 / validation_count(old.config) + 1 / count)) ** 0.5
        note += f"; a difference of up to {100 * chance:.1f} points may be chance"
    kept = training.growth.kept if training.growth else None
    growth = Growth(str(old.path), labels, tuple(row for row in rows if row.count), lost, note, kept)
    return replace(training, growth=growth)


def on_files(training: Training, old: OldModel, sources: LabelledFiles, tell: Tell) -> list[GrowthRow]:
    """Compare both models on validation files, by accuracy or micro-F1 (multi-label)."""
    pairs = list(labelled_pairs(sources.valid, sources.reading, tell, known=training.labels))
    old_labels, new = set(old.config.labels), load(training.path, old.classifier.session.threads)

    def has_old_labels(labels: Labels) -> bool:
        return old_labels.issuperset([labels] if isinstance(labels, str) else labels)

    known = [pair for pair in pairs if has_old_labels(pair[1])]
    others = [pair for pair in pairs if not has_old_labels(pair[1])]
    before, after, after_others = (
        share(evaluate_pairs(model, texts)) if texts else None
        for model, texts in ((old.classifier, known), (new, known), (new, others))
    )
    return [
        GrowthRow("texts of old classes", len(known), before, after),
        GrowthRow("texts with new classes", len(others), None, after_others),
    ]


def share(evaluation: Evaluation) -> float:
    """The metric of a comparison: accuracy; multi-label: micro-F1."""
    return evaluation.accuracy if evaluation.micro_f1 is None else evaluation.micro_f1


def from_trainings(training: Training, old: OldModel) -> list[GrowthRow]:
    """Compare both models by the accuracy that their trainings measured on texts that they were not trained on."""
    config, labels = old.config, set(old.config.labels)
    old_accuracy = config.metrics.valid_accuracy if config.metrics.folds or config.data.valid_rows else None
    rows = []
    for texts, before, classes in (
        ("texts of old classes", old_accuracy, [scores for scores in training.classes if scores.label in labels]),
        ("texts of new classes", None, [scores for scores in training.classes if scores.label not in labels]),
    ):
        count = sum(scores.count for scores in classes)
        right = sum(scores.recall * scores.count for scores in classes)
        rows.append(GrowthRow(texts, count, None if config.multi_label else before, right / count if count else None))
    return rows
