"""The model file: words, configuration and weights come back, and what is wrong is said in one line."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet.errors import ModelError
from capsulet.model.quantisation import Rounded
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, SCALES
from capsulet.runtime.session import session_of
from capsulet.storage.model_config import FORMAT_VERSION, NgramTable
from capsulet.storage.model_file import (
    CONFIG,
    ENDS,
    LETTERS,
    ORDER,
    PACKED,
    SLOTS,
    hash_table,
    model_file,
    pack_model,
    parse_model,
    read_model,
    word_tensors,
)
from capsulet.storage.tensors import Tensor, from_array, from_bytes, from_integers, pack
from capsulet.storage.weights import CHOICES, CODEBOOKS, pack_weights, unpack_weights
from tests.storage.handmade import CARD, LABELS, WORDS, compressed, settings, weights_of, whole

METADATA = {"format": "capsulet", "version": str(FORMAT_VERSION)}


def test_a_whole_model_comes_back() -> None:
    config = settings()
    model = parse_model(whole(), "here")
    assert (model.config, model.card, model.words) == (config, CARD, WORDS)
    weights = weights_of(config)
    found = unpack_weights(model)
    assert set(found) == set(weights)
    assert all(np.array_equal(found[name], value) for name, value in weights.items())


@pytest.mark.parametrize("data", [whole(linear_only=True), compressed(linear_only=True)], ids=["whole", "compressed"])
def test_a_model_without_a_network_comes_back(data: bytes) -> None:
    model = parse_model(data, "here")
    assert model.config.linear_only and sorted(model.words) == sorted(WORDS)
    assert not [name for name in model.tensors if name.startswith(("embedding.", "encoder.", "head."))]
    assert ORDER not in model.tensors
    weights = unpack_weights(model)
    assert set(weights) - {LEVEL_BITS} == {LEVELS, SCALES, CHECKS, BIAS}
    (lengths,), _ = session_of(data).classify(["the match fabulously"])
    assert sum(lengths) == pytest.approx(1, abs=1e-6)
    assert "linear_only" not in settings().as_json() and settings(linear_only=True).as_json()["linear_only"] is True


@pytest.mark.parametrize("bits", [3, 5, 8])
@pytest.mark.parametrize("ngram_bits", [2, 4, 8])
def test_a_compressed_model_comes_back(bits: int, ngram_bits: int) -> None:
    data = compressed(bits, ngram_bits)
    model = parse_model(data, "here")
    assert model.words == sorted(WORDS, key=str.encode)
    assert model.config.dictionary_words == len(WORDS) and model.config.ngrams == NgramTable(16, 1.0, ngram_bits)
    weights = unpack_weights(model)
    assert weights[CHOICES].shape == (len(WORDS) + 1, 3) and weights[CHOICES].max() < 16
    assert isinstance(weights[CODEBOOKS], Rounded) and weights[CODEBOOKS].levels.shape == (48, 4)
    assert weights["encoder.gru.weight_ih_l0"].bits == bits
    assert weights["head.transforms"].levels.shape == (3, 8 * 4)
    assert (weights[LEVEL_BITS], weights[LEVELS].dtype, weights[CHECKS].dtype) == (ngram_bits, np.int8, np.uint8)
    again = {name: bytes(tensor.data) for name, tensor in pack_weights(weights).items()}
    assert again == {name: bytes(model.tensors[name].data) for name in again}


def test_equal_models_are_equal_bytes() -> None:
    assert whole() == whole() and compressed() == compressed()


# words


def fnv(word: bytes) -> int:
    """The hash of docs/reference/format.md, step by step."""
    value = 2166136261
    for byte in word:
        value = ((value ^ byte) * 16777619) % 2**32
    return value ^ (value >> 15)


def found(slots: list[int], words: list[bytes], word: bytes) -> int | None:
    """Look a word up as a reader does."""
    place = fnv(word) % len(slots)
    while slots[place]:
        if words[slots[place] - 1] == word:
            return slots[place] - 1
        place = (place + 1) % len(slots)
    return None


@given(st.lists(st.binary(min_size=1, max_size=6), unique=True, max_size=60))
def test_the_hash_table_finds_every_word_and_no_other(words: list[bytes]) -> None:
    slots = hash_table(words)
    smallest = next(2**k for k in range(1, 20) if 2**k >= 2 * len(words))
    assert len(slots) == smallest and sorted(filter(None, slots)) == list(range(1, len(words) + 1))
    assert [found(slots, words, word) for word in words] == list(range(len(words)))
    assert found(slots, words, b"another") is None


def test_the_words_are_those_of_the_format() -> None:
    """docs/reference/format.md: hashes are 0x811c9dc5 for no bytes, 0xe40c292c for `a` before the last step."""
    assert fnv(b"a") == 0xE40C292C ^ (0xE40C292C >> 15)
    tensors = word_tensors(["b", "a", "é"], similar=True)
    assert list(tensors) == [LETTERS, ENDS, SLOTS, ORDER]
    assert tensors[LETTERS].data == b"ba\xc3\xa9"
    assert [array("I", tensors[name].data).tolist() for name in (ENDS, ORDER)] == [[1, 2, 4], [1, 0, 2]]
    assert array("I", tensors[SLOTS].data).tolist() == hash_table([b"b", b"a", "é".encode()])
    assert ORDER not in word_tensors(["b"], similar=False)


def test_many_words_take_less_than_a_second() -> None:
    dice = random.Random(0)
    words = list({"".join(dice.choices("abcdefghijklmnop", k=dice.randint(3, 12))) for _ in range(110_000)})[:100_000]
    started = time.process_time()
    word_tensors(words, similar=True)
    assert time.process_time() - started < 1


def changed(name: str, tensor: Tensor | None, data: bytes | None = None) -> bytes:
    """A model file with another tensor, or without it."""
    model = parse_model(whole() if data is None else data, "here")
    tensors = {key: value for key, value in model.tensors.items() if key != name}
    return pack({**tensors, **({} if tensor is None else {name: tensor})}, METADATA)


@pytest.mark.parametrize(
    ("name", "tensor", "words"),
    [
        (LETTERS, None, "words.letters is missing, expected bytes"),
        (ENDS, None, "words.ends is missing"),
        (LETTERS, from_integers([1]), "words.letters is U32, expected bytes"),
        (LETTERS, from_bytes(b"short"), "7 words of 5 bytes, expected 7 words that end with the last byte"),
        (LETTERS, from_bytes(b"\xff" * 29), "its words cannot be read"),
        (ENDS, from_integers([3, 8]), "2 words of 29 bytes"),
        (ENDS, from_bytes(b"1234"), "words.ends is U8 [4], expected a vector of U32"),
        (ENDS, from_integers([9, 8, 12, 16, 18, 21, 29]), "words.ends is not in ascending order"),
        (ENDS, from_integers([3, 8, 2**32 - 1, 16, 18, 21, 29]), "words.ends is not in ascending order"),
    ],
)
def test_damaged_words(name: str, tensor: Tensor | None, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        _ = parse_model(changed(name, tensor), "here").words
    assert str(caught.value).startswith("here is damaged: ") and words in str(caught.value)


@pytest.mark.parametrize("tensor", [None, from_bytes(b""), from_bytes(b"\xff" * 20), from_integers([1])], ids=str)
def test_a_damaged_dictionary(tensor: Tensor | None) -> None:
    with pytest.raises(ModelError, match="here is damaged: "):
        _ = parse_model(changed(PACKED, tensor, compressed()), "here").words


BAD = [None, from_bytes(b"a"), from_array(np.zeros((3, 9), np.uint8)), from_array(np.zeros(0, np.float16))]


@pytest.mark.parametrize(
    "name", [CHOICES, CODEBOOKS, f"{CODEBOOKS}.scales", "encoder.gru.weight_hh_l0", LEVELS, CHECKS, BIAS]
)
@pytest.mark.parametrize("tensor", BAD)
def test_damaged_compressed_weights(name: str, tensor: Tensor | None) -> None:
    with pytest.raises(ModelError, match=r"^here is damaged: (\w+\.)+\w+ is (missing|\w+ \[|\[).*, expected"):
        unpack_weights(parse_model(changed(name, tensor, compressed()), "here"))


@pytest.mark.parametrize(
    "name", ["embedding.codes", "encoder.gru.bias_ih_l0", "head.transforms", LEVELS, SCALES, CHECKS, BIAS]
)
@pytest.mark.parametrize("tensor", BAD)
def test_damaged_weights(name: str, tensor: Tensor | None) -> None:
    with pytest.raises(ModelError, match=rf"^here is damaged: {name} is (missing|\w+ \[).*, expected"):
        unpack_weights(parse_model(changed(name, tensor), "here"))


# configuration


def file_with(text: bytes) -> bytes:
    """A model file with this configuration."""
    return changed(CONFIG, from_bytes(text))


def refused(data: bytes, *words: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_model(data, "here")
    message = str(caught.value)
    assert message.startswith("here ") and "\n" not in message and len(message) < 500
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"\x89PNG\r\n", b'{"labels": "\xff"}', b'{"a":' * 100_000, b"[" * 100_000, b"[]", b"null", b"3",
        b'{"format_version": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a":1,"a":1}', b"\xff\xfe{\0}\0",
    ],
    ids=repr,
)  # fmt: skip
def test_a_configuration_that_is_no_json_object(text: bytes) -> None:
    refused(file_with(text), "here is damaged: its configuration")


def test_a_configuration_that_is_missing() -> None:
    refused(changed(CONFIG, None), "config is missing, expected bytes")


OPTIONS = json.loads(json.dumps(settings().as_json()))["options"]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"format_version": 6}, "has format 6, this capsulet reads format 5: pip install --upgrade capsulet"),
    ({"format_version": 4}, "has format 4, this capsulet reads format 5: train the model again"),
    ({"format_version": "5"}, "has no format_version"),
    ({"format_version": True}, "has no format_version"),
    ({"format_version": ...}, "has no format_version"),
    ({"labels": ...}, "labels is None, expected a list"),
    ({"labels": "food"}, "labels is 'food', expected a list"),
    ({"labels": ["food"]}, "expected two or more different strings"),
    ({"labels": ["food", 3, "sport"]}, "expected a list of strings"),
    ({"labels": ["food", "food", "sport"]}, "expected two or more different strings"),
    ({"labels": ["food", "", "sport"]}, "none of them empty"),
    ({"labels": ["food", "\ud800", "sport"]}, "'labels' has an unpaired surrogate"),
    ({"\udfff": 1}, "has an unpaired surrogate"),
    ({"command": "caf\udce9"}, "'command' has an unpaired surrogate"),
    ({"vocab_size": "9"}, "vocab_size is '9', expected an integer"),
    ({"vocab_size": 0}, "vocab_size is 0, expected 1 to 2147483647"),
    ({"vocab_size": 2**31}, "vocab_size is 2147483648, expected 1 to 2147483647"),
    ({"vocab_size": 10**400}, "expected at most 2^53"),
    ({"linear_only": "true"}, "linear_only is 'true', expected a boolean"),
    ({"linear_only": None}, "linear_only is None, expected a boolean"),
    ({"linear_only": True, "ngrams": ...}, "linear_only is true and ngrams is missing, expected n-gram features"),
    ({"dictionary_words": 3}, "dictionary_words is 3, expected 8"),
    ({"options": []}, "its options cannot be read"),
    (
        {"options": {**OPTIONS, "training": {**OPTIONS["training"], "batch_size": None}}},
        "cannot be read ('batch_size')",
    ),
    ({"options": {**OPTIONS, "model": {**OPTIONS["model"], "hidden_size": 2**40}}}, "its options cannot be read"),
    ({"options": {**OPTIONS, "model": {**OPTIONS["model"], "head": "tail"}}}, "its options cannot be read"),
    ({"data": {"train_rows": "9"}}, "data.train_rows is '9', expected an integer"),
    ({"metrics": 3}, "metrics is 3, expected an object"),
    ({"thresholds": [1e999]}, "'thresholds' has inf, expected finite numbers"),
    ({"calibration": {"deep": [{"factor": -1e999}]}}, "'calibration.deep.factor' has -inf, expected finite numbers"),
    ({"histograms": {"texts": 2**60}}, "expected at most 2^53"),
    ({"ngrams": {"rows": 0, "strength": 1.0}}, "ngrams has 0 rows of 8 bits"),
    ({"ngrams": {"rows": 8, "strength": 1.0, "bits": 9}}, "ngrams has 8 rows of 9 bits"),
    ({"ngrams": {"rows": 2**31, "strength": 1.0}}, "ngrams has 2147483648 rows"),
]


@pytest.mark.parametrize(
    ("values", "words"), WRONG, ids=lambda value: str(value)[:60].encode(errors="replace").decode()
)
def test_wrong_values(values: dict[str, Any], words: str) -> None:
    config = {**settings().as_json(), **values}
    text = json.dumps({key: value for key, value in config.items() if value is not ...})
    refused(file_with(text.replace("-Infinity", "-1e999").replace("Infinity", "1e999").encode()), words)


def test_thresholds_of_a_multi_label_model() -> None:
    options = {**OPTIONS, "model": {**OPTIONS["model"], "multi_label": True}}
    for thresholds in (None, [0.5, 0.5], [0.5, 0.5, 2.0]):
        config = {**settings().as_json(), "options": options, "thresholds": thresholds}
        refused(file_with(json.dumps(config).encode()), "expected one number from 0 to 1 per label")


def test_unknown_keys_and_tensors_are_ignored() -> None:
    config = {**settings().as_json(), "later": {"x": 1}}
    config["metrics"]["later"] = "y"
    data = changed("later", from_bytes(b"abc"), file_with(json.dumps(config).encode()))
    assert parse_model(data, "here").config == settings()


# other files


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({}, "is not a capsulet model of format 5"),
        ({"format": "pt"}, "is not a capsulet model of format 5"),
        ({"format": "capsulet"}, "is not a capsulet model of format 5"),
        ({"format": "capsulet", "version": "three"}, "is not a capsulet model of format 5"),
        ({"format": "capsulet", "version": "³"}, "is not a capsulet model of format 5"),
        ({"format": "capsulet", "version": "6"}, "has format 6, this capsulet reads format 5: pip install"),
        ({"format": "capsulet", "version": "4"}, "has format 4, this capsulet reads format 5: train the model again"),
    ],
)
def test_other_formats(metadata: dict[str, str], words: str) -> None:
    refused(pack({"a": from_bytes(b"a")}, metadata), words)


def test_damage_is_noticed_unless_the_checksum_is_left_out() -> None:
    data = bytearray(whole())
    data[parse_model(bytes(data), "here").data.index(b"# A card")] ^= 1
    refused(bytes(data), "here is damaged: the checksum of its")
    assert parse_model(bytes(data), "here", verify=False).card != CARD


def test_single_files(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(whole())
    assert read_model(tmp_path / "m.safetensors").config.labels == LABELS
    (tmp_path / "m.onnx").write_bytes(b"anything")
    for name, words in (("none", "does not exist: expected a model folder or"), ("m.onnx", "is an export for other")):
        with pytest.raises(ModelError, match=words):
            read_model(tmp_path / name)


def test_a_file_has_its_words() -> None:
    with pytest.raises(AssertionError, match="words of the vocabulary"):
        model_file({}, ["a"], settings(), "")


def test_numbers_that_are_not_finite_are_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack_model({}, settings(calibration={"factor": float("inf")}), "")


def test_reading_needs_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(whole())
    (tmp_path / "s.safetensors").write_bytes(compressed())
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from pathlib import Path; from capsulet.storage.folder import read_config\n"
        "from capsulet.storage.model_file import read_model\n"
        "for name in sys.argv[1:]: print(read_config(Path(name)).labels[0], *read_model(Path(name)).words[:1])\n"
    )
    files = [tmp_path / "m.safetensors", tmp_path / "s.safetensors"]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True)
    assert (done.stderr, done.stdout.split()) == ("", ["food", "the", "food", "bank"])
