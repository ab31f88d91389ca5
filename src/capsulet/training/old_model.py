"""The model that grows: opening it, options that a new training takes from it, its file with other weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capsulet.automatic import LINEAR_TOKENS, NETWORK_TOKENS
from capsulet.config import build_options, explicit_values
from capsulet.errors import InputError
from capsulet.runtime.classifier import Classifier, load
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import ModelFile, pack_model, read_model
from capsulet.storage.tensors import from_array


@dataclass(frozen=True)
class OldModel:
    """The model that grows."""

    path: Path
    file: ModelFile
    classifier: Classifier

    @property
    def config(self) -> ModelConfig:
        """Its configuration."""
        return self.file.config


def open_old(path: str | Path, out: Path, threads: int | None) -> OldModel:
    """Open the model that grows; InputError if it cannot grow, or if `out` would replace it."""
    path = Path(path)
    file, classifier = read_model(path), load(path, threads)
    if path.resolve() == out.resolve():
        raise InputError(f"{path} is the model that grows, and it is kept: choose another --out")
    if file.config.dictionary_words is not None:
        raise InputError(f"{path} is a compressed model, which cannot grow: name the model that it was made from")
    return OldModel(path, file, classifier)


def inherited(config: ModelConfig) -> dict[str, Any]:
    """Options of the old model for a training on all rows: those that were set and are not automatic by default."""
    usual = dataclasses.asdict(build_options(config.recipe))
    automatic = {name for group in usual.values() for name, value in group.items() if value is None}
    values = explicit_values(config.options, config.recipe)
    if config.options.text.max_tokens not in (NETWORK_TOKENS, LINEAR_TOKENS):
        automatic.discard("max_tokens")  # it was set: no other number is automatic
    if config.options.training.class_weight not in ("none", "balanced"):
        values.pop("class_weight", None)  # a file, which may be gone
    return {name: value for name, value in values.items() if name not in automatic and name != "device"}


def in_memory(old: OldModel, config: ModelConfig, weights: Mapping[str, Any]) -> Classifier:
    """Load a model with these weights and the words of the old model, without writing it."""
    return Classifier(session_of(file_of(old, config, weights), old.classifier.session.threads), "the new model")


def file_of(old: OldModel, config: ModelConfig, weights: Mapping[str, Any]) -> bytes:
    """The bytes of a model file with these weights and the words of the old model."""
    tensors = {**old.file.tensors, **{name: from_array(value) for name, value in weights.items()}}
    return pack_model(tensors, config, model_card(config))
