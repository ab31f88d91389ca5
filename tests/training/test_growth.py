"""Growing a model: more rows, new words, new classes, with and without the old rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import InputError
from capsulet.model.ngrams import NgramTable, address
from capsulet.model.shapes import BIAS, CHECKS, LEVELS, SCALES
from capsulet.native import core_module
from capsulet.storage.model_file import MODEL, read_model
from capsulet.storage.weights import unpack_weights
from capsulet.text.corpus import spelled_texts
from capsulet.training import extension, rehearsal
from capsulet.training import growth as module
from capsulet.training.extension import joined, matrix_of_rows, with_features
from capsulet.training.old_model import inherited
from tests.conftest import SETS, TEXTS, generated_rows
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of
from tests.training.test_linear import documents

MUSIC = [
    "The violinist tuned her violin before the concert", "A quartet by Haydn opened the concert",
    "The choir sang a requiem in the cathedral", "He composed a sonata for violin and piano",
    "The orchestra rehearsed the symphony with its conductor", "Her album has ten songs for piano and choir",
    "The band played loud songs on electric guitars", "A pianist improvised on a jazz melody",
]  # fmt: skip


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Old rows, rows of a new class, validation rows of both, and a linear model of the old rows."""
    folder = tmp_path_factory.mktemp("growth")
    rows = [(label, text) for label, text in generated_rows(300)]
    music = [("music", text) for text in MUSIC]
    found = {
        "old": write(folder / "old.jsonl", rows[:240]), "new": write(folder / "new.jsonl", music[:6]),
        "valid": write(folder / "valid.jsonl", rows[240:] + music[6:]), "model": folder / "model",
    }  # fmt: skip
    capsulet.train(found["old"], found["model"], linear_only=True, threads=1, report=None)
    return found


def test_a_new_class_without_old_rows(files: dict[str, Path], tmp_path: Path) -> None:
    before = (files["model"] / MODEL).read_bytes()
    told: list[str] = []
    training = capsulet.train(files["new"], tmp_path / "grown", from_model=files["model"], threads=1, tell=told.append)
    assert (files["model"] / MODEL).read_bytes() == before
    old, grown = capsulet.load(files["model"]), capsulet.load(tmp_path / "grown")
    assert grown.labels == (*old.labels, "music") == training.labels
    texts = [text for _, text in generated_rows(300)]
    same = [one.label == two.label for one, two in zip(old.predict(texts), grown.predict(texts), strict=True)]
    assert np.mean(same) > 0.99
    assert [answer.label for answer in grown.predict(MUSIC)].count("music") >= 6
    growth = training.growth
    assert growth is not None and growth.forgotten is None and "not measured" in growth.note
    assert growth.new_labels == ("music",) and growth.path == str(files["model"])
    assert [(row.texts, row.count, row.before) for row in growth.rows] == [("new texts of new classes", 6, None)]
    assert growth.kept is not None and growth.kept > 0.95
    assert grown.config.data.label_counts == {**old.config.data.label_counts, "music": 6}
    assert grown.config.data.train_rows == 246
    assert f"--from {files['model']}" in grown.config.command
    assert any("calibrated as those of the old model" in line for line in told)
    assert grown.explain(MUSIC[0], "music").tokens  # contributions of new words


