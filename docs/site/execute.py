"""Run the notebook from top to bottom and store its output: `python -m docs.site.execute`."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from docs.pages import DOCS

NOTEBOOK = DOCS / "notebook.ipynb"
SECONDS = 300  # most for one cell


def executed(path: Path) -> Any:
    """Run a notebook in a new folder; an error of a cell is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    return notebook


def tidied(notebook: Any) -> Any:
    """Without what differs from run to run: times of the cells, details of the interpreter, folders of this machine."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", []):
            if "text" in output:
                output.text = re.sub(r"/\S*/(tmp\w+)/", "", output.text)
    return notebook


def main() -> int:
    """Run and store."""
    import nbformat

    nbformat.write(tidied(executed(NOTEBOOK)), NOTEBOOK)
    sys.stdout.write(f"{NOTEBOOK.name} was run\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
