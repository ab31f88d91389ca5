"""A notebook with its outputs as a page in Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def notebook_page(path: Path) -> str:
    """The cells of a notebook in order: texts, code, and what the code printed."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [output for found in cell["outputs"] if (output := shown(found))]
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """One output: HTML as it is, text as a block."""
    data = output.get("data", {})
    if "text/html" in data:
        lines = [line.strip() for line in "".join(data["text/html"]).splitlines()]
        return f'<div class="output">{"".join(lines)}</div>'
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f"```text\n{ESCAPES.sub('', text).rstrip()}\n```" if text.strip() else ""
