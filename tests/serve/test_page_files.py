"""The files of the page: no build step, no other server, the colours of the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import capsulet
from capsulet.report import svg

PAGE = Path(capsulet.__file__).parent / "serve" / "page"
FILES = sorted(path for path in PAGE.iterdir() if path.suffix in {".html", ".js", ".css"})
MODULES = [path for path in FILES if path.suffix == ".js"]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    html = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", html), "the policy allows no inline code"
    named = re.findall(r"(?:src|href)=\"(?!data:)([^\"]*)\"", html)
    assert named and all((PAGE / name.removeprefix("page/")).is_file() and name.startswith("page/") for name in named)
    for path in FILES:
        addresses = set(re.findall(r"https?://[\w.]+", path.read_text())) - {"http://schemas.openxmlformats.org"}
        assert not addresses, f"{path.name}: {addresses}"
        assert "@import" not in path.read_text() and "eval(" not in path.read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_modules_are_small_and_their_imports_exist(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("/**"), "a module says what it is"
    assert len(text.splitlines()) <= 300
    for names, source in re.findall(r"^import \{([^}]*)\} from '\./([\w.]+)';$", text, re.MULTILINE):
        exported = re.findall(
            r"^export (?:async )?(?:function\*?|class|const) (\w+)", (PAGE / source).read_text(), re.M
        )
        assert {name.strip() for name in names.split(",")} <= set(exported)
    assert len(re.findall(r"^import ", text, re.MULTILINE)) == len(re.findall(r"^import \{", text, re.MULTILINE))


def test_every_module_is_used() -> None:
    texts = "".join(path.read_text() for path in FILES)
    assert {path.name for path in MODULES} == set(re.findall(r"(?:from '\./|src=\"page/)(\w+\.js)", texts))


def test_every_id_is_in_the_document_or_made() -> None:
    scripts = "".join(path.read_text() for path in MODULES)
    present = set(re.findall(r"\sid=\"([\w-]+)\"", (PAGE / "index.html").read_text()))
    made = set(re.findall(r"id: '([\w-]+)'", scripts))
    assert set(re.findall(r"byId\('([\w-]+)'\)", scripts)) <= present | made


def test_colours_are_those_of_the_report() -> None:
    light, dark = (PAGE / "palette.css").read_text().split("@media")
    for colours, block in ((svg.LIGHT, light), (svg.DARK, dark)):
        assert dict(re.findall(r"--([\w-]+): (#\w+);", block)) == colours
    assert not re.search(r"#[0-9a-f]{3,8}\b", (PAGE / "style.css").read_text()), "colours have one home: palette.css"
