"""Files that somebody made to do harm: refused, or answered without NaN, in little time."""

import json
import math
import random
import struct
import time
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from capsulet.errors import InputError
from capsulet.evaluation.rankings import Ranking
from capsulet.native import _core
from tests.core.random_models import (
    VARIANTS,
    Random,
    Tensor,
    all_tensors,
    configuration,
    from_bytes,
    model_file,
    pack_file,
)
from tests.core.thresholds import threshold_for_error

FLOAT32, INT8 = 1, 2
TEXT = "fabulous a quality fabulously 7 é playing"
ODD_FLOATS = [math.nan, math.inf, -math.inf, struct.unpack("<f", b"\x01\x00\xc0\x7f")[0], 3e38, -3e38, 1e-42]


def with_config(model: Random, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file of a model with a changed configuration."""
    config = configuration(model)
    change(config)
    return pack_file({**all_tensors(model), "config": from_bytes(json.dumps(config).encode())})


def answers(data: bytes, precision: int) -> list[np.ndarray] | None:
    """Everything that a model answers, or None if it is refused."""
    try:
        core = _core.Model(data, precision)
        lengths, unknown = core.classify([TEXT, "a"], False)
        parts = core.explain(TEXT, array("i", [0, 1]).tobytes(), False)
    except ValueError:
        return None
    found = [np.frombuffer(lengths, np.float32), np.frombuffer(core.probabilities(lengths), np.float64)]
    found += [np.frombuffer(core.confidence(lengths, unknown), np.float64)]
    return found + [np.frombuffer(part, np.float32) for part in parts.values()]


@pytest.mark.parametrize("precision", [FLOAT32, INT8])
@pytest.mark.parametrize("name", ["cwc", "cc", "plain", "linear", "multi", "two-layers", "linear-only"])
def test_floats_that_are_not_finite(name: str, precision: int) -> None:
    tensors = all_tensors(VARIANTS[name])
    for key, tensor in tensors.items():
        if tensor.dtype != "F32":
            continue
        for odd in ODD_FLOATS:
            for everywhere in (False, True):
                values = array("f", tensor.data)
                for place in range(len(values)) if everywhere else (len(values) // 2,):
                    values[place] = odd
                found = answers(pack_file({**tensors, key: Tensor("F32", tensor.shape, values.tobytes())}), precision)
                rows = key in ("embedding.codes", "embedding.table")  # one number may belong to a word that no text has
                assert math.isfinite(odd) or (rows and not everywhere) or found is None, (key, odd)
                assert found is None or all(np.isfinite(part).all() for part in found), (key, odd)


@pytest.mark.parametrize("bits", [2, 5, 8])
def test_scales_that_are_not_finite(bits: int) -> None:
    tensors = all_tensors(VARIANTS[f"bits-{bits}"])
    for key, tensor in tensors.items():
        if tensor.dtype == "F16":
            for scale in (0x7C00, 0xFC00, 0x7E00):
                data = struct.pack("<H", scale) + tensor.data[2:]
                with pytest.raises(ValueError, match="scale"):
                    _core.Model(pack_file({**tensors, key: tensor._replace(data=data)}), INT8)


@pytest.mark.parametrize("name", VARIANTS)
def test_cut_off_files(name: str) -> None:
    data = model_file(VARIANTS[name])
    for size in [*range(0, 80), *range(80, len(data), 97), len(data) - 1]:
        with pytest.raises(ValueError):
            _core.Model(data[:size], INT8)


@pytest.mark.parametrize("name", VARIANTS)
def test_sizes_that_do_not_match(name: str) -> None:
    """No option may be larger or smaller than the tensors are, and no tensor may be missing or of another size."""
    model = VARIANTS[name]
    sizes = ["embedding_size", "hidden_size", "num_layers"] + ["class_length"] * (model.head == "capsule")
    sizes += ["num_codebooks", "num_codewords"] * (model.embedding != "plain" and not model.bits)
    for key in [] if model.linear_only else sizes:
        for value in (0, -1, 1 << 20, 1 << 40, 1.5, model.options()[key] + 1, "8", None):
            changed = with_config(
                model, lambda config, key=key, value=value: config["options"]["model"].update({key: value})
            )  # type: ignore[misc]
            with pytest.raises(ValueError):
                _core.Model(changed, INT8)
    for value in (model.vocabulary + 1, model.vocabulary - 1, 0, -1, 1 << 31, 1 << 62):
        with pytest.raises(ValueError):
            _core.Model(with_config(model, lambda config, value=value: config.update(vocab_size=value)), INT8)  # type: ignore[misc]
    tensors = all_tensors(model)
    for key, tensor in tensors.items():
        if key in ("card", "words.slots") or (key == "ngrams.levels" and not model.linear_only):
            continue
        if key == "embedding.pieces":
            continue
        with pytest.raises(ValueError):
            _core.Model(pack_file({name: own for name, own in tensors.items() if name != key}), INT8)
        width = len(tensor.data) // tensor.shape[0]
        shorter = Tensor(tensor.dtype, (tensor.shape[0] - 1, *tensor.shape[1:]), tensor.data[:-width])
        if key not in ("config", "words.letters"):
            with pytest.raises(ValueError):
                _core.Model(pack_file({**tensors, key: shorter}), INT8)


@pytest.mark.parametrize("name", ["linear-only", "linear-only-multi", "linear-only-bits"])
def test_models_without_a_network_need_no_options_of_it(name: str) -> None:
    """What a training was asked for is no part of the model."""
    model, network = VARIANTS[name], ("hidden_size", "embedding_size", "num_layers", "head", "routing", "iterations")
    other = with_config(model, lambda config: config["options"]["model"].update(dict.fromkeys(network, "?")))
    none = with_config(model, lambda config: [config["options"]["model"].pop(key) for key in network])
    for precision in (FLOAT32, INT8):
        expected = _core.Model(model_file(model), precision).classify([TEXT], False)
        assert expected == _core.Model(other, precision).classify([TEXT], False)
        assert expected == _core.Model(none, precision).classify([TEXT], False)


@pytest.mark.parametrize("value", ["true", "false", 1, 0, None, [], {}])
def test_linear_only_is_a_boolean(value: object) -> None:
    for name in ("linear-only", "linear"):
        with pytest.raises(ValueError, match="options"):
            _core.Model(with_config(VARIANTS[name], lambda config: config.update(linear_only=value)), INT8)


def test_models_with_neither_network_nor_features() -> None:
    data = with_config(VARIANTS["cwc"], lambda config: config.update(linear_only=True))
    with pytest.raises(ValueError, match="neither a network nor n-gram features"):
        _core.Model(data, INT8)
    with pytest.raises(ValueError, match="missing"):  # without the tensors of a network it must say so
        _core.Model(with_config(VARIANTS["linear-only"], lambda config: config.update(linear_only=False)), INT8)


@pytest.mark.parametrize("name", ["linear", "linear-only"])
@pytest.mark.parametrize(
    ("dtype", "count", "value"),
    [("F32", 3, math.nan), ("F32", 3, math.inf), ("F32", 2, 0.0), ("F32", 4, 0.0), ("F32", 0, 0.0), ("U32", 3, 0.0)],
)
def test_biases_that_are_refused(name: str, dtype: str, count: int, value: float) -> None:
    bias = Tensor(
        dtype, (count,), array("f", [0.0, 0.0, 0.0, 0.0][: max(count - 1, 0)] + [value] * (count > 0)).tobytes()
    )
    with pytest.raises(ValueError, match="n-gram features"):
        _core.Model(pack_file({**all_tensors(VARIANTS[name]), "ngrams.bias": bias}), INT8)


@pytest.mark.parametrize("precision", [FLOAT32, INT8])
@pytest.mark.parametrize("half", [0x7C00, 0xFC00, 0x7E00, 0x7BFF])
def test_codes_of_pieces_that_are_not_finite(half: int, precision: int) -> None:
    """Rows are checked when they are read."""
    for name in ("pieces", "pieces-cc", "pieces-plain"):
        tensors = all_tensors(VARIANTS[name])
        pieces = tensors["embedding.pieces"]
        data = struct.pack("<H", half) * (len(pieces.data) // 2)
        core = _core.Model(pack_file({**tensors, "embedding.pieces": pieces._replace(data=data)}), precision)
        if half == 0x7BFF:
            assert np.isfinite(np.frombuffer(core.classify(["qzxvw"], False)[0], np.float32)).all()
            continue
        assert core.classify(["a"], False)
        with pytest.raises(ValueError):
            core.classify(["qzxvw"], False)


@pytest.mark.parametrize("iterations", [0, 101, -1, 1 << 33])
def test_iterations(iterations: int) -> None:
    with pytest.raises(ValueError):
        _core.Model(model_file(Random(iterations=iterations)), INT8)


def test_words_out_of_place() -> None:
    """Places of words are checked at each use: a wrong one is an unknown word."""
    tensors = all_tensors(VARIANTS["cwc"])
    dice = random.Random(1)
    for key in ("words.ends", "words.slots", "words.order"):
        for value in (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(tensors["words.letters"].data), 14):
            values = array("I", tensors[key].data)
            for place in range(len(values)):
                if dice.random() < 0.7:
                    values[place] = value
            core = _core.Model(pack_file({**tensors, key: tensors[key]._replace(data=values.tobytes())}), INT8)
            ids = array("i", core.encode([TEXT, "fabulousnes", "qualityx"], False)[0])
            assert all(1 <= number < 2 * 15 for number in ids)
            assert np.isfinite(np.frombuffer(core.classify([TEXT], False)[0], np.float32)).all()
            assert all(isinstance(core.word(number), str) for number in range(15))


# ---- calibration ----


@pytest.mark.parametrize(
    "change",
    [
        {"factor": 1e308}, {"factor": "1"}, {"slope": -1e308}, {"offset": 1e10}, {"factor": None}, {"scale": "other"},
        {"method": "isotonic", "knots": [[0.5, 0.1], [0.2, 0.3]]}, {"method": "isotonic", "knots": [[0.5, 1e300]]},
        {"method": "isotonic", "knots": [[0.5]]}, {"method": "isotonic", "knots": []},
        {"method": "isotonic", "knots": [[[0], 1]]},
        {"confidence": {"values": [1, 1], "reached": [5, 5], "wrong": [0, 0]}},
        {"confidence": {"values": [1], "reached": [1.5], "wrong": [0]}},
        {"confidence": {"values": [1], "reached": [2], "wrong": [3]}},
        {"confidence": {"values": [1], "reached": [1e300], "wrong": [0]}},
        {"confidence": {"values": [], "reached": [], "wrong": []}},
    ],
)  # fmt: skip
def test_calibrations_that_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="calibration"):
        _core.Model(with_config(VARIANTS["cwc"], lambda config: config["calibration"].update(change)), INT8)


@pytest.mark.parametrize("name", ["cwc", "cc", "plain", "linear", "multi"])
def test_extreme_calibrations_give_probabilities(name: str) -> None:
    for key in ("factor", "slope", "offset"):
        for value in (-1e9, -1.0, 0.0, 1e-300, 1e9):
            data = with_config(
                VARIANTS[name], lambda config, key=key, value=value: config["calibration"].update({key: value})
            )  # type: ignore[misc]
            core = _core.Model(data, INT8)
            shares = np.frombuffer(core.probabilities(core.classify([TEXT], False)[0]), np.float64)
            assert ((shares >= 0) & (shares <= 1)).all(), (key, value, shares)


def ranked_model(ranking: dict[str, list[float]]) -> _core.Model:
    change = dict.fromkeys(("confidence", "certainty", "set_score"), ranking)
    return _core.Model(with_config(VARIANTS["cwc"], lambda config: config["calibration"].update(change)), INT8)


def test_thresholds_equal_python() -> None:
    dice = random.Random(3)
    for texts in (30, 200, 3000):
        rate = dice.uniform(0.005, 0.1)
        wrong = np.cumsum([dice.random() < rate * place / texts * 2 for place in range(texts)]).tolist()
        ranking = Ranking(
            tuple(float(texts - place) for place in range(texts)), tuple(range(1, texts + 1)), tuple(wrong)
        )
        core = ranked_model(
            {"values": list(ranking.values), "reached": list(ranking.reached), "wrong": list(ranking.wrong)}
        )
        for error in (0.01, 0.02, 0.05, 0.1, 0.3, 0.9):
            try:
                expected: float | None = threshold_for_error(ranking, error)
            except InputError:
                expected = None
            try:
                found: float | None = core.rules(False, math.nan, error, math.nan)[1]
            except ValueError:
                found = None
            assert found == expected, (texts, error)


def test_many_validation_texts_take_little_time() -> None:
    """A million texts, of which as many are wrong as a test just allows."""
    reached = [10**6 - 10**6 * (999 - place) // 1000 for place in range(1000)]
    values = [float(1000 - place) for place in range(1000)]
    core = ranked_model(
        {
            "values": values,
            "reached": reached,
            "wrong": [max(0, count // 2 - 2 * math.isqrt(count)) for count in reached],
        }
    )
    start = time.process_time()
    assert core.rules(False, math.nan, 0.5, math.nan)[1] == 1.0
    assert time.process_time() - start < 1


@pytest.mark.parametrize("error", [1e-9, 1e-17, 1e-300, 5e-324])
def test_errors_that_no_texts_can_guarantee(error: float) -> None:
    with pytest.raises(ValueError, match="cannot be guaranteed"):
        _core.Model(model_file(VARIANTS["cwc"]), INT8).rules(False, math.nan, error, math.nan)


# ---- many classes, long texts ----


def test_many_classes() -> None:
    """70,000 classes with lengths in the worst order: the label set is sorted in n log n steps."""
    model = Random(
        embedding="plain", head="linear", hidden_size=1, primary_length=1, embedding_size=1, classes=70_000, texts=5
    )
    core = _core.Model(model_file(model), INT8)
    assert np.isfinite(np.frombuffer(core.classify([TEXT], False)[0], np.float32)).all()
    dice = random.Random(4)
    lengths = array("f", sorted(dice.randrange(1000) / 1000 for _ in range(70_000)))
    start = time.process_time()
    (classes,) = core.label_sets(lengths.tobytes(), -1.0)
    assert time.process_time() - start < 1
    assert list(classes) == sorted(range(70_000), key=lambda place: (-lengths[place], place))


def test_places_of_tokens_take_linear_time() -> None:
    core = _core.Model(model_file(replace(VARIANTS["cwc"], max_tokens=1 << 20, tokens="paper")), INT8)
    start = time.process_time()
    tokens = core.tokens("İ" * 100_000, False)
    assert time.process_time() - start < 2
    assert [token[1:] for token in tokens[:4]] == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert tokens[-1][1:] == (99_999, 100_000)


# ---- ids ----


@pytest.mark.parametrize("name", ["cwc", "bits-5"])
def test_ids_outside_the_vocabulary(name: str) -> None:
    """Ids come from the caller: those that no word has are refused, not read."""
    core = _core.Model(model_file(VARIANTS[name]), INT8)
    most = core.facts()["vocabulary"]
    for number in (-1, -(2**31), 2 * most, 2 * most + 1, 2**31 - 1):
        with pytest.raises(ValueError):
            core.codes(number)
    assert core.codes(most - 1)
