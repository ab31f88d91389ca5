"""A model folder to one small file."""

from __future__ import annotations

import dataclasses
import json
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.compression import goal, search, students, trials
from capsulet.compression.sample import file_sample, made_up_sample
from capsulet.compression.setting import Setting, parse_size
from capsulet.compression.source import read_source
from capsulet.errors import CapsuletError, InputError, ModelError
from capsulet.results import Compression
from capsulet.storage.model_config import FORMAT_VERSION
from capsulet.storage.model_file import PACKED, read_model
from capsulet.storage.tensors import Tensor, from_bytes, pack
from tests.conftest import TEXTS, TINY

VARIANTS = [
    {}, {"embedding": "cc"}, {"embedding": "plain"}, {"head": "linear"}, {"routing": "dynamic"}, {"num_layers": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def made(model: Path, rows_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Compression:
    """The tiny model compressed with its training texts; read it, do not change it."""
    file = tmp_path_factory.mktemp("small") / "small.safetensors"
    return capsulet.compress(
        model, rows_file, file, valid=rows_file, max_loss=10, plot=file.with_suffix(".svg"), threads=1
    )


@pytest.fixture(scope="module")
def file(made: Compression) -> Path:
    return Path(made.path)


def test_it_is_smaller_and_about_as_good(made: Compression, file: Path, rows_file: Path) -> None:
    assert made.bytes == file.stat().st_size == sum(made.parts.values()) < 0.7 * made.bytes_before
    assert made.accuracy_before - made.accuracy <= 0.1
    assert capsulet.evaluate(file, rows_file).accuracy == pytest.approx(made.accuracy)
    assert made.valid_rows == 12
    assert set(made.parts) == set(made.parts_before)
    assert all(made.parts[part] > 0 for part in made.parts if part != "n-grams")
    assert made.parts_before["n-grams"] > 0 == made.parts["n-grams"], "twelve texts are right without it"


def test_everything_works_as_with_the_folder(made: Compression, file: Path, model: Path) -> None:
    small, whole = capsulet.load(file), capsulet.load(model)
    assert small.labels == whole.labels
    texts = [text for _, text in TEXTS] + ["", "☃ 你好", "salt " * 300]
    assert len(small.predict(texts, top_k=3)) == len(texts)
    for text in texts:
        explanation = small.explain(text)
        total = sum(token.contribution for token in explanation.tokens)
        assert total == pytest.approx(explanation.length_before_squash, abs=1e-5)


def test_the_format_is_the_documented_one(made: Compression, file: Path, model: Path) -> None:
    stored, whole = read_model(file), read_model(model)
    config = stored.config
    assert (config.dictionary_words, config.vocab_size) == (made.words, made.words + 1)
    assert (config.labels, config.options) == (whole.config.labels, whole.config.options)
    assert stored.card.startswith(whole.card) and "## Compressed" in stored.card
    assert stored.words == sorted(stored.words, key=str.encode)
    assert capsulet.load(file).session.words()[1:] == stored.words
    shapes = {name: (tensor.dtype, tensor.shape) for name, tensor in stored.tensors.items()}
    assert shapes["embedding.choices"] == ("U8", (made.words + 1, made.codebooks // 2))
    assert shapes["embedding.codebooks"] == ("U8", (made.codebooks * 16 * 12 // 8, 8))
    assert shapes["embedding.codebooks.scales"] == ("F16", (made.codebooks * 16,))
    assert shapes["encoder.gru.weight_hh_l1_reverse"] == ("U8", (48 * 16 // 8, made.bits))
    assert shapes["encoder.gru.weight_hh_l1_reverse.scales"] == ("F16", (48,))
    assert shapes["head.transforms"] == ("U8", (2 * 8 * 3 * 6 // 8, made.bits))
    assert not {"embedding.codes", "words.letters", "words.slots", "ngrams.levels"} & shapes.keys()


def test_padding_changes_nothing(file: Path) -> None:
    small = capsulet.load(file)
    texts = [text for _, text in TEXTS]
    together = np.asarray(small.lengths([*texts, "salt " * 50]))[: len(texts)]
    assert np.abs(together - np.concatenate([small.lengths([text]) for text in texts])).max() < 1e-5


def test_the_curve_and_its_plot(made: Compression, file: Path) -> None:
    sizes = [point.bytes for point in made.curve]
    assert sizes == sorted(sizes)
    (chosen,) = (point for point in made.curve if point.chosen)
    assert (chosen.bytes, chosen.words, chosen.bits) == (made.bytes, made.words, made.bits)
    assert {point.bits for point in made.curve} == set(search.BITS)
    picture = ElementTree.parse(file.with_suffix(".svg"))
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == len(made.curve)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())) or "default")
def test_every_variant_compresses_without_texts(variant: dict[str, object], rows_file: Path, tmp_path: Path) -> None:
    options = {**TINY, "epochs": 8, **variant}
    capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **options)
    result = capsulet.compress(tmp_path / "model", out=tmp_path / "small.safetensors", threads=1)
    assert (result.accuracy, result.curve[0].chosen) == (None, True)
    assert (result.words, result.bits) == (result.words_before, 8)
    texts = [text for _, text in TEXTS]
    small, whole = (
        np.asarray(capsulet.load(tmp_path / name).lengths(texts)) for name in ("small.safetensors", "model")
    )
    # fewer words than codewords: only rounding is left, most of all of the n-gram features, whose share is the largest
    assert np.abs(small - whole).max() < 0.08
    assert result.parts["n-grams"] > 0 and result.curve[0].ngram_rows % 64 == 0
    why = capsulet.load(tmp_path / "small.safetensors").explain(texts[0])
    assert sum(token.contribution for token in why.tokens) == pytest.approx(why.length_before_squash, abs=1e-4)
    assert why.ngrams != 0
    again = capsulet.compress(tmp_path / "model", out=tmp_path / "again.safetensors", threads=1)
    assert Path(again.path).read_bytes() == (tmp_path / "small.safetensors").read_bytes()


def smallest_size(model: Path) -> int:
    """What the message says."""
    with pytest.raises(InputError) as caught:
        capsulet.compress(model, out=model.with_name("none.safetensors"), target_size=100, threads=1)
    return int(str(caught.value).split("model has up to ")[1].split()[0].replace(",", ""))


def test_a_target_size_is_held(model: Path, rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(students, "FEWEST_STEPS", 5)
    monkeypatch.setattr(goal, "FEWEST_WORDS", 4)
    out = tmp_path / "small.safetensors"
    with pytest.raises(
        InputError, match=r"cannot be reached: the smallest file of this model has up to [\d,]+ \(3-bit weights"
    ):
        capsulet.compress(model, out=out, target_size=100, threads=1)
    reached = capsulet.compress(model, out=out, target_size=smallest_size(model), threads=1).bytes
    with pytest.raises(InputError, match=f"the smallest file of this model has {reached:,}"):
        capsulet.compress(model, out=out, target_size=reached - 1, threads=1)
    assert capsulet.compress(model, out=out, target_size=reached, threads=1).bytes == reached
    largest = capsulet.compress(model, out=out, threads=1).bytes
    before, target = out.read_bytes(), largest - 900
    fewer = capsulet.compress(model, rows_file, out, valid=rows_file, target_size=target, threads=1)
    assert 0.9 * target < fewer.bytes == out.stat().st_size <= target  # so few words that one decides much
    assert out.read_bytes() != before
    assert fewer.words < fewer.words_before or fewer.bits < 8
    assert [path.name for path in tmp_path.iterdir()] == ["small.safetensors"]


def test_the_words_that_stay_are_those_that_matter(model: Path) -> None:
    source = read_source(model)
    counts = np.ones(len(source.words), np.float32)
    order = source.importance(counts)
    assert sorted(order) == list(range(2, len(source.words)))
    source.vectors[order[0]] = source.vectors[1]  # reads like the unknown word: nothing is lost without it
    assert source.importance(counts)[-1] == order[0]
    counts[order[-1]] = 1e9
    assert source.importance(counts)[0] == order[-1]


def test_nothing_that_is_tried_is_smaller_than_the_smallest(model: Path) -> None:
    source = read_source(model)
    settings = search.Search(source, made_up_sample(source), lambda done, steps: None)
    assert settings.files.size(settings.smallest) <= min(trial.bytes for trial in settings.curve)
    assert settings.smallest.words <= min(trial.setting.words for trial in settings.curve)


def test_adaptation_comes_nearer_to_the_whole_model(model: Path, rows_file: Path) -> None:
    from contextlib import ExitStack

    from capsulet.text.preparation import LabelledFiles, Listener, prepare
    from capsulet.text.rows import ReadOptions

    source = read_source(model)
    with ExitStack() as scratch:
        files = LabelledFiles([str(rows_file)], [str(rows_file)], ReadOptions(), None)
        corpora = prepare(files, source.config.options.text, 0.25, scratch, Listener())
        settings = search.Search(source, file_sample(source, corpora, unseen=True), lambda done, steps: None)
        setting = Setting(source.num_words, 4, 3)
        before = settings.measure(settings.students.student(setting), setting).error
        after = settings.measure(settings.students.adapted(setting, 60), setting).error
    assert after < 0.5 * before


def test_labels_that_change_count_although_the_accuracy_is_equal() -> None:
    judge = object.__new__(trials.Judge)
    judge.whole_lengths = judge.probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.5, 0.5]], np.float32)
    lengths = np.array([[0.1, 0.9], [0.3, 0.4], [0.1, 0.9], [0.7, 0.2]], np.float32)  # two labels change
    expected = judge.expected_loss(lengths, slice(None))
    assert expected == pytest.approx((0.8 + 0.2) / 4)
    trial = trials.Trial(Setting(10, 4, 8), 0.9, 0.5, 0.0, 1000, False, expected)
    assert trial.loss(0.9) == pytest.approx(25)
    assert trial.loss(0.6) == pytest.approx(25)
    assert dataclasses.replace(trial, expected_loss=0.0).loss(0.95) == pytest.approx(5)
    judge.probabilities = None
    assert judge.expected_loss(lengths, slice(None)) == 0


def test_a_loss_that_cannot_be_held_writes_nothing(
    model: Path, rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = trials.Judge.judge

    def worse(*arguments: object) -> trials.Trial:
        return dataclasses.replace(judge(*arguments), accuracy=0.25)

    monkeypatch.setattr(trials.Judge, "judge", worse)
    monkeypatch.setattr(students, "FEWEST_STEPS", 2)
    with pytest.raises(
        CapsuletError, match=r"max_loss=0.1 cannot be reached: the best file loses about \d+\.\d+ points"
    ):
        capsulet.compress(model, rows_file, tmp_path / "small.safetensors", valid=rows_file, max_loss=0.1, threads=1)
    assert not list(tmp_path.iterdir())
    said: list[str] = []
    made = capsulet.compress(
        model, rows_file, tmp_path / "small.safetensors", valid=rows_file, threads=1, tell=said.append
    )
    assert Path(made.path).stat().st_size == made.bytes, "nobody asked for a bound: the best there is, and a note"
    assert "it is written anyway" in said[-1]
    assert not any("trying a larger file" in line for line in said[-2:]), "there was none"


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("500KB", 500_000),
        ("0.5MB", 500_000),
        ("1e9", 10**9),
        (" 512 KiB ", 524_288),
        (300_000, 300_000),
        ("2.5e2 kb", 250_000),
    ],
)
def test_sizes(said: str | int, size: int) -> None:
    assert parse_size(said) == size


@pytest.mark.parametrize("said", ["abc", "", "KB", "-5KB", "5 apples", "1e99", "0", "nan", "inf", "0x10", True, "1e-3"])
def test_sizes_that_are_none(said: object) -> None:
    with pytest.raises(InputError, match=r"target_size is .*: expected"):
        parse_size(said)


def test_bad_calls(model: Path, rows_file: Path, tmp_path: Path) -> None:
    def refused(words: str, *arguments: object, **more: object) -> None:
        with pytest.raises(InputError, match=words):
            capsulet.compress(*arguments, **more)

    out = tmp_path / "small.safetensors"
    refused("cannot be combined", model, rows_file, out, target_size="1MB", max_loss=1)
    refused("measured on labelled texts", model, out=out, max_loss=1)
    refused("expected percentage points", model, rows_file, out, max_loss=-1)
    refused("expected percentage points", model, rows_file, out, max_loss=float("nan"))
    refused("does not end in .safetensors", model, rows_file, tmp_path / "small.bin")
    refused("is the model itself", model, rows_file, model / "model.safetensors")
    refused(r"ends in \.svg", model, rows_file, out, plot=tmp_path / "curve.png")
    (tmp_path / "other.csv").write_text("label,text\n" + "sport,the match\nweather,it rains\n" * 20)
    refused("label 'weather' is unknown to the model", model, tmp_path / "other.csv", out, max_loss=1)
    (tmp_path / "broken.safetensors").write_bytes(b"nonsense")
    refused("is not a model, or it is damaged", tmp_path / "broken.safetensors", rows_file, out)
    assert not out.exists()
    small = capsulet.compress(model / "model.safetensors", out=out, threads=1).path
    refused("is a compressed file: compress takes the model", small, out=tmp_path / "smaller.safetensors")


def test_a_damaged_file_is_refused(file: Path, tmp_path: Path) -> None:
    tensors = dict(read_model(file).tensors)
    packed = bytes(tensors[PACKED].data)
    damaged: dict[str, dict[str, Tensor]] = {
        "zeros": {**tensors, PACKED: from_bytes(packed[:-9] + bytes(9))},
        "none": {name: tensor for name, tensor in tensors.items() if name != PACKED},
        "weights": {name: tensor for name, tensor in tensors.items() if name != "head.transforms"},
    }
    for name, parts in damaged.items():
        path = tmp_path / f"{name}.safetensors"
        path.write_bytes(pack(parts, {"format": "capsulet", "version": str(FORMAT_VERSION)}))
        with pytest.raises(ModelError, match=f"{name}.safetensors"):
            capsulet.load(path)
    (tmp_path / "cut.safetensors").write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(ModelError, match=r"cut\.safetensors is damaged"):
        capsulet.load(tmp_path / "cut.safetensors")


def test_words_of_more_than_255_bytes_are_unknown(rows_file: Path, tmp_path: Path) -> None:
    rows, long = tmp_path / "rows.jsonl", "x" * 256
    rows.write_text(rows_file.read_text() + json.dumps({"label": "sport", "text": f"{long} {long[1:]} match"}) + "\n")
    capsulet.train(rows, tmp_path / "model", valid=rows, **{**TINY, "epochs": 2, "unknown_words": "apart"})
    made = capsulet.compress(tmp_path / "model", out=tmp_path / "small.safetensors", threads=1)
    for model in (tmp_path / "model", made.path):
        words = read_model(Path(model)).words
        assert long[1:] in words and long not in words


@pytest.mark.parametrize("bits", [8, 3])
@pytest.mark.parametrize("words", [0, 1, 30, 73])
@pytest.mark.parametrize("choice", [0, 1, -1])
def test_estimated_sizes_are_a_little_above_the_real_ones(model: Path, bits: int, words: int, choice: int) -> None:
    source = read_source(model)
    settings = search.Search(source, made_up_sample(source), lambda done, steps: None)
    setting = Setting(words, 6, bits, settings.ngrams.choices[choice])
    facts = {"compression": {**dataclasses.asdict(setting), "adapted": False}, **settings.files.inherited(words)}
    data, _ = settings.build(settings.students.student(setting), setting, facts)
    assert len(data) <= settings.files.size(setting) <= len(data) + 1000


def test_ctrl_c_at_any_moment_writes_nothing(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)  # to this thread; `os.kill` may pick another one, and the call then goes on

    monkeypatch.setattr(search.Search, "measure", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            capsulet.compress(model, out=tmp_path / "small.safetensors", target_size="1MB", threads=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere does not exist"):
        capsulet.compress(tmp_path / "nowhere", out=tmp_path / "small.safetensors")


def test_a_model_that_was_cross_validated(rows_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There are no validation texts: the training texts judge the file, and the calibration stays."""
    for network in (True, False):
        options = {**TINY, "epochs": 2, "valid_fraction": None, "linear_only": not network}
        capsulet.train(rows_file, tmp_path / "model", report=None, **options)
        small = tmp_path / "small.safetensors"
        assert main(["compress", str(tmp_path / "model"), str(rows_file), "--out", str(small), "--threads", "1"]) == 0
        said = capsys.readouterr().err
        assert " on the given texts, in " in said and "validation texts" not in said and "calibrated" not in said
        whole, made = (capsulet.load(path).config for path in (tmp_path / "model", small))
        assert made.calibration["texts"] == whole.calibration["texts"] == 12 and made.linear_only == (not network)
