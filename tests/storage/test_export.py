"""An ONNX file that answers like its model and carries what other programs need."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tokenizers import Tokenizer

import capsulet
from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.runtime.session import open_session
from capsulet.storage import atomic
from capsulet.storage import export as exporting
from capsulet.storage.folder import CARD, read_config
from capsulet.storage.model_file import MODEL
from capsulet.storage.onnx_runtime import onnxruntime
from capsulet.text.batch import pad
from tests.conftest import TINY
from tests.storage.handmade import whole

TEXTS = ["The match was close", "fry the onions", "", "你好 ☃ ÉÉ İ", "shares fell " * 300, "the matches 2004 bank's"]


@pytest.fixture(scope="module")
def small(similar: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as a compressed file."""
    out = tmp_path_factory.mktemp("small") / "small.safetensors"
    return Path(capsulet.compress(similar, out=out, threads=1).path)


@pytest.fixture(scope="module", params=["whole", "compressed", "dot"])
def source(request: pytest.FixtureRequest, similar: Path, small: Path, dot: Path) -> Path:
    return {"whole": similar, "compressed": small, "dot": dot}[request.param]


@pytest.fixture(scope="module")
def similar(rows_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose graph knows how to read unknown words; it cannot read them by their pieces."""
    out = tmp_path_factory.mktemp("similar") / "model"
    capsulet.train(rows_file, out, valid=rows_file, cache=None, report=None, **TINY, unknown_words="similar")
    return out


@pytest.fixture(scope="module")
def dot(rows_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose routing compares votes at their lengths."""
    out = tmp_path_factory.mktemp("dot") / "model"
    options = {**TINY, "unknown_words": "similar", "agreement": "dot"}
    capsulet.train(rows_file, out, valid=rows_file, cache=None, report=None, **options)
    return out


@pytest.fixture(scope="module")
def file(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a model; read it, do not change it."""
    return capsulet.export(source, tmp_path_factory.mktemp("export") / "model.onnx")


def metadata(file: Path) -> dict[str, str]:
    return {entry.key: entry.value for entry in onnx.load(file).metadata_props}


def test_onnx_runtime_gives_the_answers_of_the_model(source: Path, file: Path) -> None:
    session = open_session(source, 1, "float32")
    encoded = session.encode(TEXTS)
    ids, counts = pad([session.word_ids.read_as(np.asarray(ids)) for ids in encoded])
    graph = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    assert [node.name for node in graph.get_inputs()] == ["ids", "token_counts", "ngrams"]
    names = [node.name for node in graph.get_outputs()]
    assert names == ["lengths", "norms", "coupling", "contributions"]
    ngrams = np.asarray(session.ngram_scores(TEXTS))
    assert np.abs(ngrams).max() > 0.1
    inputs = {"ids": ids, "token_counts": counts, "ngrams": ngrams}
    lengths, norms, coupling, contributions = graph.run(names, inputs)
    assert np.abs(lengths - np.asarray(session.classify(TEXTS)[0])).max() < 1e-5
    assert coupling.shape == (len(TEXTS), 2, 3)
    np.testing.assert_allclose(contributions.sum(1) + ngrams, norms, atol=1e-4)


@pytest.mark.parametrize("rows", [0, 16])
def test_the_input_ngrams_is_there_if_the_model_has_such_features(rows: int, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(whole(rows=rows))
    graph = onnx.load(capsulet.export(tmp_path / "model.safetensors", tmp_path / "model.onnx")).graph
    assert [value.name for value in graph.input] == ["ids", "token_counts", *["ngrams"] * (rows > 0)]


def test_metadata_is_complete(source: Path, similar: Path, file: Path) -> None:
    inside = metadata(file)
    assert set(inside) == {"capsulet.config", "capsulet.words", "capsulet.card"}
    session = open_session(source, 1)
    assert json.loads(inside["capsulet.words"]) == session.words()[session.word_ids.first_word :]
    assert inside["capsulet.card"].startswith(((source if source.is_dir() else similar) / CARD).read_text())
    assert json.loads(inside["capsulet.config"]) == json.loads(json.dumps(read_config(source).as_json()))


@pytest.mark.parametrize("compressed", [False, True])
def test_the_tokenizer_of_the_papers_rule(rows_file: Path, tmp_path: Path, compressed: bool) -> None:
    source = tmp_path / "paper"
    capsulet.train(rows_file, source, valid=rows_file, cache=None, report=None, **TINY, tokens="paper")
    if compressed:
        source = Path(capsulet.compress(source, out=tmp_path / "small.safetensors", threads=1).path)
    file = capsulet.export(source, tmp_path / "model.onnx")
    tokenizer = Tokenizer.from_str(metadata(file)["capsulet.tokenizer"])
    session = open_session(source, 1)
    words, unknown = session.words(), session.word_ids.unknown
    assert [tokenizer.id_to_token(number) for number in range(len(words))][unknown:] == ["[UNK]", *words[unknown + 1 :]]
    assert tokenizer.get_vocab_size() == len(words)
    for text, ids in zip(TEXTS, session.encode(TEXTS), strict=True):
        known = [number if number < len(words) else unknown for number in ids]  # it knows no similar words
        assert (tokenizer.encode(text).ids or [unknown]) == known


def test_the_same_model_gives_the_same_bytes(source: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "again.onnx").write_text("something older")
    assert capsulet.export(str(source), str(tmp_path / "again.onnx"), to="onnx").read_bytes() == file.read_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["again.onnx"]


def test_folders_on_the_way_are_made(model: Path, tmp_path: Path) -> None:
    assert capsulet.export(model, tmp_path / "a" / "b" / ("m" * 250 + ".onnx")).is_file()


def test_an_edited_card_goes_along(model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "copy")
    (copy / CARD).write_bytes(b"# My caf\xe9\n")
    assert metadata(capsulet.export(copy, tmp_path / "model.onnx"))["capsulet.card"] == "# My caf\ufffd\n"


def break_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, "write_file", full)


def break_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "TOLERANCE", -1.0)


@pytest.mark.parametrize(
    ("breaking", "words"),
    [
        (break_writing, "No space left on device; an existing file is unchanged"),
        (break_comparison, "the exported file and the model differ by"),
    ],
)
def test_a_failed_export_leaves_what_was_there(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaking: Any, words: str
) -> None:
    (tmp_path / "model.onnx").write_text("something older")
    breaking(monkeypatch)
    with pytest.raises(CapsuletError) as caught:
        capsulet.export(model, tmp_path / "model.onnx")
    assert words in str(caught.value)
    assert caught.value.status == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_text() == "something older"


def test_calls_that_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    for source, target, to, words in (
        (model, tmp_path / "model.bin", "onnx", "does not end in .onnx"),
        (model, tmp_path / "folder.onnx", "onnx", "is a folder: name the file to write"),
        (model, tmp_path / "new.onnx", "tflite", "to is 'tflite': expected onnx"),
        (tmp_path / "none", tmp_path / "new.onnx", "onnx", "does not exist"),
        (tmp_path, tmp_path / "new.onnx", "onnx", f"has no {MODEL}"),
    ):
        with pytest.raises(InputError) as caught:
            capsulet.export(source, target, to)
        assert words in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.onnx"]


def test_an_export_is_no_model(file: Path) -> None:
    with pytest.raises(ModelError, match="is an export for other programs: name the model that it was exported from"):
        capsulet.load(file)
