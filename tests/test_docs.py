"""The documentation says what the program does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from capsulet.cli.main import build_parser
from docs import drift, labels, paper, peers, results, small, trust
from docs.options import PAGE, render

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_options_page_is_the_options() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `python -m docs.options`"


def test_the_figures_are_those_of_the_results_files() -> None:
    assert results.PAGE.read_text(encoding="utf-8") == results.render_page(), "run `python -m docs.results`"
    readme = results.README.read_text(encoding="utf-8")
    assert results.render_readme(readme) == readme, "run `python -m docs.results`"
    scale = results.SCALE.read_text(encoding="utf-8")
    assert results.render_scale(scale) == scale, "run `python -m docs.results`"


def test_the_figures_of_the_peers_are_those_of_their_file() -> None:
    page = peers.PAGE.read_text(encoding="utf-8")
    assert peers.render_page(page) == page, "run `python -m docs.peers`"


def test_the_paper_s_tables_are_those_of_their_files() -> None:
    assert paper.PAGE.read_text(encoding="utf-8") == paper.render_page(), "run `python -m docs.paper`"


def test_the_sizes_are_those_of_their_file() -> None:
    page = small.PAGE.read_text(encoding="utf-8")
    assert small.render_page(page) == page, "run `python -m docs.small`"


def test_the_figures_of_trust_are_those_of_their_files() -> None:
    page = trust.PAGE.read_text(encoding="utf-8")
    assert trust.render_page(page) == page, "run `python -m docs.trust`"


def test_the_figures_of_drift_are_those_of_their_file() -> None:
    page = drift.PAGE.read_text(encoding="utf-8")
    assert drift.render_page(page) == page, "run `python -m docs.drift`"


def test_the_figures_of_label_sets_are_those_of_their_file() -> None:
    page = labels.PAGE.read_text(encoding="utf-8")
    assert labels.render_page(page) == page, "run `python -m docs.labels`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_parse(page: Path) -> None:
    """Every `capsulet VERB …` in a code block is one that the program takes."""
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    for line in "\n".join(blocks).splitlines():
        for part in re.split(r"[|>]", line.split(" #")[0])[:2]:
            words = shlex.split(part)
            if words[:1] == ["capsulet"]:
                build_parser().parse_args(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_tree_for_contributors_is_the_tree() -> None:
    tree = re.search(r"```text\n(src/capsulet/.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.S)
    assert tree
    named = set(re.findall(r"[\w.]+\.py|\w+/", tree.group(1)))
    for path in (ROOT / "src" / "capsulet").iterdir():
        if path.name in ("__pycache__", "py.typed"):
            continue
        assert path.name + ("/" if path.is_dir() else "") in named, path.name
