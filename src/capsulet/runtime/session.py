"""Load a model folder, or a file with tokenizer and configuration in its metadata, and run its graph."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from capsulet.errors import InputError, ModelError
from capsulet.evaluation.abstention import Rules
from capsulet.model import outputs
from capsulet.runtime import stand_in
from capsulet.runtime.engine import onnxruntime
from capsulet.runtime.matrix import Matrix
from capsulet.storage.file import CONFIG_KEY, TOKENIZER_KEY, check_seal
from capsulet.storage.folder import GRAPH, TOKENIZER, read_config, read_file
from capsulet.storage.model_config import ModelConfig, parse_config
from capsulet.text.packed_dictionary import add_words, unpack_words
from capsulet.text.tokens import encode, encodings
from capsulet.text.vocabulary import UNKNOWN, SimilarWords, WordIds

INPUTS = {outputs.IDS, outputs.TOKEN_COUNTS}
REQUIRED_OUTPUTS = {outputs.LENGTHS, outputs.NORMS, outputs.CONTRIBUTIONS}

Part = TypeVar("Part")


class Session(NamedTuple):
    """A loaded model: graph, tokenizer and configuration."""

    graph: onnxruntime.InferenceSession
    tokenizer: Tokenizer
    config: ModelConfig
    workers: int = 1
    similar_words: SimilarWords | None = None  # for a model that reads unknown words as known ones

    @property
    def word_ids(self) -> WordIds:
        """Ids of the model's words; the id of the unknown word is 0 in compressed models."""
        return WordIds(self.config.vocab_size, self.tokenizer.token_to_id(UNKNOWN) or 0)

    def encode(self, texts: Sequence[str]) -> list[array[int]]:
        """Ids of each text; a text without tokens is read as one unknown word."""
        return [array("i", ids.tolist()) for ids in encode(self.tokenizer, texts, self.similar_words)]

    def tokens(self, text: str) -> list[tuple[int, int, int]]:
        """Id, start and end of each token, in characters; a text without tokens has one unknown word at 0 to 0."""
        (encoding,), (ids,) = encodings(self.tokenizer, [text]), self.encode([text])
        return [(number, *span) for number, span in zip(ids, encoding.offsets or [(0, 0)], strict=True)]

    def word(self, number: int) -> str:
        """Word of an id."""
        return str(self.tokenizer.id_to_token(number))

    @property
    def code_shape(self) -> tuple[int, int]:
        """Codebooks, and codewords of each; (0, 0) if the words have no codes."""
        for node in self.graph.get_outputs():
            if node.name == outputs.CODES:
                return int(node.shape[-2]), int(node.shape[-1])
        return 0, 0

    @property
    def codebooks(self) -> int:
        """Number of codebooks; 0 if the words have no codes."""
        return self.code_shape[0]

    @property
    def codes(self) -> int:
        """Number of codewords of all codebooks; 0 if the words have no codes."""
        codebooks, codewords = self.code_shape
        return codebooks * codewords

    def usage(self, encoded: Sequence[array[int]]) -> Matrix:
        """Mean weight of each codeword over the known words of each text (n, codes); NaN where no word is known."""
        found = np.full((len(encoded), self.codes), np.nan)
        for row, text in zip(found, encoded, strict=True):
            ids = np.asarray(text)
            known = ids[~self.word_ids.is_unknown(ids)].astype(np.int64)
            if len(known):
                (codes,) = self.run([outputs.CODES], known[None], np.array([len(known)]))
                row[:] = codes[0].reshape(len(known), -1).astype(np.float64).mean(0)
        return Matrix(found, self.codes, "d")

    def confidence(self, lengths: Matrix, unknown: Sequence[float]) -> array[float]:
        """Similarity of each text to any of the classes."""
        return array("d", stand_in.confidence(np.asarray(lengths), np.asarray(unknown)).tolist())

    def certainty(self, lengths: Matrix, unknown: Sequence[float]) -> array[float]:
        """Similarity of each text to exactly one class."""
        return array("d", stand_in.certainty(np.asarray(lengths), np.asarray(unknown)).tolist())

    def rules(self, abstain: bool, coverage: float | None, max_error: float | None, sets: float | None) -> Rules:
        """Return the thresholds for these requests; InputError if the validation texts are too few for them."""
        return stand_in.rules_from(self.config.calibration, "the model", abstain, coverage, max_error, sets)

    def read_as(self, ids: NDArray[Any]) -> list[str | None]:
        """The known word that each unknown word (T,) is read as; None for every other word."""
        pairs = zip(self.word_ids.read_as(ids).tolist(), self.word_ids.is_similar(ids), strict=True)
        return [self.tokenizer.id_to_token(known) if similar else None for known, similar in pairs]

    def run(self, names: Sequence[str], ids: NDArray[np.int64], counts: NDArray[np.int64]) -> list[NDArray[np.float32]]:
        """Outputs of the graph for ids (B, T) and token counts (B,); only what they need is computed."""
        settings = onnxruntime.RunOptions()
        settings.only_execute_path_to_fetches = True
        if self.similar_words:
            ids = self.word_ids.read_as(ids)
        return list(self.graph.run(list(names), {outputs.IDS: ids, outputs.TOKEN_COUNTS: counts}, settings))

    def has(self, output: str) -> bool:
        """Whether the graph has an output of this name."""
        return any(node.name == output for node in self.graph.get_outputs())

    def for_each(self, parts: Sequence[Part], work: Callable[[Part], None]) -> None:
        """Call `work`, which spends its time in `run`, for every part, in as many threads as there are workers.

        Threads with one batch each are faster than threads that share the small products of a recurrent layer
        (benchmarks/runtime.py), so the graph itself runs on one thread.
        """
        threads = min(self.workers, len(parts))
        if threads < 2:
            for part in parts:
                work(part)
            return
        pool = ThreadPoolExecutor(threads)
        try:
            list(pool.map(work, parts))
        finally:
            while True:  # finish running work after Ctrl-C: exiting while a graph runs would crash
                try:
                    pool.shutdown(cancel_futures=True)
                    break
                except KeyboardInterrupt:
                    pass


