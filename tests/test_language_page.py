"""The examples of docs/how-to/languages.md: their files, commands and answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import capsulet

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "languages.md"


@pytest.mark.parametrize("name", ["ru", "ar", "ko"])
def test_an_example(name: str, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(rf"`{name}\.csv`:\n\n```text\n(.*?)```", page, re.DOTALL)[0]
    (tmp_path / f"{name}.csv").write_text(rows, encoding="utf-8")
    text = re.findall(rf'capsulet explain {name} --text "(.*?)"', page)[0]
    shown = page[page.index(f"capsulet explain {name} ") :].partition("```text\n")[2].partition("```")[0]
    label, probability = re.findall(r"^(\S+)  probability (\S+)", shown)[0]
    capsulet.train(tmp_path / f"{name}.csv", tmp_path / name, report=None, cache=None)
    classifier = capsulet.load(tmp_path / name)
    answer = classifier.predict([text])[0]
    assert answer.label == label
    assert answer.probability == pytest.approx(float(probability), abs=0.002)
    contributions = [(token.text, token.contribution) for token in classifier.explain(text).tokens]
    words = re.findall(r"^(\S+) +([+-]\d\.\d{3})", shown.partition("contribution")[2], re.MULTILINE)
    assert len(words) > 4
    for word, value in words:
        if word != "sum":
            assert any(own == word and abs(found - float(value)) < 0.01 for own, found in contributions), word
