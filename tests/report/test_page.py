"""The page: everything is in it, nothing reaches out of it, and what comes from data stays text."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest

from capsulet.config import build_options
from capsulet.report.confusions import MOST_NUMBERS, WORST, matrix_table
from capsulet.report.elements import plain_bytes
from capsulet.report.measures import Mistake
from capsulet.report.page import MOST_BARS, Report, length_bars, render
from capsulet.report.svg import percent
from capsulet.report.trust import SHARES, TOO_FEW
from capsulet.results import Explanation, TokenContribution

Make = Callable[..., Report]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
ALONE = {"meta", "wbr", "path", "rect", "circle"}  # elements that are not closed, or close themselves


class Reader(HTMLParser):
    """Counts elements, collects headings and scripts, and sees that everything that is opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attributes
        if tag not in ALONE - {"rect", "circle"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, words: str) -> None:
        if self.open:
            self.words.setdefault(self.open[-1], []).append(words)


@pytest.mark.parametrize("number", [2, 4, MOST_NUMBERS, MOST_NUMBERS + 1, 150])
def test_every_section_is_there(make_report: Make, number: int) -> None:
    reader = Reader(render(make_report(number)))
    assert reader.open == []
    titles = reader.words["h2"]
    assert titles == [
        "Learning", "Confusions", "Classes", "Trust", "Most confident mistakes", "Data", "Sizes", "How it was made",
    ]  # fmt: skip
    assert reader.elements.count("svg") == 5 + (number > MOST_NUMBERS)
    assert sum("class number" in words for words in reader.words["bdi"]) >= number


def test_it_is_self_contained(make_report: Make) -> None:
    page = render(make_report(30))
    reader = Reader(page)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(reader.elements)
    assert not {"src", "href", "srcset", "action", "data"} & {name for name, _ in reader.attributes}
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "http" not in page.replace("http-equiv", "") and "url(" not in page and "@import" not in page


def test_the_policy_names_the_one_script(make_report: Make) -> None:
    page = render(make_report(4))
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    closed = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
    assert f"content=\"{closed}; script-src 'sha256-{digest}'\"" in page


@pytest.mark.parametrize("number", [4, 30])
def test_what_comes_from_data_stays_text(make_report: Make, number: int) -> None:
    plain = make_report(number)
    labels = (EVIL, *plain.measures.labels[1:])
    classes = plain.measures.evaluation.classes
    evaluation = dataclasses.replace(
        plain.measures.evaluation,
        classes=(dataclasses.replace(classes[0], label=EVIL), *classes[1:]),
        confusions=tuple(
            dataclasses.replace(pair, truth=EVIL, predicted=EVIL) for pair in plain.measures.evaluation.confusions
        ),
    )
    tokens = (TokenContribution(EVIL[:8], 0, 8, 1.0), TokenContribution(EVIL[8:20], 8, 20, -1.0))
    mistake = Mistake(EVIL, (EVIL,), (EVIL,), 0.9, 0.1, Explanation(EVIL, 0.9, 0.9, 1.0, tokens))
    measures = dataclasses.replace(plain.measures, labels=labels, evaluation=evaluation, mistakes=(mistake,))
    evil = dataclasses.replace(
        plain, title=EVIL, measured=EVIL, commands=[EVIL], versions={EVIL: EVIL}, notes=[EVIL], measures=measures,
        parameters={EVIL: 1}, sizes={EVIL: 1},
        config=dataclasses.replace(plain.config, recipe=EVIL, options=build_options(class_weight=EVIL)),
    )  # fmt: skip
    reader = Reader(render(evil))
    assert reader.open == []
    assert reader.elements.count("script") == 1
    assert "img" not in reader.elements
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert EVIL in "".join(reader.words["h1"])


RIGHT_TO_LEFT, OVERRIDE = "رياضة", "x\u202egnp\u2069"


