"""Models without a network through every command: n-gram features are all they have."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.compression.linear import LinearSearch
from capsulet.compression.sample import made_up_sample
from capsulet.compression.source import read_source
from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.model.shapes import BIAS
from capsulet.runtime.session import open_session
from capsulet.storage.folder import read_config
from capsulet.storage.model_file import MODEL, read_model
from capsulet.storage.onnx_runtime import onnxruntime
from capsulet.storage.tensors import from_array, pack
from capsulet.storage.weights import unpack_weights
from tests.conftest import SETS, TEXTS, generated_rows, store_config, stored_config

KINDS = ["single", "multi"]
NASTY = ["", " ", "\x00", "☃ 你好", "qzxv " * 300, "a" * 300, "topicad w1x w2x", "soup topicbe the match"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Labelled texts of both kinds, enough for a calibration."""
    folder, lines = tmp_path_factory.mktemp("rows"), list(generated_rows(500))
    single, multi = folder / "single.jsonl", folder / "multi.jsonl"
    single.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in lines))
    for number, ((label, text), (other, more)) in enumerate(itertools.pairwise(lines)):
        labels, both = (sorted({label, other}), f"{text} {more}") if number % 3 else ([label], text)
        with multi.open("a") as file:
            file.write(json.dumps({"labels": labels, "text": both}) + "\n")
    return {"single": single, "multi": multi}


