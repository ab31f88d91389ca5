"""Rows of an iterator in a temporary file, so that they can be read more than once without being held in memory."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from capsulet.text.reading import Source
from capsulet.text.records import Pair, Record, Records


def spooled(source: Source, scratch: ExitStack) -> Source:
    """Return a source that can be read again: an iterator is written to a file that closing `scratch` deletes."""
    if not isinstance(source, Records) or not source.once:
        return source
    file = scratch.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass"))  # noqa: SIM115
    for record in source.records(list(source.names or ())):
        file.write(json.dumps([isinstance(record, Pair), record], default=str) + "\n")

    def records(names: Sequence[str]) -> Iterator[Record]:
        file.seek(0)
        while line := file.readline():
            fixed, record = json.loads(line)
            yield Pair(record) if fixed else with_columns(record, names)

    return Records(source.name, source.names, records, fixed=source.fixed)


def with_columns(record: dict[str, Any], names: Sequence[str]) -> Record:
    """Return a record with these columns only; with all if none is named."""
    return {name: record[name] for name in names} if names else record
