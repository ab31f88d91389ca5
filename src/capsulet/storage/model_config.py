"""The configuration of a model, `config.json`: parsed and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capsulet.config import POOLINGS
from capsulet.errors import ModelError

FORMAT_VERSION = 1
# what the readers of a configuration rely on
KEYS = {
    "labels": list, "vocab_size": int, "parameters": int, "options": dict, "metrics": dict, "data": dict,
    "capsulet_version": str, "command": str, "recipe": str,
}  # fmt: skip
KIND_NAMES = {list: "a list", dict: "an object", int: "an integer", str: "a string"}


def check_config(config: Any, source: str) -> dict[str, Any]:
    """The same configuration, if it is one and not from the future."""
    version = config.get("format_version") if isinstance(config, dict) else None
    if type(version) is not int or version < 1:
        raise ModelError(f"{source} has no format_version, so it is not a capsulet model")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{source} has format {version}, this capsulet reads up to {FORMAT_VERSION}: pip install --upgrade capsulet"
        )
    for key, kind in KEYS.items():
        if type(config.get(key)) is not kind:
            raise ModelError(f"{source} is damaged: {key} is {config.get(key)!r:.40}, expected {KIND_NAMES[kind]}")
    labels = config["labels"]
    if len(labels) < 2 or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise ModelError(f"{source} is damaged: labels is {labels!r:.40}, expected two or more strings, all different")
    if pooling_of(config) not in POOLINGS:
        raise ModelError(
            f"{source} is damaged: pooling is {pooling_of(config)!r:.40}, expected one of {', '.join(POOLINGS)}"
        )
    if is_multi_label(config):
        thresholds = config.get("thresholds")
        if (
            not isinstance(thresholds, list)
            or len(thresholds) != len(labels)
            or not all(type(value) in (int, float) and 0 <= value <= 1 for value in thresholds)
        ):
            raise ModelError(
                f"{source} is damaged: thresholds is {thresholds!r:.40}, expected a number from 0 to 1 for each label"
            )
    if isinstance(model := config["options"].get("model"), dict):
        model.setdefault("pooling", pooling_of(config))
    return dict(config)


def pooling_of(config: Mapping[str, Any]) -> str:
    """How the model of a configuration makes one state of all; those from before there was a choice took the mean."""
    options = config["options"].get("model")
    return str(options.get("pooling", "mean")) if isinstance(options, dict) else "mean"


def is_multi_label(config: Mapping[str, Any]) -> bool:
    """Whether the model of a configuration gives a text several labels, or none."""
    options = config["options"].get("model")
    return isinstance(options, dict) and options.get("multi_label") is True