def test_new_features_count_alike_for_all_old_classes(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = []

    def watched(extended: extension.ExtendedTable, *rest: Any) -> Any:
        fits.append((extended, fit := extension.fit_extension(extended, *rest)))
        return fit

    monkeypatch.setattr(module, "fit_extension", watched)
    capsulet.train(files["new"], tmp_path / "grown", from_model=files["model"], threads=1)
    (start, known), found = fits[0]
    change = (found.table.levels * found.table.scales - start.levels * start.scales)[:, :3]
    assert np.allclose(change[known], 0, atol=1e-5) and change[~known].min() < -1
    assert np.ptp(change[~known], axis=1).max() <= found.table.scales.max(), "a difference of one level: rounding"


def test_equal_calls_give_equal_models(files: dict[str, Path], tmp_path: Path) -> None:
    for name in "ab":
        capsulet.train(files["new"], tmp_path / name, from_model=files["model"], threads=1)
    first, second = ((tmp_path / name / MODEL).read_bytes() for name in "ab")
    assert first == second


def test_validation_rows_measure_what_is_forgotten(files: dict[str, Path], tmp_path: Path) -> None:
    training = capsulet.train(
        files["new"], tmp_path / "grown", from_model=files["model"], valid=files["valid"], threads=1
    )
    assert training.growth is not None
    old, new = training.growth.rows
    assert (old.texts, old.count, new.count) == ("texts of old classes", 60, 2)
    pairs = list(generated_rows(300))[240:]
    for path, share in ((files["model"], old.before), (tmp_path / "grown", old.after)):
        answers = capsulet.load(path).predict([text for _, text in pairs])
        right = [one.label == label for one, (label, _) in zip(answers, pairs, strict=True)]
        assert share == pytest.approx(np.mean(right))
    assert training.growth.forgotten == pytest.approx(old.before - old.after)  # type: ignore[operator]
    assert training.growth.forgotten <= 0.01


def test_with_old_rows_it_is_trained_on_all(files: dict[str, Path], tmp_path: Path) -> None:
    training = capsulet.train(
        files["new"], tmp_path / "grown", from_model=files["model"], replay=files["old"], threads=1, report=None
    )
    assert training.train_rows == 246 and training.linear_only  # as the old model was asked for
    assert training.growth is not None
    old, new = training.growth.rows
    config = capsulet.load(files["model"]).config
    assert (old.count, new.count, old.before) == (240, 6, config.metrics.valid_accuracy)
    assert training.growth.forgotten == pytest.approx(old.before - old.after)  # type: ignore[operator]
    assert "a difference of up to" in training.growth.note
    assert "--replay" in capsulet.load(tmp_path / "grown").config.command


@pytest.mark.parametrize(("tokens", "kept"), [(None, {}), (70, {"max_tokens": 70})])
def test_the_tokens_per_text_are_kept_if_they_were_set(
    tokens: int | None, kept: dict[str, int], files: dict[str, Path]
) -> None:
    config = read_model(files["model"]).config
    text = replace(config.options.text, max_tokens=tokens or config.options.text.max_tokens)
    assert inherited(replace(config, options=replace(config.options, text=text))) == {"linear_only": True, **kept}


def test_more_rows_and_new_words_of_old_classes(files: dict[str, Path], tmp_path: Path) -> None:
    rows = [("sport", f"zebra okapi lemur {number}") for number in range(8)]
    rows += [(label, f"{label}ish tapir gnu {number}") for label in ("food", "money") for number in range(8)]
    path = write(tmp_path / "more.jsonl", rows)
    training = capsulet.train(path, tmp_path / "grown", from_model=files["model"], threads=1)
    assert training.growth is not None and training.growth.new_labels == ()
    (row,) = training.growth.rows
    assert row.before is not None and row.after is not None and row.after > row.before
    grown = capsulet.load(tmp_path / "grown")
    assert [one.label for one in grown.predict(["okapi zebra", "foodish", "moneyish"])] == ["sport", "food", "money"]
    assert grown.config.calibration != capsulet.load(files["model"]).config.calibration  # every class has new texts


def test_a_model_with_a_network_keeps_it(model: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "new.jsonl", [("music", text) for text in MUSIC])
    training = capsulet.train(path, tmp_path / "grown", from_model=model, threads=1)
    assert not training.linear_only
    old, grown = unpack_weights(read_model(model)), unpack_weights(read_model(tmp_path / "grown"))
    np.testing.assert_array_equal(grown["embedding.codes"], old["embedding.codes"])
    np.testing.assert_array_equal(grown["head.transforms"][:, :, :3], old["head.transforms"])
    assert not grown["head.transforms"][:, :, 3].any()
    texts, found = [text for _, text in TEXTS], capsulet.load(tmp_path / "grown")
    assert [one.label for one in found.predict(texts)] == [one.label for one in capsulet.load(model).predict(texts)]
    assert [one.label for one in found.predict(MUSIC)].count("music") >= 6


def test_a_model_whose_features_count_by_their_occurrences(tmp_path: Path) -> None:
    train, other = (texts_of_documents(seed) for seed in (1, 2))
    names = ["ship", "tree"]
    old = write(tmp_path / "old.jsonl", [(names[place % 2], text) for place, text in enumerate(train)])
    capsulet.train(old, tmp_path / "model", linear_only=True, pieces=0, threads=1, report=None)
    path = write(tmp_path / "new.jsonl", [("music", text) for text in MUSIC])
    capsulet.train(path, tmp_path / "grown", from_model=tmp_path / "model", threads=1)
    before, after = capsulet.load(tmp_path / "model"), capsulet.load(tmp_path / "grown")
    for classifier in (before, after):
        assert classifier.config.ngrams is not None and classifier.config.ngrams.counts
        answers = [answer.label for answer in classifier.predict(other)]
        assert np.mean([answer == names[place % 2] for place, answer in enumerate(answers)]) > 0.9
    assert [answer.label for answer in after.predict(MUSIC)].count("music") >= 6


def texts_of_documents(seed: int) -> list[str]:
    return spelled_texts(documents(seed), np.arange(40))


@pytest.mark.parametrize("counts", [False, True])
def test_rows_as_features_have_the_scores_of_their_table(counts: bool, files: dict[str, Path]) -> None:
    table = replace(stored_table(files["model"]), counts=counts)
    texts = corpus_of([f"{text} {text.split()[0]} {text}" for _, text in generated_rows(20)], [0] * 20, 3)
    parts = [table.rows_of(texts, rows) for rows in np.split(np.arange(20, dtype=np.int64), [7])]
    rows = joined(*parts)
    values = np.tile(table.levels * table.scales, (2, 1)).astype(np.float32)  # of words and pairs, and of pieces
    found = matrix_of_rows(rows, table).scores(values, table.bias)
    np.testing.assert_allclose(found, np.concatenate([table.scores(part) for part in parts]), atol=1e-4)
    assert np.abs(found - replace(table, counts=not counts).scores(rows)).max() > 0.01


def test_what_cannot_grow(files: dict[str, Path], sets_model: Path, tmp_path: Path) -> None:
    def grow(path: Path, out: Path = tmp_path / "grown", **values: Any) -> None:
        capsulet.train(files["new"], out, from_model=path, threads=1, **values)

    golden = Path(__file__).parent.parent / "golden" / "small.safetensors"
    for path, values, problem in (
        (files["model"], {"out": files["model"]}, "and it is kept: choose another out="),
        (files["model"], {"size": "tiny"}, "size has no effect"),
        (files["model"], {"sample_weight": [1.0] * 6}, "sample_weight"),
        (sets_model, {}, "multi-label model, which cannot grow without its old rows"),
        (golden, {}, "compressed model"),
    ):
        with pytest.raises(InputError, match=problem):
            grow(path, **values)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError, match="in one process"):
        patch.setenv("WORLD_SIZE", "2")
        grow(files["model"])
    with pytest.raises(InputError, match="name the model with from_model=…"):
        capsulet.train(files["new"], tmp_path / "grown", replay=files["old"])
    assert not (tmp_path / "grown").exists()