@pytest.mark.parametrize("number", [4, 30])
def test_labels_and_texts_have_their_own_direction(make_report: Make, number: int) -> None:
    plain = make_report(number)
    labels = (RIGHT_TO_LEFT, OVERRIDE, *plain.measures.labels[2:])
    classes = plain.measures.evaluation.classes
    named = [dataclasses.replace(scores, label=label) for scores, label in zip(classes, labels, strict=True)]
    tokens = (TokenContribution("فاز", 0, 3, 1.0), TokenContribution("x", 4, 5, -1.0))
    explanation = Explanation(RIGHT_TO_LEFT, 0.9, 0.9, 1.0, tokens)
    mistake = Mistake(f"فاز {OVERRIDE}", (OVERRIDE,), (RIGHT_TO_LEFT,), 0.9, 0.1, explanation)
    evaluation = dataclasses.replace(plain.measures.evaluation, classes=tuple(named))
    measures = dataclasses.replace(plain.measures, labels=labels, evaluation=evaluation, mistakes=(mistake,))
    page = render(dataclasses.replace(plain, measures=measures))
    assert f"predicted <b><bdi>{RIGHT_TO_LEFT}</bdi></b> (0.90), labelled <b><bdi>x\\u202egnp\\u2069</bdi></b>" in page
    assert f"<tr><td><bdi>{RIGHT_TO_LEFT}</bdi></td>" in page, "the table of classes"
    assert re.search(r"<td class=words><bdi>[^<]+</bdi> \(\d+\)</td>", page), "a number stays behind its label"
    marked = '<mark class="for" style="--s:60%" title="+1.000">فاز</mark>'
    assert f'<p dir="auto">{marked} <mark class="against"' in page and "x</mark>\\u202egnp\\u2069</p>" in page
    head = f'<th title="{RIGHT_TO_LEFT}"><span dir="auto">{RIGHT_TO_LEFT}</span></th>'
    tooltip = f"<title>\u2068{RIGHT_TO_LEFT}\u2069 predicted as "
    assert head in page if number == 4 else tooltip in page
    without_tooltips = re.sub(r"<title>.*?</title>", "", page)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", without_tooltips)
    assert "p[dir=auto] { unicode-bidi: plaintext; max-width: none; }" in page and "\u202e" not in page


def test_words_are_marked_by_what_they_gave(make_report: Make) -> None:
    page = render(make_report(4))
    assert '<mark class="for" style="--s:60%" title="+0.500">good</mark>' in page
    assert '<mark class="against" style="--s:36%" title="-0.300">&lt;b&gt;bad&lt;/b&gt;</mark> text' in page


def test_a_long_text_is_cut_around_what_counted(make_report: Make) -> None:
    report = make_report(4)
    text = "word " * 400 + "here" + " word" * 400
    tokens = (TokenContribution("word", 0, 4, 0.1), TokenContribution("here", 2000, 2004, 1.0))
    mistake = Mistake(text, ("a",), ("b",), 0.9, 0.1, Explanation("b", 0.9, 0.9, 1.1, tokens))
    page = render(dataclasses.replace(report, measures=dataclasses.replace(report.measures, mistakes=(mistake,))))
    assert ">here</mark>" in page
    (shown,) = re.findall(r'<p dir="auto">(….*?…)</p>', page)
    assert len(re.sub("<.*?>", "", shown)) == 502


def test_figures_are_those_of_the_measures(make_report: Make) -> None:
    report = make_report(4)
    words = Reader(render(report)).words
    accuracy = report.measures.evaluation.accuracy
    assert f"{100 * accuracy:.4g} %" in words["dd"]
    assert words["pre"] == ["capsulet train rows.csv --out model"]
    cells = [int(text.replace(",", "")) for text in words["td"][:16] if text.strip()]
    confusions = report.measures.answers.confusions
    assert cells == [count for row in confusions for _, count in sorted(row.items())][: len(cells)]
    table = words["td"]
    assert f"{100 * report.measures.evaluation.classes[0].f1:.1f}" in table
    assert "7" in table  # the seed


