"""What the generators share: results files, marked parts of a page, and the command that made a figure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"


def read(name: str) -> dict[str, Any]:
    """Read one results file."""
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return result


def has(name: str) -> bool:
    """Whether a results file exists."""
    return (RESULTS / f"{name}.json").exists()


def replace_marked(text: str, parts: dict[str, str]) -> str:
    """Replace the text between `<!-- mark -->` and `<!-- end of mark -->` for every mark."""
    for mark, content in parts.items():
        pattern = rf"(<!-- {mark} -->\n).*?(\n?<!-- end of {mark} -->)"
        text, count = re.subn(
            pattern, lambda match, content=content: match[1] + content + "\n" + match[2].lstrip("\n"), text, flags=re.S
        )
        assert count == 1, f"{count} parts are marked {mark!r}, expected 1"
    return text


def rewrite(page: Path, parts: dict[str, str]) -> None:
    """Replace the marked parts of a file."""
    page.write_text(replace_marked(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def made_at(command: str, commit: str) -> str:
    """The command and the commit that made a figure."""
    return f"`{command}`, commit `{commit}`"


def circumstances(name: str) -> str:
    """Command, commit and machine of a results file."""
    return circumstances_of(read(name))


def circumstances_of(result: dict[str, Any]) -> str:
    """Command, commit and machine that a result carries."""
    versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items() if version)
    machine = result["machine"]
    return (
        f"{made_at(result['command'], result['commit'])}, {machine['processor']}, {machine['cores']} cores, "
        f"Python {result['python']}, {versions}."
    )


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table; all columns but the first are aligned to the right."""
    lines = [f"| {' | '.join(columns)} |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def not_measured(module: str) -> str:
    """The text of a page whose results file does not exist yet."""
    return f"**Not yet measured**: `python -m {module}` writes the results file, `python -m docs` this part."
