"""Load a model folder as a torch network, to inspect routing and codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.storage.folder import WEIGHTS, read_config, read_file
from capsulet.storage.model_config import ModelConfig

if TYPE_CHECKING:
    from capsulet.model.network import Network


def network_of(folder: Path) -> tuple[Network, ModelConfig]:
    """Return the network with its weights, and the configuration of the model."""
    from safetensors.numpy import load

    from capsulet.model.network import load_network

    config = read_config(folder)
    weights = {name: value.copy() for name, value in load(read_file(folder, WEIGHTS, config)).items()}
    return load_network(config.options.model, config.vocab_size, len(config.labels), weights), config
