"""`capsulet explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capsulet.cli.explain import print_explanation
from capsulet.results import Explanation, TokenContribution
from tests.conftest import SETS


def test_json_is_one_object(run, model: Path) -> None:
    answer = run("explain", model, "--text", "the match", "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found["label"] in ("food", "money", "sport")
    assert [(token["text"], token["start"], token["end"]) for token in found["tokens"]] == [
        ("the", 0, 3),
        ("match", 4, 9),
    ]
    total = sum(token["contribution"] for token in found["tokens"])
    assert total == pytest.approx(found["length_before_squash"], abs=1e-5)


def test_words_and_numbers(run, model: Path) -> None:
    answer = run("explain", model, "--text", "the match [bold]", "--label", "food")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith("food  probability 0.")
    assert lines[1] == "the match [bold]"
    assert any(line.startswith("match ") for line in lines)
    assert lines[-1].startswith("sum ")
    assert not [line for line in lines if "capsule" in line or "codeword" in line]


def test_a_narrow_terminal_has_no_bars(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ("explain", model, "--text", "the match")
    assert "█" in run(*call).out
    monkeypatch.setattr("capsulet.cli.explain.columns", lambda: 40)
    assert "█" not in run(*call).out


def test_an_empty_text(run, model: Path) -> None:
    assert run("explain", model, "--text", "").status == 0


def test_an_unknown_label(run, model: Path) -> None:
    answer = run("explain", model, "--text", "x", "--label", "art")
    assert (answer.status, answer.out) == (2, "")
    assert "label 'art' is unknown to the model: expected one of food, money, sport" in answer.line


def test_a_label_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    token = TokenContribution("[red]", 0, 5, -1.0)
    print_explanation("[red]", Explanation("[/b] a [i]label", 0.5, 0.5, 1.0, (token,)))
    assert capsys.readouterr().out.splitlines()[0] == "[/b] a [i]label  probability 0.500"


def test_contrast_and_check_in_json(run, model: Path) -> None:
    text = "the match and the soup"
    call = ("explain", model, "--text", text, "--label", "food", "--contrast", "sport", "--check", "--json")
    found = json.loads(run(*call).out)
    assert found["contrast"]["label"] == "sport"
    difference = found["length_before_squash"] - found["contrast"]["length_before_squash"]
    assert sum(token["contribution"] for token in found["contrast"]["tokens"]) == pytest.approx(difference, abs=1e-5)
    assert sum(token["contribution"] for token in found["tokens"]) == pytest.approx(
        found["length_before_squash"], abs=1e-5
    )
    assert len(found["occlusion"]) == 5
    assert 0 <= found["probability"] <= 1
    assert found["capsules"][0].keys() == {"capsule", "coupling", "contribution"}
    assert found["codewords"][0].keys() == {"codebook", "codeword", "contribution", "words"}


def test_the_predicted_label_is_set_against_the_next_best(run, model: Path) -> None:
    text = "Bake the bread until the crust is golden"
    found = json.loads(run("explain", model, "--text", text, "--contrast", "food", "--json").out)
    assert found["label"] == "food" != found["contrast"]["label"]


def test_contrast_and_check_in_words(run, model: Path) -> None:
    call = ("explain", model, "--text", "the match", "--label", "food", "--contrast", "sport", "--check", "--details")
    lines = run(*call).out
    assert "left out" in lines
    assert "against sport (probability 0." in lines
    assert "primary capsules " in lines and "codewords " in lines


def test_a_file(run, model: Path, rows_file: Path) -> None:
    found = json.loads(run("explain", model, rows_file, "--json").out)["explanations"]
    assert len(found) == 12
    assert found[0]["text"].startswith("The home team") and found[0]["label"] == "sport"


def test_a_page(run, model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = "the <b>match</b> & soup"
    answer = run("explain", model, "--text", text, "--label", "food", "--contrast", "money", "--check", "--html", page)
    assert (answer.status, answer.out, answer.line) == (0, "", f"page saved in {page}")
    written = page.read_text()
    assert "<b>" not in written and "&lt;" in written and "and not <bdi>money</bdi>" in written
    assert "http" not in written.replace("http-equiv", "") and "default-src 'none'" in written
    assert "<script" not in written and "script-src" not in written
    assert "base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'\">" in written
    assert "color-scheme: light dark" in written


def test_a_page_of_right_to_left_text(run, model: Path, tmp_path: Path) -> None:
    page, text = tmp_path / "page.html", "فاز الفريق \u202ematch\u202c soup"
    assert run("explain", model, "--text", text, "--contrast", "money", "--label", "food", "--html", page).status == 0
    written = page.read_text()
    assert written.count('<p dir="auto">') == 2 and "\u202e" not in written and "\\u202e" in written
    assert '<h2><bdi>food</bdi> <span class="soft">' in written
    assert "<td><bdi>الفريق" in written, "words of the table"
    assert "<td><bdi>soup</bdi> <bdi>" in written, "words of a codeword"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "explain takes either files or --text"),
        (["--text", "x", "--contrast", "art"], "label 'art' is unknown to the model"),
        (["--text", "x", "--label", "food", "--contrast", "food"], "label and contrast are both 'food'"),
        (["--text", "x", "--html", "page.txt"], "does not end in .html"),
        (["/nowhere.csv"], "/nowhere.csv: no such file"),
    ],
)
def test_wrong_calls(run, model: Path, words: list[str], message: str) -> None:
    answer = run("explain", model, *words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


TWO, NONE = SETS[0][1], SETS[-1][1]


def test_every_label_that_is_given_is_explained(run, sets_model: Path, tmp_path: Path) -> None:
    found = json.loads(run("explain", sets_model, "--text", TWO, "--json").out)["explanations"]
    assert {one["label"] for one in found} == {"sport", "money"} and {one["text"] for one in found} == {TWO}
    assert [one["probability"] for one in found] == sorted((one["probability"] for one in found), reverse=True)
    for one in found:
        total = sum(token["contribution"] for token in one["tokens"])
        assert total == pytest.approx(one["length_before_squash"], abs=1e-5) and one["probability"] >= one["threshold"]
    (best,) = json.loads(run("explain", sets_model, "--text", NONE, "--json").out)["explanations"]
    assert best["probability"] < best["threshold"]
    alone = json.loads(run("explain", sets_model, "--text", TWO, "--label", "food", "--json").out)
    assert alone["label"] == "food" and alone["probability"] < alone["threshold"]

    lines = run("explain", sets_model, "--text", TWO, "--text", NONE).out.splitlines()
    said = [line for line in lines if "  probability 0." in line]
    assert [" reached" in line and " not reached" not in line for line in said] == [True, True, False]
    assert " not reached" in said[-1]
    page = tmp_path / "page.html"
    assert run("explain", sets_model, "--text", TWO, "--html", page).status == 0
    assert page.read_text().count(", threshold 0.") == 2


def test_a_contrast_is_not_explained_against_itself(run, sets_model: Path) -> None:
    found = json.loads(run("explain", sets_model, "--text", TWO, "--contrast", "money", "--json").out)["explanations"]
    assert [(one["label"], one["contrast"]["label"]) for one in found] == [("sport", "money")]


def test_one_label_a_text_has_no_threshold(run, model: Path) -> None:
    assert "threshold" not in json.loads(run("explain", model, "--text", "the match", "--json").out)


def test_explanations_of_a_file_come_one_by_one(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "The home team won the match"}\n{"text": \n')
    answer = run("explain", model, file)
    assert answer.status == 2 and "texts.jsonl line 2" in answer.line
    assert "The home team won the match" in answer.out


def test_a_list_of_explanations(run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("The home team won the match\nthe bank\n")
    found = json.loads(run("explain", model, file, "--json").out)["explanations"]
    assert [one["text"] for one in found] == ["The home team won the match", "the bank"]
    found = json.loads(run("explain", model, "--text", "a", "--text", "b", "--json").out)["explanations"]
    assert [one["text"] for one in found] == ["a", "b"]


def test_a_check_of_a_long_text_says_why_it_takes_long(run, model: Path) -> None:
    answer = run("explain", model, "--text", "match " * 500, "--check", "--json")
    assert "note: --check runs this text 500 times" in answer.err