def test_a_multi_label_model_grows_with_its_old_rows(sets_file: Path, sets_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    rows = [(["music"], MUSIC[0]), (["music", "money"], "The choir sold its album to the bank")]
    path.write_text("".join(json.dumps({"labels": labels, "text": text}) + "\n" for labels, text in rows))
    training = capsulet.train(
        path, tmp_path / "grown", from_model=sets_model, replay=sets_file, valid=sets_file, threads=1,
        linear_only=True, network="auto", report=None,
    )  # fmt: skip
    assert training.growth is not None and training.labels == ("food", "money", "music", "sport")
    (old,) = training.growth.rows
    assert old.count == len(SETS) and old.before is not None and old.after is not None


def test_the_command(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", str(files["new"]), "--from", str(files["model"]), "--out", str(tmp_path / "grown")]
    assert main([*words, "--valid", str(files["valid"]), "--json"]) == 0
    captured = capsys.readouterr()
    assert "texts of old classes" in captured.err and "on texts of old classes" in captured.err
    assert f"the old model is unchanged in {files['model']}" in captured.err
    assert json.loads(captured.out)["growth"]["new_labels"] == ["music"]
    assert main([*words, "--engine", "ray"]) == 2
    assert "--from does not work with --engine ray" in capsys.readouterr().err


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "grow.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(block, names)
    assert names["training"].labels == ("money", "sport", "music")


def test_pairs_of_a_table_are_found() -> None:
    words = ["the", "cat", "größe", "x" * 255]
    checks = np.zeros(64, np.uint8)
    hashes = rehearsal.word_hashes(words)
    assert hashes.tolist() == [ngram_oracle.word_hash(word) for word in words]
    pair = rehearsal.step(rehearsal.step(rehearsal.PAIR_SEED, hashes[:1]), hashes[1:2]) & ~np.uint64(1)
    assert int(pair[0]) in {feature.hash for feature in ngram_oracle.features(words[:2], 0)}
    assert not rehearsal.in_table(pair, checks).any()
    place = np.zeros(1, np.int64)
    core_module().place(address(pair), 1, 64, address(place), address(checks))
    assert rehearsal.in_table(pair, checks).all()


def stored_table(path: Path) -> NgramTable:
    weights = unpack_weights(read_model(path))
    return NgramTable(*(np.array(weights[name]) for name in (LEVELS, SCALES, CHECKS)), 5, np.array(weights[BIAS]))


def test_an_extended_table_keeps_its_scores(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    table = stored_table(files["model"])
    old = corpus_of([text for _, text in generated_rows(100)], [0] * 100, 3)
    new = corpus_of(MUSIC, [0] * len(MUSIC), 3)
    rows = np.arange(100, dtype=np.int64)
    expected = table.scores(table.rows_of(old, rows))
    for free, times in ((1.25, 1), (10**9, 8)):  # never enough: doubled until there are the most rows
        monkeypatch.setattr(extension, "FREE_ROWS", free)
        found, known = with_features(table, new, 4, 8 * len(table.checks))
        assert len(found.checks) == times * len(table.checks) and found.levels.shape[1] == 4
        assert (known <= (found.checks > 0)).all() and (found.checks > 0).sum() > known.sum()
        scores = found.scores(found.rows_of(old, rows))
        np.testing.assert_allclose(scores[:, :3], expected, rtol=0.02, atol=0.02)  # a few new rows are read by accident
        assert not scores[:, 3].any()
