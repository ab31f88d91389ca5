"""Load a model folder as a torch network, to inspect routing and codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.choices import NO_NETWORK
from capsulet.errors import InputError
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import read_model

if TYPE_CHECKING:
    from capsulet.model.network import Network


def network_of(folder: Path) -> tuple[Network, ModelConfig]:
    """Return the network with its weights, and the configuration of the model."""
    from capsulet.model.network import load_network
    from capsulet.storage.weights import unpack_weights

    model = read_model(folder)
    if model.config.linear_only:
        raise InputError(f"{folder} has {NO_NETWORK}: name a model with a network")
    config, weights = model.config, {name: value.copy() for name, value in unpack_weights(model).items()}
    return load_network(config.options.model, config.vocab_size, len(config.labels), weights), config
