"""Tensors in one file: the layout of safetensors with a checksum. Standard library only.

A file has the size of the header in eight bytes, the header as JSON, and the data of the tensors without gaps. All
numbers are little-endian. docs/reference/format.md describes the layout to the byte.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from capsulet.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "U16": 2, "U8": 1, "I8": 1}  # bytes per element
ALIGNMENT = 64  # of the first tensor
LARGEST_HEADER = 64 << 20
LARGEST_FILE = 4 << 30
LARGEST_AXIS = 1 << 48
METADATA, CHECKSUM = "__metadata__", "crc32"
UNKNOWN_CHECKSUM = "0" * 8  # written instead of the checksum while it is computed
REMEDY = "restore it from a copy, or make the model again"

Bytes = bytes | memoryview


class Tensor(NamedTuple):
    """Type, shape and bytes of a tensor."""

    dtype: str  # a name in SIZES
    shape: tuple[int, ...]
    data: Bytes


class Header(NamedTuple):
    """The header of a file: its metadata, and type, shape, first byte and end of each tensor."""

    metadata: dict[str, str]
    entries: dict[str, tuple[str, tuple[int, ...], int, int]]  # places count from the start of the file


def pack(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Bytes of a file with these tensors, largest elements first, and with a checksum in its metadata."""
    ordered = sorted(tensors.items(), key=lambda item: -SIZES[item[1].dtype])  # stable
    header: dict[str, Any] = {METADATA: {**metadata, CHECKSUM: UNKNOWN_CHECKSUM}}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + len(tensor.data)
        assert len(tensor.data) == SIZES[tensor.dtype] * math.prod(tensor.shape), f"size of {name}"
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    data = bytearray().join([len(text).to_bytes(8, "little"), text, *(tensor.data for _, tensor in ordered)])
    place = checksum_place(data, UNKNOWN_CHECKSUM)
    data[place : place + len(UNKNOWN_CHECKSUM)] = f"{zlib.crc32(data):08x}".encode()
    return bytes(data)


def unpack(data: Bytes, source: str) -> dict[str, Tensor]:
    """Tensors of a file, without copying their data; ModelError unless every size is right."""
    view = memoryview(data)
    return {
        name: Tensor(dtype, shape, view[begin:end])
        for name, (dtype, shape, begin, end) in read_header(data, source).entries.items()
    }


def read_header(data: Bytes, source: str) -> Header:
    """The header of a file, with every size checked."""
    view = memoryview(data)
    size = int.from_bytes(view[:8], "little")
    if len(view) < 8 or not 2 <= size <= min(LARGEST_HEADER, len(view) - 8):
        raise ModelError(
            f"{source} is not a model, or it is damaged (no safetensors header in {len(view):,} bytes): name a model "
            "that capsulet wrote"
        )
    if view[8] != ord("{"):
        raise ModelError(f"{source} is not a model (no safetensors header): name a model that capsulet wrote")
    values = parse_json(view[8 : 8 + size], source, "its header")
    metadata = values.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        damaged(source, f"{METADATA} is {metadata!r:.40}, expected an object of strings")
    entries, start, expected = {}, 8 + size, 0
    for name, value in values.items():
        dtype, shape, begin, end = entry_of(name, value, source)
        if begin != expected:
            damaged(source, f"{name!r:.40} starts at {begin}, expected {expected}, the end of the tensor before it")
        if begin % SIZES[dtype]:
            damaged(source, f"{name!r:.40} starts at {begin}, expected a multiple of {SIZES[dtype]}")
        entries[name], expected = (dtype, shape, start + begin, start + end), end
    if start + expected != len(view):
        damaged(source, f"{len(view):,} bytes, expected {start + expected:,}")
    return Header(metadata, entries)