@pytest.fixture(scope="module")
def models(rows: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model without a network of each kind."""
    folder, found = tmp_path_factory.mktemp("linear"), {}
    for kind, file in rows.items():
        options = {"linear_only": True, "valid_fraction": 0.25, "multi_label": kind == "multi", "threads": 1}
        found[kind] = Path(capsulet.train(file, folder / kind, report=None, **options).path)
    return found


@pytest.fixture(scope="module")
def small(models: dict[str, Path], rows: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same, compressed."""
    folder = tmp_path_factory.mktemp("small")
    return {
        kind: Path(capsulet.compress(model, rows[kind], folder / f"{kind}.safetensors").path)
        for kind, model in models.items()
    }


@pytest.fixture(params=["whole", "compressed"])
def made(request: pytest.FixtureRequest, models: dict[str, Path], small: dict[str, Path]) -> Iterator[dict[str, Path]]:
    yield models if request.param == "whole" else small


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_explanations(kind: str, made: dict[str, Path]) -> None:
    classifier = capsulet.load(made[kind])
    texts = [*NASTY, *(text for _, text in TEXTS), *(text for _, text in SETS)]
    lengths, scores = np.asarray(classifier.lengths(texts)), np.asarray(classifier.session.ngram_scores(texts))
    powers = np.exp(scores.astype(np.float64))
    wanted = powers / (1 + powers) if kind == "multi" else powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(lengths, wanted, atol=1e-6)
    exact = capsulet.load(made[kind], precision="float32")
    np.testing.assert_array_equal(np.asarray(exact.lengths(texts)), lengths)
    weights = unpack_weights(read_model(made[kind]))
    np.testing.assert_allclose(scores[0], weights[BIAS], atol=1e-6)  # no features: the bias
    for text in texts:
        explanation = classifier.explain(text, contrast=classifier.labels[0], check=True)
        total = sum(token.contribution for token in explanation.tokens)
        assert total == pytest.approx(explanation.length_before_squash, abs=1e-5)
        assert total == pytest.approx(explanation.ngrams, abs=1e-5)
        assert (explanation.capsules, explanation.codewords) == ((), ())
        assert not any(token.read_as for token in explanation.tokens)


def test_it_learned_something_and_abstains(made: dict[str, Path], rows: dict[str, Path]) -> None:
    assert capsulet.evaluate(made["single"], rows["single"]).accuracy > 0.9
    found = capsulet.load(made["single"]).predict(["topicad w1x w2x", "qzxvq jjjkk"], abstain=True)
    assert found[0].label == "food" and found[1].label is None


@pytest.mark.parametrize("kind", KINDS)
def test_commands(
    kind: str, made: dict[str, Path], rows: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    model, file = made[kind], rows[kind]
    assert "n-gram features only, no network" in run("info", model)
    assert json.loads(run("info", model, "--json"))["linear_only"] is True
    assert "linear only" in run("info", model, "--all")
    assert "topic" in run("info", model, "--class", "food")
    shown = run("explain", model, "--text", "topicad w1x", "--details")
    assert "n-gram features only, no network" in shown and "primary capsules" not in shown and "codewords" not in shown
    run("explain", model, "--text", "topicad w1x", "--html", tmp_path / "page.html", "--check")
    assert "no network" in (tmp_path / "page.html").read_text()
    assert "food" in run("predict", model, "--text", "topicad w1x")
    run("evaluate", model, file, "--report", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "no network" in page and "ngrams" in page and "encoder" not in page
    run("drift", model, file)
    run("check", file, *["--multi-label"] * (kind == "multi"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_card(kind: str, models: dict[str, Path], small: dict[str, Path]) -> None:
    card = (models[kind] / "README.md").read_text()
    assert "| network | none: n-gram features (" in card and "GRU" not in card and "best epoch" not in card
    assert "It has no network" in card
    section = read_model(small[kind]).card.split("## Compressed")[1]
    assert "codewords" not in section and "rows" in section


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_and_drift(kind: str, models: dict[str, Path]) -> None:
    config = read_config(models[kind])
    assert config.calibration and config.histograms and "codes" not in config.histograms
    fresh = [text for _, text in generated_rows(900)][500:]
    if kind == "single":  # the other texts are longer
        assert not capsulet.drift(models[kind], texts=fresh).drifted
    assert capsulet.drift(models[kind], texts=["qzxv jjj the moon"] * 200).drifted


@pytest.mark.parametrize("kind", KINDS)
def test_onnx(kind: str, made: dict[str, Path], tmp_path: Path) -> None:
    file = capsulet.export(made[kind], tmp_path / "model.onnx")
    assert [value.name for value in onnx.load(file).graph.input] == ["ngrams"]
    graph, session = onnxruntime.InferenceSession(file.read_bytes()), open_session(made[kind], 1)
    assert [value.name for value in graph.get_outputs()] == ["lengths", "norms", "coupling"]
    scores = np.asarray(session.ngram_scores(NASTY))
    lengths, norms, coupling = graph.run(None, {"ngrams": scores})
    np.testing.assert_allclose(lengths, np.asarray(session.classify(NASTY)[0]), atol=1e-6)
    np.testing.assert_array_equal(norms, scores)
    assert coupling.shape == (len(NASTY), 1, 3) and (coupling == 1).all()


# ---- compression ----


@pytest.mark.parametrize("kind", KINDS)
def test_compression(kind: str, models: dict[str, Path], rows: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "small.safetensors"
    plain = capsulet.compress(models[kind], out=out)
    assert plain.accuracy is None and plain.words == plain.words_before and plain.bytes < plain.bytes_before
    # all of the table: only words that are kept count as known
    assert plain.agreement == 1 and (plain.bits, plain.codebooks) == (8, 0)
    assert read_model(out).tensors["ngrams.levels"].dtype == "I8" and read_config(out).ngrams.bits == 8
    figures = [capsulet.evaluate(path, rows[kind]) for path in (models[kind], out)]
    before, after = (found.accuracy if kind == "single" else found.micro_f1 for found in figures)
    assert after > before - 0.02
    made = capsulet.compress(models[kind], rows[kind], out, max_loss=2, plot=tmp_path / "curve.svg")
    assert made.accuracy_before - made.accuracy <= 0.02 and made.bytes <= plain.bytes
    assert made.valid_rows == read_config(models[kind]).data.valid_rows > 100
    assert len(made.curve) > 3 and (tmp_path / "curve.svg").exists()
    shapes = {name: tensor.dtype for name, tensor in read_model(out).tensors.items()}
    assert shapes == {
        "config": "U8", "card": "U8", "words.packed": "U8", "ngrams.levels": "U8" if made.bits == 4 else "I8",
        "ngrams.scales": "F32",
        "ngrams.checks": "U8", "ngrams.bias": "F32",
    }  # fmt: skip
    config = read_config(out)
    assert config.calibration and config.histograms and config.compression["codebooks"] == 0
    before, after = (unpack_weights(read_model(path))[BIAS] for path in (models[kind], out))
    np.testing.assert_array_equal(before, after)


def test_sizes_are_held(models: dict[str, Path], rows: dict[str, Path], tmp_path: Path) -> None:
    model, out = models["single"], tmp_path / "small.safetensors"
    largest = capsulet.compress(model, out=out).bytes
    rows_before = read_config(out).ngrams.rows
    errors, bits = [], []
    for share in (1.0, 0.7, 0.4, 0.25):
        made = capsulet.compress(model, rows["single"], out, target_size=int(share * largest))
        assert made.bytes == out.stat().st_size <= share * largest
        errors.append(1 - made.agreement)
        bits.append(read_config(out).ngrams.bits)
        assert bits[-1] == made.bits
        assert capsulet.load(out).predict(["topicad"])[0].label == "food"
    assert read_config(out).ngrams.rows < rows_before and errors == sorted(errors)
    assert bits[0] == 8, "fewer bits only lose"
    with pytest.raises(InputError, match="cannot be reached: the smallest file of this model has up to"):
        capsulet.compress(model, out=out, target_size=100)


def test_four_bits_are_tried_beside_eight(models: dict[str, Path]) -> None:
    source = read_source(models["single"])
    search = LinearSearch(source, made_up_sample(source))
    trials = search.curve
    assert {(one.setting.ngram_rows, one.setting.bits) for one in trials} == {
        (rows, bits) for rows in search.ngrams.pruned for bits in (8, 4)
    }
    most = max(search.ngrams.pruned)
    eight, four = (
        next(one for one in trials if (one.setting.bits, one.setting.ngram_rows) == (bits, most)) for bits in (8, 4)
    )
    assert eight.error == 0 < four.error and four.bytes < eight.bytes


def test_compression_needs_no_torch(models: dict[str, Path], rows: dict[str, Path], tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["torch"] = None
import capsulet
made = capsulet.compress({str(models["single"])!r}, {str(rows["single"])!r}, {str(tmp_path / "small.safetensors")!r})
assert made.accuracy is not None
capsulet.calibrate({str(models["single"])!r}, {str(rows["single"])!r})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- hostile files ----


def damaged_copy(model: Path, out: Path, **tensors: object) -> Path:
    """A file with other tensors; None leaves one out. Dots in names are written as underscores."""
    stored = dict(read_model(model).tensors)
    for name, value in tensors.items():
        key = name.replace("_", ".", 1)
        stored.pop(key)
        if value is not None:
            stored[key] = from_array(np.asarray(value))
    out.write_bytes(pack(stored, {"format": "capsulet", "version": "5"}))
    return out


BIASES = {
    "missing": None, "not finite": np.array([0, np.nan, 0], np.float32),
    "infinite": np.array([0, 0, np.inf], np.float32),
    "short": np.zeros(2, np.float32), "long": np.zeros(4, np.float32), "bytes": np.zeros(3, np.uint8),
}  # fmt: skip


@pytest.mark.parametrize("bias", BIASES)
def test_biases_that_are_refused(bias: str, models: dict[str, Path], tmp_path: Path) -> None:
    file = damaged_copy(models["single"], tmp_path / "damaged.safetensors", ngrams_bias=BIASES[bias])
    for use in (capsulet.load, lambda path: capsulet.compress(path, out=tmp_path / "small.safetensors")):
        with pytest.raises(ModelError, match=r"damaged\.safetensors is damaged: .*(n-gram|ngrams)") as caught:
            use(file)
        assert "\n" not in str(caught.value)


def test_a_table_that_is_missing(models: dict[str, Path], tmp_path: Path) -> None:
    file = damaged_copy(models["single"], tmp_path / "damaged.safetensors", ngrams_levels=None)
    with pytest.raises(ModelError, match="damaged"):
        capsulet.load(file)


@pytest.mark.parametrize("value", ["true", 1, None])
def test_a_configuration_that_is_refused(value: object, models: dict[str, Path], tmp_path: Path) -> None:
    model = Path(shutil.copytree(models["single"], tmp_path / "model"))
    store_config(model, {**stored_config(model), "linear_only": value})
    with pytest.raises(CapsuletError, match=r"linear_only is .*, expected a boolean"):
        capsulet.load(model)
    assert main(["info", str(model)]) == 2
    assert (model / MODEL).exists()
