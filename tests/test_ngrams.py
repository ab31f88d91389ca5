"""N-gram features from end to end: what files, folders and tables say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import InputError
from capsulet.storage.folder import read_config
from capsulet.training.monitor import Silence
from tests.conftest import TEXTS, TINY, stored_config

TWO = [(label, text) for label, text in TEXTS if label != "money"]


def write(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


@pytest.mark.parametrize("rows", [1, 2, 3, 128, 1000])
def test_any_number_of_rows_and_two_classes(rows: int, tmp_path: Path) -> None:
    file = write(tmp_path / "two.jsonl", TWO)
    capsulet.train(file, tmp_path / "model", valid=file, **TINY, ngram_features=rows)
    config = stored_config(tmp_path / "model")
    assert config["ngrams"]["rows"] <= max(rows, 64) and config["ngrams"]["rows"] % 64 == 0
    whole = capsulet.load(tmp_path / "model")
    small = capsulet.load(capsulet.compress(tmp_path / "model", out=tmp_path / "small.safetensors", threads=1).path)
    for classifier in (whole, small):
        why = classifier.explain(TWO[0][1])
        assert sum(token.contribution for token in why.tokens) == pytest.approx(why.length_before_squash, abs=1e-4)


def test_none_is_none(rows_file: Path, tmp_path: Path) -> None:
    capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **TINY, ngram_features=0)
    config = stored_config(tmp_path / "model")
    assert "ngrams" not in config
    assert capsulet.load(tmp_path / "model").explain("a match").ngrams == 0


def test_a_table_that_is_too_large_is_refused_at_once(rows_file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("capsulet.training.setup.MOST_NUMBERS", 1000)
    with pytest.raises(
        InputError, match=r"ngram_features=400 with 3 classes is a table of 1,200 numbers: expected at most 333 rows"
    ):
        capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **TINY, ngram_features=400)
    assert not (tmp_path / "model").exists()


def test_a_file_without_it_does_not_speak_of_it(model: Path, rows_file: Path, tmp_path: Path, capsys) -> None:
    made = capsulet.compress(model, rows_file, tmp_path / "small.safetensors", valid=rows_file, max_loss=50, threads=1)
    assert made.parts["n-grams"] == 0
    assert capsulet.load(made.path).config.ngrams is None
    assert main(["info", str(model), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parameters"] == sum(told["parameters_by_part"].values()) and told["ngrams"]["rows"] > 0


def test_reports_and_tables_count_what_is_there(rows_file: Path, tmp_path: Path, capsys) -> None:
    capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **TINY, ngram_features=0)
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    assert "ngrams" not in json.loads(capsys.readouterr().out)["parameters_by_part"]
    capsulet.evaluate(tmp_path / "model", rows_file, report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("--ngram-features 0", "")  # of the command
    assert "n-gram features" not in page


class Steps(Silence):
    """Counts the steps of the network, and those that an earlier run has done."""

    done, made = 0, 0

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.done = done

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        self.made += 1


def test_an_end_before_the_mixture_is_written_can_be_gone_on_from(rows_file: Path, tmp_path: Path, monkeypatch) -> None:
    options, steps = {**TINY, "epochs": 2}, Steps()
    whole = capsulet.train(rows_file, tmp_path / "whole", valid=rows_file, monitor=steps, **options)
    assert steps.made == 6

    def killed(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("capsulet.training.network_stage.choose_mixture", killed)
    with pytest.raises(MemoryError):
        capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **options)
    assert read_config(tmp_path / "model").linear_only and (tmp_path / "model.checkpoint").exists()
    monkeypatch.undo()
    steps = Steps()
    again = capsulet.train(rows_file, tmp_path / "model", valid=rows_file, resume=True, monitor=steps, **options)
    assert (steps.done, steps.made) == (6, 0) and again.best == whole.best
    files = [tmp_path / name / "model.safetensors" for name in ("model", "whole")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not (tmp_path / "model.checkpoint").exists()


@pytest.mark.parametrize("pieces", [0, 5])
def test_unknown_words_change_the_answer_by_their_pieces(pieces: int, tmp_path: Path) -> None:
    """No word of the new texts is known, or similar to a known word."""
    endings = {"verb": "izing", "noun": "ation"}
    rows = [
        (label, f"{a}{b}{ending}")
        for a in ("bra", "dro", "fle", "gri")
        for b in "lmnprst"
        for label, ending in endings.items()
    ]
    file = write(tmp_path / "rows.jsonl", rows)
    capsulet.train(file, tmp_path / "model", valid=file, **{**TINY, "unknown_words": "apart"}, pieces=pieces)
    classifier = capsulet.load(tmp_path / "model")
    new = ["zuxizing", "zuxation", "wokizing", "wokation"]
    assert all(ids[0] == 1 for ids in classifier.session.encode(new))
    labels = [found.label for found in classifier.predict(new)]
    assert labels == ["verb", "noun"] * 2 if pieces else len(set(labels)) == 1


def test_texts_of_other_scripts(tmp_path: Path) -> None:
    """Contributions sum to the length before squash, and the spelled text has the answer of the text."""
    rows = [
        ("weather", "今天天气很好"), ("weather", "明天天气不好"), ("weather", "วันนี้อากาศดี"),
        ("weather", "Сегодня хорошая погода"),
        ("food", "我喜欢吃面条"), ("food", "他喜欢吃米饭"), ("food", "ฉันชอบกินข้าว"), ("food", "Я люблю есть суп"),
    ]  # fmt: skip
    file = write(tmp_path / "rows.jsonl", rows)
    capsulet.train(file, tmp_path / "model", valid=file, **TINY)
    classifier = capsulet.load(tmp_path / "model")
    assert [classifier.predict([text])[0].label for _, text in rows] == [label for label, _ in rows]
    assert classifier.predict(["后天天气很好"])[0].label == "weather"
    for _, text in rows:
        why = classifier.explain(text)
        assert sum(token.contribution for token in why.tokens) == pytest.approx(why.length_before_squash, abs=1e-4)
        assert why.ngrams != 0
        spelled = " ".join(classifier.session.spell(text))
        again = classifier.explain(spelled, spelled=True)
        assert [token.contribution for token in again.tokens] == [token.contribution for token in why.tokens]
        assert again.probability == why.probability and again.label == why.label
