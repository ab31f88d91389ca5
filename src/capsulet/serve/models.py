"""The models of a server: load them into memory, find them by name, and load new ones at the same path.

A model is read into memory, not mapped: a file that is overwritten in place must not change a model in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.runtime.classifier import REASONS, Classifier
from capsulet.runtime.session import Session, session_of
from capsulet.serve.messages import RefusalError
from capsulet.storage.model_file import MODEL, read_model

State = tuple[int, int, int]  # of a file: inode, size and time of the last change


class Answers:
    """Answers of a model to n texts: lengths and probabilities (n, C), and reasons to abstain (n,)."""

    __slots__ = ("lengths", "probabilities", "reasons")

    def __init__(
        self, lengths: Sequence[list[float]], probabilities: Sequence[list[float]], reasons: Sequence[int]
    ) -> None:
        self.lengths, self.probabilities, self.reasons = lengths, probabilities, reasons

    def part(self, start: int, end: int) -> Answers:
        """The answers for some of the texts."""
        return Answers(self.lengths[start:end], self.probabilities[start:end], self.reasons[start:end])


class Model:
    """A model of the server. A new file at its path makes a new object."""

    def __init__(self, name: str, path: Path, data: bytes, state: State) -> None:
        self.name, self.path, self.data, self.state = name, path, data, state
        self.session: Session = session_of(data, threads=1, source=str(path))
        self.classifier = Classifier(self.session, str(path))
        self.labels, self.multi_label = self.session.labels, self.session.multi_label
        self.thresholds = self.classifier.thresholds
        self.rules: Any = None  # of abstention, found at the first use
        self.answers(["a"])  # a model that cannot answer is refused here

    def answers(self, texts: Sequence[str], abstain: bool = False) -> Answers:
        """Class lengths, probabilities and reasons to abstain for some texts."""
        lengths, unknown = self.session.classify(texts)
        probabilities = self.session.probabilities(lengths)
        reasons: Sequence[int] = self.session.reasons(self.rules, lengths, unknown) if abstain else bytes(len(texts))
        return Answers(lengths.tolist(), probabilities.tolist(), reasons)

    def check_abstention(self) -> None:
        """Find the rules of abstention; a model without them refuses the request."""
        if self.rules is None:
            try:
                self.rules = self.classifier.abstention_rules(abstain=True)
            except InputError:
                problem = "is multi-label" if self.multi_label else "has no calibration"
                raise RefusalError(422, f"abstain is true, but {self.name} {problem}: leave it out") from None

    def reason(self, number: int) -> str:
        """Why the model abstains; empty if it does not."""
        return REASONS[number]

    def given(self, lengths: Sequence[float]) -> list[int]:
        """Multi-label: indices of the labels that reach their thresholds, largest class length first."""
        from capsulet.evaluation.labels import given_labels

        return sorted(given_labels(lengths, self.thresholds), key=lengths.__getitem__, reverse=True)

    @property
    def report(self) -> Path:
        """Where `train` writes the report of the model: beside it."""
        place = self.path.resolve()
        return place.with_name(place.name + ".report.html")

    def info(self) -> dict[str, Any]:
        """Name, labels, size and metrics."""
        metrics = self.classifier.config.metrics
        figures = {
            "accuracy": metrics.valid_accuracy, "macro_f1": metrics.valid_macro_f1, "micro_f1": metrics.valid_micro_f1
        }  # fmt: skip
        return {
            "name": self.name, "labels": list(self.labels), "multi_label": self.multi_label,
            "calibrated": self.session.calibrated, "bytes": len(self.data), "report": self.report.is_file(),
            "metrics": {name: value for name, value in figures.items() if value is not None},
        }  # fmt: skip


def load_model(name: str, path: Path) -> Model:
    """Read a model folder or file into memory; ModelError if it is missing or damaged."""
    file = model_file(path)
    try:
        state = state_of(file)
        data = file.read_bytes()
    except OSError:
        read_model(path)  # its error says what is wrong
        raise
    try:
        return Model(name, path, data, state)
    except ModelError:
        read_model(path)  # describes the damage in more detail
        raise


def model_file(path: Path) -> Path:
    """The model file of a folder, or the file itself."""
    return path / MODEL if path.is_dir() else path


def state_of(file: Path) -> State:
    """The state of a file, which changes when the file is replaced or written."""
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def named_paths(words: Sequence[str]) -> dict[str, Path]:
    """Paths by name, from `NAME=PATH` or `PATH`; without a name, a model has the name of its folder or file."""
    found: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or "/" in name:
            path, name = word, Path(word).resolve().name.removesuffix(".safetensors")
        if not name.isprintable() or not name or "/" in name:
            raise InputError(f"{name!r} cannot name a model: write NAME=PATH with a name without /")
        if name in found:
            raise InputError(f"two models are named {name!r}: give one another name, NAME=PATH")
        found[name] = Path(path)
    return found


class Models:
    """The models by name; the first is the default."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.by_name = {model.name: model for model in models}
        self.default = models[0]
        self.refused: dict[str, State | None] = {}  # states of broken files, which are not read again

    def __iter__(self) -> Iterator[Model]:
        return iter(self.by_name.values())

    def find(self, name: str | None) -> Model:
        """The model of a request; without a name, the default."""
        if name is None:
            return self.default
        model = self.by_name.get(name)
        if model is None:
            raise RefusalError(404, f"no model has this name: expected one of {', '.join(self.by_name)}")
        return model

    def changed(self) -> list[Model]:
        """The models whose file has changed since it was loaded and was not refused in its present state."""
        found = []
        for model in self:
            try:
                state: State | None = state_of(model_file(model.path))
            except OSError:
                continue  # the folder is just being replaced, or was removed: the loaded model stays
            if state not in (model.state, self.refused.get(model.name)):
                found.append(model)
        return found

    def renewed(self, old: Model) -> Model:
        """Load the file at the path of a model; CapsuletError if it is broken."""
        file = model_file(old.path)
        try:
            state = state_of(file)
        except OSError as error:
            raise CapsuletError(f"{file}: {error.strerror}") from None
        try:
            return load_model(old.name, old.path)
        except (CapsuletError, OSError) as error:
            self.refused[old.name] = state
            raise CapsuletError(str(error)) from None

    def replace(self, model: Model) -> None:
        """Answer later requests with this model."""
        self.refused.pop(model.name, None)
        self.by_name[model.name] = model
        if self.default.name == model.name:
            self.default = model