def entry_of(name: str, value: Any, source: str) -> tuple[str, tuple[int, ...], int, int]:
    """Type, shape, begin and end of a tensor in the header."""
    fields = [value.get(key) for key in ("dtype", "shape", "data_offsets")] if isinstance(value, dict) else [None] * 3
    dtype, shape, offsets = fields
    if not isinstance(dtype, str) or dtype not in SIZES:
        damaged(source, f"dtype of {name!r:.40} is {dtype!r:.40}, expected one of {', '.join(SIZES)}")
    if not isinstance(shape, list) or len(shape) > 8 or not all(is_count(axis) for axis in shape):
        damaged(source, f"shape of {name!r:.40} is {shape!r:.40}, expected a list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(is_count(offset) for offset in offsets):
        damaged(source, f"data_offsets of {name!r:.40} is {offsets!r:.40}, expected the begin and the end")
    begin, end = offsets
    size = SIZES[dtype] * math.prod(shape)
    if end - begin != size:
        damaged(source, f"{name!r:.40} has {end - begin} bytes, expected {size} for {dtype} {shape!r:.80}")
    return dtype, tuple(shape), begin, end


def is_count(value: Any) -> bool:
    """Whether a value of a header is a size."""
    return type(value) is int and 0 <= value < LARGEST_AXIS


def check_checksum(data: Bytes, source: str) -> None:
    """ModelError unless the bytes of a file match the checksum in its metadata."""
    view, stored = memoryview(data), read_header(data, source).metadata.get(CHECKSUM, "")
    place = checksum_place(data, stored)
    end = place + len(UNKNOWN_CHECKSUM)
    found = zlib.crc32(view[end:], zlib.crc32(UNKNOWN_CHECKSUM.encode(), zlib.crc32(view[: max(place, 0)])))
    if place < 0 or stored != f"{found:08x}":
        damaged(source, f"the checksum of its {len(view):,} bytes is {found:08x}, expected {stored or 'none'!s:.16}")


def checksum_place(data: Bytes | bytearray, stored: str) -> int:
    """Position of the checksum in the bytes of a file, or -1. In other strings of the header, quotes are escaped."""
    size = int.from_bytes(data[:8], "little")
    prefix = f'"{CHECKSUM}":"'.encode()
    place = bytes(data[8 : 8 + size]).find(prefix + stored.encode(errors="replace") + b'"')
    return -1 if place < 0 or len(stored) != len(UNKNOWN_CHECKSUM) else 8 + place + len(prefix)


def parse_json(data: Bytes, source: str, what: str) -> dict[str, Any]:
    """A JSON object; ModelError if it is damaged, has a name twice, or has numbers that JSON does not allow."""
    try:
        value = json.loads(bytes(data).decode(), object_pairs_hook=unique, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        damaged(source, f"{what} cannot be read ({reason:.80})")
    if not isinstance(value, dict):
        damaged(source, f"{what} is {type(value).__name__}, expected an object")
    return value


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of these pairs; ValueError if a name occurs twice, because readers would use different values."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f"{name!r:.40} occurs twice")
        values[name] = value
    return values


def refuse_constant(name: str) -> NoReturn:
    """ValueError for NaN and infinities, which Python's reader allows."""
    raise ValueError(f"{name} is not a number of JSON")


def damaged(source: str, problem: str) -> NoReturn:
    """Raise the error for a damaged file."""
    raise ModelError(f"{source} is damaged: {problem}; {REMEDY}") from None


def map_file(path: Path) -> memoryview:
    """The bytes of a regular file, mapped into memory and read-only. A link is followed."""
    # O_NONBLOCK: opening a pipe that nobody writes to must not wait
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ModelError(f"{path} is not a regular file: name a model that capsulet wrote")
            if status.st_size > LARGEST_FILE:
                raise ModelError(
                    f"{path} has {status.st_size:,} bytes, expected at most {LARGEST_FILE:,}: name a model that "
                    "capsulet wrote"
                )
            if not status.st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist: check the path") from None
    except (OSError, ValueError) as error:  # ValueError: NUL in the path
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path} cannot be read ({reason}): check its path and permissions") from None


def from_bytes(data: bytes) -> Tensor:
    """A vector of bytes."""
    return Tensor("U8", (len(data),), data)


def from_integers(values: Iterable[int]) -> Tensor:
    """A vector of 32-bit integers."""
    numbers = array("I", values)
    assert numbers.itemsize == SIZES["U32"], "array's I has 32 bits on every supported system"
    if sys.byteorder == "big":
        numbers.byteswap()
    return Tensor("U32", (len(numbers),), numbers.tobytes())


def as_integers(tensor: Tensor, name: str, source: str) -> array[int]:
    """The numbers of a vector of 32-bit integers."""
    if tensor.dtype != "U32" or len(tensor.shape) != 1:
        damaged(source, f"{name} is {tensor.dtype} {list(tensor.shape)!r:.80}, expected a vector of U32")
    numbers = array("I", bytes(tensor.data))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


NUMPY = {
    "F64": "<f8", "I64": "<i8", "F32": "<f4", "I32": "<i4", "U32": "<u4", "F16": "<f2", "U16": "<u2", "U8": "u1",
    "I8": "i1",
}  # fmt: skip


def from_array(values: NDArray[Any]) -> Tensor:
    """A NumPy array as a tensor."""
    import numpy as np

    kind = next((name for name, code in NUMPY.items() if np.dtype(code) == values.dtype), None)
    assert kind is not None, f"no tensor holds {values.dtype}"
    return Tensor(kind, values.shape, np.ascontiguousarray(values, NUMPY[kind]).tobytes())


def as_array(tensor: Tensor) -> NDArray[Any]:
    """A tensor as a NumPy array, read-only and without a copy."""
    import numpy as np

    array: np.ndarray[Any, Any] = np.frombuffer(tensor.data, NUMPY[tensor.dtype]).reshape(tensor.shape)
    array.flags.writeable = False
    return array
