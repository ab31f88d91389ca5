"""Tensors in one file: what is written is read again, by us and by safetensors, and damage is named."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from capsulet.errors import ModelError
from capsulet.storage import tensors
from capsulet.storage.tensors import (
    SIZES,
    Tensor,
    as_array,
    as_integers,
    check_checksum,
    from_array,
    from_bytes,
    from_integers,
    map_file,
    pack,
    read_header,
    unpack,
)
from tests.storage.handmade import compressed, whole

ARRAYS = {
    "bytes": np.arange(5, dtype=np.uint8),
    "half": np.array([[0.5, -2.0]], np.float16),
    "float": np.arange(6, dtype=np.float32).reshape(2, 3),
    "double": np.array([1e300]),
    "empty": np.zeros((0, 7), np.float32),
    "scalar": np.array(3, np.int8),
}
FILE = pack({name: from_array(value) for name, value in ARRAYS.items()}, {"format": "capsulet", "version": "3"})


def refused(data: bytes, *words: str) -> None:
    """Reading raises one line that names the source and these words."""
    with pytest.raises(ModelError) as caught:
        unpack(data, "here")
        check_checksum(data, "here")
    message = str(caught.value)
    assert message.startswith("here ") and "\n" not in message and len(message) < 500
    assert all(word in message for word in words), message


def with_header(header: Any, data: bytes = b"") -> bytes:
    """A file with this header, as text or as JSON values."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: Any = "U8", shape: Any = (1,), offsets: Any = (0, 1)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def test_what_was_written_is_read() -> None:
    found = unpack(FILE, "here")
    check_checksum(FILE, "here")
    assert set(found) == set(ARRAYS)
    for name, value in ARRAYS.items():
        again = as_array(found[name])
        assert (again.dtype, again.shape, again.tolist()) == (value.dtype, value.shape, value.tolist())
        assert not again.flags.writeable


def test_the_bytes_are_those_of_the_format() -> None:
    """docs/reference/format.md: other readers rely on every byte."""
    data = pack({"b": from_bytes(b"xyz"), "a": from_integers([1, 258])}, {"format": "capsulet", "version": "3"})
    header = (
        b'{"__metadata__":{"format":"capsulet","version":"3","crc32":"%s"},'
        b'"a":{"dtype":"U32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}'
    )
    size = 64 * 3 - 8
    rest = b"\x01\x00\x00\x00\x02\x01\x00\x00xyz"
    unsealed = struct.pack("<Q", size) + (header % b"00000000").ljust(size) + rest
    sealed = header % f"{zlib.crc32(unsealed):08x}".encode()
    assert data == struct.pack("<Q", size) + sealed.ljust(size) + rest


def test_every_tensor_is_aligned_to_its_elements() -> None:
    header = read_header(FILE, "here")
    assert min(begin for _, _, begin, _ in header.entries.values()) % 64 == 0
    assert all(begin % SIZES[dtype] == 0 for dtype, _, begin, _ in header.entries.values())
    assert [SIZES[dtype] for dtype, *_ in header.entries.values()] == [8, 4, 4, 2, 1, 1]


@pytest.mark.parametrize("data", [FILE, whole(), compressed()], ids=["arrays", "whole", "compressed"])
def test_safetensors_reads_our_files(data: bytes) -> None:
    theirs, ours = safetensors.numpy.load(data), {name: as_array(value) for name, value in unpack(data, "it").items()}
    assert set(theirs) == set(ours)
    for name, value in ours.items():
        assert (theirs[name].dtype, theirs[name].shape) == (value.dtype, value.shape)
        assert theirs[name].tobytes() == value.tobytes()


def test_we_read_the_files_of_safetensors() -> None:
    found = unpack(safetensors.numpy.save(ARRAYS), "here")
    assert {name: as_array(value).tolist() for name, value in found.items()} == {
        name: value.tolist() for name, value in ARRAYS.items()
    }


