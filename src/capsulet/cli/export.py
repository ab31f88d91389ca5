"""Export a model for other programs: an ONNX file with configuration and tokenizer in its metadata.

example:
  capsulet export model model.onnx
"""

from __future__ import annotations

from pathlib import Path

from capsulet.cli.options import JSON, MODEL
from capsulet.cli.output import print_json, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

ARGUMENTS = {
    **MODEL,
    "FILE.onnx": "file to write; an existing file is replaced when complete",
    "--to FORMAT=onnx": "format of the file",
    **JSON,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet export`."""
    from capsulet.storage.export import export, lacks_pieces
    from capsulet.storage.folder import read_config

    file = export(arguments.model, arguments.file, arguments.to)
    size = file.stat().st_size
    tell(f"{file}: {size:,} bytes, checked against {arguments.model}")
    if lacks_pieces(read_config(Path(arguments.model))):
        tell("note: the file reads unknown words as [UNK], the model by their pieces: answers differ for such texts")
    if arguments.json:
        print_json({"path": str(file), "bytes": size})
