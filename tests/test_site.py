"""The site builds without a warning, loads nothing from elsewhere, and has every page; its drawings are current."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from docs.images import drawings
from docs.pages import DOCS
from docs.site import __main__ as site
from docs.site import execute, stage
from docs.site.navigation import navigation, toml
from docs.site.notebook import notebook_page


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site."""
    pytest.importorskip("zensical")
    return site.build(tmp_path_factory.mktemp("site"))


def pages() -> set[str]:
    """The pages that the site should have."""
    files = [*DOCS.rglob("*.md"), *DOCS.glob("*.ipynb")]
    return {stage.place(path).with_suffix(".html").as_posix() for path in files}


def test_every_page_is_there_and_in_the_menu(built: Path) -> None:
    found = {path.relative_to(built).as_posix() for path in built.rglob("*.html")}
    assert found == pages() | {"404.html"}
    home = (built / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'<a href="(?:\./)?([\w./-]+\.html)"[^>]*class="md-nav__link', home))
    assert pages() - {"index.html"} <= linked


def test_no_sources_on_the_site(built: Path) -> None:
    endings = {path.suffix for path in built.rglob("*") if path.is_file()}
    assert not endings & {".py", ".pyc", ".toml", ".ipynb", ".md"}


def test_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    assert site.loaded_from_elsewhere(built) == []


@pytest.mark.parametrize(
    "part",
    [
        '<script src="https://x.org/a.js">',
        '<link rel="stylesheet" href="//x.org/a.css">',
        "a{background:url(http://x/y)}",
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(part: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f'<a href="https://x.org">a link is no problem</a>{part}')
    assert len(site.loaded_from_elsewhere(tmp_path)) == 1


def test_local_links_and_pictures_exist(built: Path) -> None:
    for page in built.rglob("*.html"):
        if page.name == "404.html":  # its links are absolute
            continue
        for target in re.findall(r'(?:href|src)="([^"#?:]+)(?:[#?][^"]*)?"', page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_broken_link_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zensical")

    def broken(folder: Path) -> None:
        stage.stage(folder)
        with (folder / "release.md").open("a", encoding="utf-8") as file:
            file.write("\n[nowhere](nowhere.md)\n")

    monkeypatch.setattr(site, "stage", broken)
    with pytest.raises(SystemExit, match=r"nowhere\.md"):
        site.build(tmp_path)


def test_links_of_pages(tmp_path: Path) -> None:
    page = DOCS / "how-to" / "x.md"
    text = (
        "[a](../README.md#how-to) [b](../../core/core.h) ![c](../../paper/results/codes.svg) [d](../notebook.ipynb)\n"
    )
    text += "```text\n[a](../README.md)\n```\n"
    lines = stage.rewritten(text, page, tmp_path).splitlines()
    assert lines[0] == "[a](../index.md#how-to) b (`core/core.h`) ![c](../images/codes.svg) [d](../notebook.md)"
    assert lines[2] == "[a](../README.md)"
    assert (tmp_path / "images" / "codes.svg").exists()


def test_menu(tmp_path: Path) -> None:
    index = tmp_path / "README.md"
    index.write_text(
        "# x\n\n[no](no.md)\n\n## One\n\n- [a page](a.md)\n\n## Two\n\n- [b](b.md#c), [web](https://x)\n- [c](c.md)\n"
    )
    expected = [{"Home": "index.md"}, {"A page": "a.md"}, {"Two": [{"B": "b.md"}, {"C": "c.md"}]}]
    assert navigation(index) == expected
    assert toml(navigation(index)).startswith('[{ "Home" = "index.md" }, { "A page" = "a.md" }')


@pytest.mark.parametrize("name", drawings.DRAWINGS)
def test_drawings(name: str) -> None:
    text = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert text == drawings.DRAWINGS[name]().svg(), "run `python -m docs.images.drawings`"
    root = ET.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        right = float(box.get("x", 0)) + float(box.attrib["width"])
        assert right <= width and float(box.get("y", 0)) + float(box.attrib["height"]) <= height


def test_the_notebook_is_stored_with_its_output() -> None:
    text = execute.NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r'"/(?:tmp|home|root|work)|Traceback', text)
    page = notebook_page(execute.NOTEBOOK)
    assert page.count("```python") == page.count("```text") > 5, "each cell prints something"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent / "src"))
    notebook: Any = execute.executed(execute.NOTEBOOK)
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code")
