"""Models without a network, made of trained ones: the n-gram features are what is left."""

import dataclasses
from pathlib import Path

import numpy as np

from capsulet.model.shapes import BIAS, num_parameters
from capsulet.storage.card import model_card
from capsulet.storage.folder import write_folder
from capsulet.storage.model_file import model_file, read_model
from capsulet.storage.weights import unpack_weights


def without_network(model: Path, out: Path) -> Path:
    """A folder with the words, the n-gram features and the figures of a model, and with a bias."""
    stored = read_model(model)
    config = dataclasses.replace(stored.config, linear_only=True, calibration=None, histograms=None)
    config = dataclasses.replace(config, parameters=num_parameters(config.shapes))
    weights = {name: value for name, value in unpack_weights(stored).items() if name.startswith("ngrams.")}
    weights[BIAS] = np.linspace(0.3, -0.2, len(config.labels)).astype(np.float32)
    card = model_card(config)
    write_folder(out, model_file(weights, stored.words, config, card), card.encode(), b"")
    return out
