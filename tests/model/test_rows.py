"""Rows of words and row-wise Adam in compiled code against torch."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from capsulet.model import kernels as compiled
from capsulet.model import rows as module
from capsulet.model.rows import WordRows, composed_rows, distinct_rows, torch_composed_rows
from capsulet.native import rows as native
from capsulet.training.optimiser import RowAdam

NATIVE = Path(__file__).parents[2] / "src/capsulet/native"
needs_native = pytest.mark.skipif(native is None, reason="the compiled rows are not built")
# words, rows of the table, width: no word, one of everything, odd sizes, vectors, no width, two digits of the sort
SHAPES = [(0, 5, 16), (1, 1, 1), (7, 3, 5), (20, 50, 64), (33, 40, 100), (9, 10, 0), (60, 5000, 67)]


@pytest.fixture(params=["avx512", "avx2", "portable"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    if native is None:
        pytest.skip("the compiled rows are not built")
    usual = native.instruction_set()
    try:
        native.choose_instruction_set(request.param)
    except ValueError:
        pytest.skip(f"no {request.param} here")
    yield request.param
    native.choose_instruction_set(usual)


def random_words(words: int, table_rows: int, most_pieces: int = 6) -> WordRows:
    """Words with repeated rows, words without pieces, and words that do not read their own row."""
    counts = torch.randint(0, most_pieces + 1, (words,)) * (torch.rand(words) > 0.2)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    own = torch.randint(0, table_rows, (words,))
    return WordRows(own, (torch.rand(words) > 0.3) | (counts == 0), starts, torch.randint(0, table_rows, (starts[-1],)))


def sparse(rows: Tensor, values: Tensor, table_rows: int) -> Tensor:
    size = table_rows, values.shape[1]
    return torch.sparse_coo_tensor(rows.unsqueeze(0), values, size, check_invariants=True)


def gradient_of(rows: Tensor, table: Tensor, along: Tensor) -> Tensor:
    return torch.autograd.grad(rows, table, along)[0]


@pytest.mark.parametrize("most_pieces", [6, 0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_compiled_rows_agree_with_torch(shape, most_pieces, instruction_set) -> None:
    torch.manual_seed(0)
    words, table_rows, width = shape
    table = torch.randn(table_rows, width, requires_grad=True)
    parts, along = random_words(words, table_rows, most_pieces), torch.randn(words, width)
    got, wanted = composed_rows(table, parts), torch_composed_rows(table, parts, sparse=False)
    torch.testing.assert_close(got, wanted, atol=1e-6, rtol=1e-5)
    gradient = gradient_of(got, table, along)
    rows = gradient._indices()[0]
    assert rows.tolist() == torch.cat([parts.own, parts.pieces]).unique().tolist()  # also rows of weight 0
    torch.testing.assert_close(gradient.to_dense(), gradient_of(wanted, table, along), atol=1e-5, rtol=1e-5)


def test_the_slope_of_a_mean_is_shared_by_the_pieces() -> None:
    table = torch.arange(8.0).view(4, 2).requires_grad_()
    words = WordRows(*map(torch.tensor, ([0, 3], [True, False], [0, 0, 4], [1, 1, 2, 1])))
    rows = composed_rows(table, words)
    assert rows.tolist() == [[0, 1], [2.5, 3.5]]
    gradient = gradient_of(rows, table, torch.tensor([[1.0, 2.0], [4.0, 8.0]])).coalesce()
    assert gradient.indices().tolist() == [[0, 1, 2, 3]]
    assert gradient.values().tolist() == [[1, 2], [3, 6], [1, 2], [0, 0]]


@needs_native
def test_gradients_of_parts_of_a_batch_add_up() -> None:
    torch.manual_seed(0)
    tables = [torch.zeros(30, 8, requires_grad=True) for _ in range(2)]
    for _ in range(3):
        words, along = random_words(12, 30), torch.randn(12, 8)
        composed_rows(tables[0], words).backward(along)
        torch_composed_rows(tables[1], words, sparse=False).backward(along)
    found, expected = tables[0].grad, tables[1].grad
    assert found is not None and expected is not None
    rows, values = distinct_rows(found)
    assert (rows.diff() > 0).all()
    torch.testing.assert_close(torch.zeros(30, 8).index_add_(0, rows, values), expected)


def test_repeated_rows_of_a_gradient_are_added() -> None:
    rows, values = distinct_rows(sparse(torch.tensor([2, 0, 2]), torch.tensor([[1.0], [2.0], [3.0]]), 4))
    assert rows.tolist() == [0, 2] and values.tolist() == [[2.0], [4.0]]
    rows, values = distinct_rows(sparse(torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3), 4))
    assert len(rows) == len(values) == 0


@needs_native
@pytest.mark.parametrize("wrong", [-1, 5])
@pytest.mark.parametrize("part", [0, 3])
def test_rows_outside_the_table_are_an_error(wrong, part) -> None:
    words = [torch.tensor([1, 2]), torch.tensor([True, True]), torch.tensor([0, 1, 2]), torch.tensor([3, 4])]
    words[part][1] = wrong
    with pytest.raises(IndexError, match=f"row {wrong} of a table of 5 rows"):
        composed_rows(torch.zeros(5, 4), WordRows(*words))


@needs_native
@pytest.mark.parametrize("starts", [[1, 1, 2], [0, 3, 2], [0, 1, 3], [0, -1, 2]])
def test_starts_that_are_not_in_order_are_an_error(starts) -> None:
    words = WordRows(*map(torch.tensor, ([1, 2], [True, True], starts, [3, 4])))
    with pytest.raises(IndexError, match="starts of the pieces are not in order"):
        composed_rows(torch.zeros(5, 4), words)


@pytest.mark.parametrize("width", [1, 16, 37, 64, 100])
def test_compiled_adam_agrees_with_torch(width, instruction_set) -> None:
    torch.manual_seed(0)
    start = torch.randn(12, width)
    one, other = RowAdam(start.clone()), RowAdam(start.clone())
    for step in range(200):
        rows = torch.randperm(12)[: step % 9].sort().values
        values = torch.randn(len(rows), width) * 10.0 ** (step % 5 - 3)
        values[: step % 2] = 0
        one.table.grad = sparse(rows, values, 12)
        one.step(0.01)
        other.torch_step(rows, values, 0.01)
        assert torch.equal(one.steps, other.steps)
    for name in ("table", "mean", "square"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("why", ["switched off", "not built", "double precision"])
def test_the_fallback_says_why(monkeypatch, caplog, why) -> None:
    compiled._say_fallback.cache_clear()
    if why == "switched off":
        monkeypatch.setenv("CAPSULET_NATIVE", "0")
    # an object in place of the kernel fails if it is called
    monkeypatch.setattr(module, "native", None if why == "not built" else object())
    table = torch.randn(9, 4, dtype=torch.float64 if why == "double precision" else torch.float32)
    words = random_words(5, 9)
    with caplog.at_level(logging.INFO, logger="capsulet"):
        got = [composed_rows(table, words) for _ in range(2)]
    assert torch.equal(got[0], torch_composed_rows(table, words, sparse=True))
    reason = {
        "switched off": "CAPSULET_NATIVE=0",
        "not built": "the compiled embedding is not installed",
        "double precision": "the compiled embedding computes float32 on a CPU, not torch.float64 on cpu",
    }[why]
    assert caplog.messages == [f"embedding through torch: {reason}"]


CALLS = """
import random, sys
from array import array
sys.path.insert(0, sys.argv[1])
import _rows