@given(st.dictionaries(st.text(max_size=9, alphabet=st.characters(exclude_categories=["Cs"])), st.binary(max_size=9)))
def test_any_names_and_bytes_come_back(values: dict[str, bytes]) -> None:
    values.pop("__metadata__", None)
    data = pack({name: from_bytes(value) for name, value in values.items()}, {"a": '"crc32":"00000000"'})
    check_checksum(data, "here")
    assert {name: bytes(tensor.data) for name, tensor in unpack(data, "here").items()} == values


def test_integers_come_back_and_other_types_are_refused() -> None:
    values = [0, 1, 2**32 - 1]
    assert as_integers(from_integers(values), "ends", "here").tolist() == values
    with pytest.raises(ModelError, match=r"here is damaged: ends is U8 \[3\], expected a vector of U32"):
        as_integers(from_bytes(b"abc"), "ends", "here")


def test_truncation_at_every_byte_is_refused() -> None:
    for end in range(len(FILE)):
        refused(FILE[:end])


def test_a_flip_of_any_bit_is_noticed() -> None:
    for place in range(len(FILE)):
        for bit in range(8):
            refused(FILE[:place] + bytes([FILE[place] ^ 1 << bit]) + FILE[place + 1 :])


def test_more_bytes_at_the_end_are_refused() -> None:
    refused(FILE + b"\0", f"{len(FILE) + 1:,} bytes, expected {len(FILE):,}")


DAMAGE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is not a model, or it is damaged (no safetensors header in 0 bytes)"),
    "an archive": (b"PK\x03\x04" * 10, "is not a model, or it is damaged"),
    "no header": (struct.pack("<Q", 2) + b"  ", "is not a model (no safetensors header)"),
    "a header of 2^63 bytes": (struct.pack("<Q", 2**63) + b"{}", "(no safetensors header in 10 bytes)"),
    "a header of 2^64 - 1 bytes": (b"\xff" * 8 + b"{}", "is not a model, or it is damaged"),
    "a header longer than the file": (struct.pack("<Q", 3) + b"{}", "is not a model, or it is damaged"),
    "an empty header": (struct.pack("<Q", 0), "is not a model, or it is damaged"),
    "no JSON": (with_header(b"{]"), "its header cannot be read"),
    "not UTF-8": (with_header(b'{"\xff":1}'), "its header cannot be read"),
    "deep lists": (with_header(b'{"a":' + b"[" * 100_000), "its header cannot be read"),
    "deep objects": (with_header(b'{"a":' * 100_000), "its header cannot be read"),
    "a huge number": (with_header(b'{"a":' + b"9" * 5000 + b"}"), "its header cannot be read"),
    "a name twice": (with_header(b'{"a":1,"a":2}'), "'a' occurs twice"),
    "metadata of numbers": (with_header({"__metadata__": {"a": 1}}), "expected an object of strings"),
    "metadata that are a list": (with_header({"__metadata__": []}), "expected an object of strings"),
    "a tensor that is a number": (with_header({"a": 1}), "dtype of 'a' is None"),
    "an unknown type": (with_header({"a": entry("BF16", [1], [0, 2])}, b"ab"), "dtype of 'a' is 'BF16', expected"),
    "a type that is a list": (with_header({"a": entry([])}, b"a"), "dtype of 'a' is []"),
    "a shape that is a number": (with_header({"a": entry(shape=1)}, b"a"), "shape of 'a' is 1"),
    "a negative axis": (with_header({"a": entry(shape=[-1, -1])}, b"a"), "shape of 'a' is [-1, -1]"),
    "an axis that is true": (with_header({"a": entry(shape=[True])}, b"a"), "shape of 'a' is [True]"),
    "a shape that overflows": (with_header({"a": entry("F32", [2**31, 2**31, 2], [0, 0])}), "expected 3689348814741"),
    "an axis of 2^63": (with_header({"a": entry(shape=[2**63, 0], offsets=[0, 0])}), "expected a list of sizes"),
    "many axes": (with_header({"a": entry(shape=[1] * 99)}, b"a"), "expected a list of sizes"),
    "NaN as an axis": (with_header({"a": entry(shape=[float("nan")])}, b"a"), "its header cannot be read"),
    "one offset": (with_header({"a": entry(offsets=[0])}, b"a"), "data_offsets of 'a' is [0]"),
    "negative offsets": (with_header({"a": entry(offsets=[-1, 0])}, b"a"), "data_offsets of 'a' is [-1, 0]"),
    "offsets in the wrong order": (with_header({"a": entry(offsets=[1, 0])}, b"a"), "'a' has -1 bytes, expected 1"),
    "more bytes than the shape": (with_header({"a": entry(offsets=[0, 2])}, b"ab"), "'a' has 2 bytes, expected 1"),
    "an overlap": (with_header({"a": entry(), "b": entry(offsets=[0, 1])}, b"a"), "'b' starts at 0, expected 1"),
    "a hole": (with_header({"a": entry(), "b": entry(offsets=[2, 3])}, b"abc"), "'b' starts at 2, expected 1"),
    "a hole at the start": (with_header({"a": entry(offsets=[1, 2])}, b"ab"), "'a' starts at 1, expected 0"),
    "a misaligned tensor": (
        with_header({"a": entry(), "b": entry("F32", [1], [1, 5])}, b"a1234"), "'b' starts at 1, expected a multiple",
    ),
    "beyond the file": (with_header({"a": entry("U8", [10], [0, 10])}, b"abc"), "bytes, expected"),
    "no checksum": (with_header({"a": entry()}, b"a"), "expected none"),
    "a checksum of nine digits": (with_header({"__metadata__": {"crc32": "0" * 9}}), "expected 000000000"),
    "an escaped checksum": (with_header(rb'{"__metadata__":{"crc32":"\u0030aaaaaaa"}}'), "expected 0aaaaaaa"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "words"), DAMAGE.values(), ids=DAMAGE)