def test_no_mistakes_no_epochs_and_calibrated_probabilities(make_report: Make) -> None:
    report = make_report(30)
    answers = report.measures.answers
    diagonal = [{place: sum(row.values())} for place, row in enumerate(answers.confusions)]
    answers = answers._replace(right=[1] * len(answers.right), confusions=diagonal)
    raw = report.measures.evaluation.reliability
    calibrated = dataclasses.replace(raw, error_after=0.0123, bins_after=raw.bins_before)
    evaluation = dataclasses.replace(report.measures.evaluation, accuracy=1.0, confusions=(), reliability=calibrated)
    measures = dataclasses.replace(report.measures, answers=answers, mistakes=(), evaluation=evaluation)
    page = render(dataclasses.replace(report, measures=measures, epochs=[]))
    assert Reader(page).open == []
    assert "Learning" not in page
    assert "There are no confusions." in page
    assert "None: every text was given exactly its labels." in page
    assert "Bars: calibrated probabilities, expected calibration error 0.012 (15 bins)" in page


@pytest.mark.parametrize("count", [1, 2, 15])
def test_few_texts(make_report: Make, count: int) -> None:
    reader = Reader(render(make_report(3, count)))
    assert reader.open == [] and "Coverage" not in reader.words["h3"]
    assert TOO_FEW in reader.words["p"]


def test_tiles_stand_in_one_row_or_in_two_equal_ones(make_report: Make) -> None:
    page = render(make_report(3))
    assert page.count('<dl class="tiles" style="--n:6;--half:3">') == 1
    assert "Coverage" in Reader(page).words["h3"] and TOO_FEW not in page and "`" not in page.partition("<h1>")[2]


def test_a_thousand_classes_stay_a_page(make_report: Make) -> None:
    page = render(make_report(1200, 3000))
    assert len(page) < 1_000_000
    assert "200 more are left out" in page


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (3_264_000, "3.26 MB"), (5_000_000_000, "5 GB")],
)
def test_bytes(value: int, words: str) -> None:
    assert plain_bytes(value) == words


def test_the_table_of_coverage(make_report: Make) -> None:
    report = make_report(4)
    right = np.array(report.measures.answers.right, bool)
    order = np.argsort(-np.array(report.measures.answers.certainty), kind="stable")
    page = render(report)
    for share in SHARES:
        surest = order[: math.ceil(share * len(order))]
        wrong = int((~right[surest]).sum())
        cells = (percent(share), f"{100 * right[surest].mean():.2f} %", f"{wrong:,}")
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page


def test_rows_of_a_part_of_the_matrix_hold_all_texts(make_report: Make) -> None:
    report = make_report(MOST_NUMBERS + 6)
    (table,) = re.findall(r'<table class="matrix">.*?</table>', render(report), flags=re.S)
    rows = re.findall(r'<tr><th title="(.*?)">(.*?)</tr>', table)
    assert len(rows) == WORST
    for label, cells in rows:
        place = report.measures.labels.index(label)
        numbers = [int(number.replace(",", "")) for number in re.findall(r">([\d,]+)</td>", cells)]
        assert sum(numbers) == sum(report.measures.answers.confusions[place].values())


def test_a_class_without_texts_has_an_empty_row() -> None:
    table = matrix_table([{}, {0: 2, 1: 5, 2: 1}, {2: 3}], ["none", "some", "more"], [0, 1])
    assert [re.findall(r">(\d*)</td>", row) for row in table.split("<tr>")[2:]] == [["", "", ""], ["2", "5", "1"]]


@pytest.mark.parametrize("longest", [3, 22, 60, 700])
def test_a_bar_of_lengths_holds_as_many_whole_numbers_as_the_others(longest: int) -> None:
    tokens = np.append(np.repeat(np.arange(1, longest + 1), 200), 100_000)
    edges, counts = length_bars(tokens.tolist())
    assert sum(counts) == len(tokens) and len(counts) <= MOST_BARS
    width = edges[1] - edges[0]
    assert width == int(width) and np.diff(edges).tolist() == [width] * len(counts)
    assert edges[-2] <= max(longest, 10) + 1  # one text of a hundred thousand tokens does not stretch the scale
    inside = counts[1 : min(int(longest // width), len(counts) - 1)]
    assert set(inside) <= {200 * width}