def at(values):
    return values.buffer_info()[0]

dice = random.Random(0)
for name in ("avx512", "avx2", "portable"):
    try:
        _rows.choose_instruction_set(name)
    except ValueError:
        continue
    for _ in range(200):
        words, width, table = dice.randrange(6), dice.randrange(1, 80), dice.choice([1, 9, 3000])
        counts = [dice.randrange(5) for _ in range(words)]
        starts = array("q", [sum(counts[:end]) for end in range(words + 1)])
        own = array("q", [dice.randrange(table) for _ in range(words)])
        flags = array("b", [dice.randrange(2) for _ in range(words)])
        pieces = array("q", [dice.randrange(table) for _ in range(sum(counts))])
        weights, results = array("f", [1.0] * table * width), array("f", [0.5] * words * width)
        shared = (words, len(pieces), width, table), (at(own), at(flags), at(starts), at(pieces))
        _rows.compose(*shared, at(weights), at(results))
        for word, flag in enumerate(flags):
            for value in results[word * width : (word + 1) * width]:
                assert abs(value - flag - (counts[word] > 0)) < 1e-5
        most = words + len(pieces)
        rows, values = array("q", [0] * most), array("f", [0.0] * most * width)
        found = _rows.add_gradients(*shared, at(results), at(rows), at(values))
        assert rows[:found].tolist() == sorted({*own, *pieces})
        mean, square, steps = (array("f", [0.0] * size) for size in (table * width, table * width, table))
        state = at(weights), at(mean), at(square), at(steps)
        _rows.adam((found, width, table), at(rows), at(values), state, (0.1, 0.9, 0.999, 1e-8))
        assert sum(steps) == found
print("done")
"""


def test_sanitizers(tmp_path: Path) -> None:
    """The compiled code built with sanitizers, on buffers that have no byte to spare."""
    compiler = shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs gcc on Linux")
    folders = [sysconfig.get_path("include"), NATIVE.parents[2] / "core"]
    flags = [
        "-fsanitize=address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    flags += ["-O1", "-g", "-ffp-contract=fast", "-shared", "-fPIC", *(f"-I{folder}" for folder in folders)]
    built = [compiler, *flags, NATIVE / "rows.c", "-o", tmp_path / "_rows.abi3.so", "-lm"]
    made = subprocess.run(built, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    found = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, timeout=60)
    settings = {
        "LD_PRELOAD": found.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself keeps memory until the end
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, "-c", CALLS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=settings)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-3000:]
