"""Export a model as a single file.

example:
  capsulet export model model.onnx
  capsulet predict model.onnx --text "what a match"
"""

from __future__ import annotations

from capsulet.cli.options import JSON, MODEL_FOLDER
from capsulet.cli.output import print_json, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

ARGUMENTS = {**MODEL_FOLDER, "FILE.onnx": "file to write; an existing file is replaced when complete", **JSON}


def run(arguments: argparse.Namespace) -> None:
    """Export."""
    from capsulet.storage.export import export

    file = export(arguments.model, arguments.file)
    size = file.stat().st_size
    tell(f"{file}: {size:,} bytes, checked against {arguments.model}")
    if arguments.json:
        print_json({"path": str(file), "bytes": size})
