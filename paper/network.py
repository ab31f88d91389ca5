"""A model folder as the torch network that was trained, for what the runtime does not show: routing, codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet import storage
from capsulet.config import ModelOptions

if TYPE_CHECKING:
    from capsulet.model.network import Network


def load_network(folder: Path) -> tuple[Network, dict[str, Any]]:
    """The network with its weights, and the configuration of the model."""
    import torch
    from safetensors.numpy import load

    from capsulet.model.network import build_network

    config = storage.read_config(folder)
    options = ModelOptions(**config["options"]["model"])
    network = build_network(options, config["vocab_size"], len(config["labels"]))
    weights = load(storage.read_file(folder, storage.WEIGHTS, config))
    network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    return network, config
