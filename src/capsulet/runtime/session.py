"""A model, folder or file, to a tokenizer, a configuration and a running graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from capsulet import storage
from capsulet.errors import ModelError

INPUTS = {"ids", "token_counts"}


class Session(NamedTuple):
    """All that prediction needs."""

    graph: onnxruntime.InferenceSession
    tokenizer: Tokenizer
    config: dict[str, Any]

    def run(
        self, outputs: Sequence[str], ids: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> list[NDArray[np.float32]]:
        """The outputs of these names for ids (B, T) and token counts (B,); what they do not need is not computed."""
        settings = onnxruntime.RunOptions()
        settings.only_execute_path_to_fetches = True
        found: list[NDArray[np.float32]] = self.graph.run(list(outputs), {"ids": ids, "token_counts": counts}, settings)
        return found


def open_session(path: Path, threads: int = 0) -> Session:
    """Load a model folder, or a file that carries tokenizer and configuration in its metadata."""
    if path.is_dir():
        config = storage.read_config(path)
        tokenizer = storage.read_file(path, storage.TOKENIZER, config).decode()
        graph = start(storage.read_file(path, storage.GRAPH, config), path / storage.GRAPH, threads)
        return Session(graph, parse_tokenizer(tokenizer, path / storage.TOKENIZER), config)
    if not path.exists():
        raise ModelError(
            f"{path} does not exist: expected a model folder or .onnx file; `capsulet train … --out {path}` makes one"
        )
    graph = start(path.read_bytes(), path, threads)
    metadata = graph.get_modelmeta().custom_metadata_map
    if "capsulet.config" not in metadata or "capsulet.tokenizer" not in metadata:
        raise ModelError(
            f"{path} has no tokenizer and labels inside: load its folder, or a file that `capsulet export` wrote"
        )
    config = storage.check_config(json.loads(metadata["capsulet.config"]), str(path))
    return Session(graph, parse_tokenizer(metadata["capsulet.tokenizer"], path), config)


def start(data: bytes, source: Path, threads: int) -> onnxruntime.InferenceSession:
    """A graph that is ready to run, if it is one of ours."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.log_severity_level = 3
    try:
        graph = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises its own unrelated classes
        reason = str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
        raise ModelError(f"{source} is not a model that ONNX Runtime can read ({reason})") from None
    if {node.name for node in graph.get_inputs()} != INPUTS:
        found = ", ".join(sorted(node.name for node in graph.get_inputs()))
        raise ModelError(f"{source} is an ONNX model, but not a capsulet one: its inputs are {found}")
    return graph


def parse_tokenizer(text: str, source: Path) -> Tokenizer:
    """The tokenizer of this JSON."""
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exception
        raise ModelError(f"{source} holds no tokenizer that can be read ({error})") from None