def open_session(path: Path, threads: int | None = None) -> Session:
    """Load a model folder or file. `threads` is the number of batches that run in parallel; None: one per core."""
    if path.is_dir():
        config = read_config(path)
        tokenizer = parse_tokenizer(read_file(path, TOKENIZER, config), path / TOKENIZER)
        return joined(start(read_file(path, GRAPH, config), path / GRAPH), tokenizer, config, threads, path)
    if not path.exists():
        raise ModelError(
            f"{path} does not exist: expected a model folder or .onnx file; `capsulet train … --out {path}` makes one"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror or error}): check its permissions") from None
    check_seal(data, path)
    graph = start(data, path)
    try:
        metadata = graph.get_modelmeta().custom_metadata_map
    except UnicodeDecodeError:
        raise ModelError(f"{path} is damaged: its metadata are not UTF-8; export or compress it again") from None
    if CONFIG_KEY not in metadata or TOKENIZER_KEY not in metadata:
        raise ModelError(
            f"{path} is a graph without tokenizer and labels: load its folder, or a file that `capsulet export` or "
            "`capsulet compress` wrote"
        )
    try:
        config = parse_config(json.loads(metadata[CONFIG_KEY]), str(path))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: its configuration is not JSON ({error}); export it again") from None
    return joined(graph, parse_tokenizer(metadata[TOKENIZER_KEY].encode(), path), config, threads, path)


def session_of(graph: bytes, tokenizer: bytes, config: ModelConfig, threads: int | None = None) -> Session:
    """Load a model that is not on a disk yet."""
    source = Path("the new model")
    return joined(start(graph, source), parse_tokenizer(tokenizer, source), config, threads, source)


def joined(
    graph: onnxruntime.InferenceSession, tokenizer: Tokenizer, config: ModelConfig, threads: int | None, source: Path
) -> Session:
    """Join the parts of a model; ModelError if graph, tokenizer and labels do not belong together."""
    similar_words = SimilarWords(tokenizer.get_vocab) if config.reads_similar_words else None
    session = Session(graph, tokenizer, config, count_workers(threads), similar_words)
    if config.dictionary_words is not None:  # the words of a compressed model are an output of its graph
        try:
            (data,) = session.run([outputs.DICTIONARY], np.zeros((1, 1), np.int64), np.ones(1, np.int64))
            add_words(tokenizer, unpack_words(data.tobytes(), config.dictionary_words))
        except Exception as error:  # ONNX Runtime raises its own unrelated classes
            raise ModelError(f"{source} is damaged: {first_line(error):.120}; compress the model again") from None
    (classes,) = (node.shape[-1] for node in graph.get_outputs() if node.name == outputs.LENGTHS)
    words = tokenizer.get_vocab_size()
    if (words, classes) != (config.vocab_size, len(config.labels)):
        raise ModelError(
            f"{source} is damaged: tokenizer of {words} words and graph of {classes} classes, expected "
            f"{config.vocab_size} and {len(config.labels)}; its parts come from different models: copy the "
            "whole model again"
        )
    return session


def count_workers(threads: int | None) -> int:
    """Return `threads`, or the number of cores that this process may use."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"--threads is {threads!r}: expected at least 1, or auto for one per core")
    return threads


def start(data: bytes, source: Path) -> onnxruntime.InferenceSession:
    """Load a graph; ModelError unless it is a capsulet model."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    settings.log_severity_level = 3
    try:
        graph = onnxruntime.InferenceSession(data, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises its own unrelated classes
        # the message starts with "[ONNXRuntimeError]", a number and a name
        reason = first_line(error).rpartition(" : ")[2].rstrip(".")
        raise ModelError(
            f"{source} is not a model, or it is damaged ({reason:.120}): name a folder that `capsulet train` wrote, or "
            "a file that `capsulet export` or `capsulet compress` wrote"
        ) from None
    takes, gives = ([node.name for node in nodes] for nodes in (graph.get_inputs(), graph.get_outputs()))
    if set(takes) != INPUTS or not set(gives) >= REQUIRED_OUTPUTS:
        names = f"inputs {', '.join(takes) or 'none'}; outputs {', '.join(gives)}"
        raise ModelError(
            f"{source} is an ONNX model, but not a capsulet one ({names:.200}): name a model that capsulet wrote"
        )
    return graph


def parse_tokenizer(data: bytes, source: Path) -> Tokenizer:
    """Parse a tokenizer; ModelError if that fails."""
    try:
        return Tokenizer.from_str(data.decode())
    except Exception as error:  # the library raises bare Exception
        raise ModelError(
            f"{source} is damaged: its tokenizer cannot be read ({error}); restore it from a copy or train again"
        ) from None


def first_line(error: Exception) -> str:
    """First line of the message of an error, or the name of its class."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
