"""Copy the pages into one folder as the site needs them.

docs/README.md becomes the first page. Pictures from other folders are copied beside the pages. A link to a source file
becomes the name of the file, because the site has no sources. The notebook becomes a page.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docs.pages import DOCS, ROOT
from docs.site.notebook import notebook_page

PICTURES = {".svg", ".png"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def stage(folder: Path) -> None:
    """Write every page and picture of the site into an empty folder."""
    for page in sorted(DOCS.rglob("*.md")):
        target = folder / place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewritten(page.read_text(encoding="utf-8"), page, folder), encoding="utf-8")
    for notebook in sorted(DOCS.glob("*.ipynb")):
        (folder / notebook.name).with_suffix(".md").write_text(notebook_page(notebook), encoding="utf-8")
    for picture in sorted((DOCS / "images").iterdir()):
        if picture.suffix in PICTURES:
            copy(picture, folder / "images" / picture.name)
    copy(DOCS / "site" / "site.css", folder / "site.css")


def place(page: Path) -> Path:
    """Where a page of docs/ is on the site."""
    relative = page.relative_to(DOCS)
    return Path("index.md") if relative == Path("README.md") else relative


def copy(source: Path, target: Path) -> None:
    """Copy one file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def rewritten(text: str, page: Path, folder: Path) -> str:
    """A page with the links of the site; code blocks stay as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)

    def link(match: re.Match[str]) -> str:
        picture, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        path = (page.parent / target).resolve()
        if path.is_relative_to(DOCS):
            up = "../" * len(place(page).parent.parts)
            new = path.relative_to(DOCS).with_suffix(".md") if path.suffix == ".ipynb" else place(path)
            return f"{picture}[{words}]({up}{new.as_posix()}{anchor})"
        if picture:
            copy(path, folder / "images" / path.name)
            return f"![{words}]({'../' * len(place(page).parent.parts)}images/{path.name})"
        name = path.relative_to(ROOT).as_posix()
        return f"`{name}`" if words.strip("`") == path.name else words if name in words else f"{words} (`{name}`)"

    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)