def test_hostile_files(data: bytes, words: str) -> None:
    refused(data, words)


def test_a_header_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "LARGEST_HEADER", 64)
    refused(FILE, "is not a model, or it is damaged")


@given(st.binary(max_size=300), st.integers(0, 250))
def test_other_bytes_raise_nothing_else(noise: bytes, place: int) -> None:
    for data in (noise, FILE[:place] + noise, FILE[: 8 + place] + noise + FILE[8 + place + len(noise) :]):
        if data != FILE:
            refused(data)


# files that are none

READ = (
    "import sys; from pathlib import Path; from capsulet.storage.tensors import map_file; map_file(Path(sys.argv[1]))"
)


def test_a_file_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(FILE)
    (tmp_path / "link").symlink_to("file")
    data = map_file(tmp_path / "link")
    assert bytes(data) == FILE and data.readonly
    (tmp_path / "empty").touch()
    assert bytes(map_file(tmp_path / "empty")) == b""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("make", [pipe, device, linked_pipe, Path.mkdir], ids=lambda make: make.__name__)
def test_what_is_no_regular_file_is_refused_at_once(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "model")
    done = subprocess.run([sys.executable, "-c", READ, tmp_path / "model"], capture_output=True, text=True, timeout=30)
    assert f"{tmp_path / 'model'} is not a regular file" in done.stderr.splitlines()[-1]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, words in (("none", "does not exist"), ("nul\0", "cannot be read"), ("x" * 300, "cannot be read")):
        with pytest.raises(ModelError, match=words):
            map_file(tmp_path / name)
    (tmp_path / "file").write_bytes(FILE)
    monkeypatch.setattr(tensors, "LARGEST_FILE", 100)
    with pytest.raises(ModelError, match=f"has {len(FILE):,} bytes, expected at most 100"):
        map_file(tmp_path / "file")


def test_a_tensor_has_the_bytes_of_its_shape() -> None:
    with pytest.raises(AssertionError, match="size of a"):
        pack({"a": Tensor("F32", (2,), b"1234")}, {})
    with pytest.raises(AssertionError, match="no tensor holds complex"):
        from_array(np.zeros(1, np.complex64))
