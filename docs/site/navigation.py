"""The menu of the site, from the lists of docs/README.md."""

from __future__ import annotations

import re
from pathlib import Path

Entry = dict[str, "str | list[Entry]"]
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)(?:#[^)]*)?\)")


def navigation(index: Path) -> list[Entry]:
    """One part per heading of the index, with the pages that its list links to; a part of one page is that page."""
    entries: list[Entry] = [{"Home": "index.md"}]
    _, *parts = re.split(r"^## ", index.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for part in parts:
        heading, _, body = part.partition("\n")
        links = [(title, path.replace(".ipynb", ".md")) for title, path in LINK.findall(body)]
        pages: list[Entry] = [{capitalised(title): path} for title, path in links]
        if pages:
            entries.append(pages[0] if len(pages) == 1 else {heading.strip(): pages})
    return entries


def capitalised(title: str) -> str:
    """A title that begins with a capital; names of programs stay as they are."""
    return title if title.startswith("capsulet") else title[:1].upper() + title[1:]


def toml(entries: list[Entry]) -> str:
    """The menu as the value of `nav` in zensical.toml."""
    import json

    lines = []
    for entry in entries:
        ((title, target),) = entry.items()
        value = json.dumps(target) if isinstance(target, str) else toml(target)
        lines.append(f"{{ {json.dumps(title, ensure_ascii=False)} = {value} }}")
    return "[" + ", ".join(lines) + "]"
