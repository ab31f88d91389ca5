"""Rows of words from a table: compiled code on a CPU, torch elsewhere.

The row of a word is its own row, the mean of the rows of its pieces, or their sum. The gradient of the table by the
compiled code has each row once. That by torch has one row per word and piece, which have to be sorted and added.

Shapes: a table (R, W) has R rows, of words and then of pieces, of W numbers each. U words are looked up.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from capsulet.model.kernels import usable
from capsulet.native import rows as native


class WordRows(NamedTuple):
    """Where the rows of U words are in a table."""

    own: Tensor  # (U,) own row of each word
    reads_own: Tensor  # (U,) whether the own row is read; otherwise only the pieces are
    starts: Tensor  # (U + 1,) where the pieces of each word start in `pieces`, and the end of the last ones
    pieces: Tensor  # rows of the pieces of all words, one word after the other


def composed_rows(table: Tensor, words: WordRows) -> Tensor:
    """Own row plus mean of the rows of the pieces; the gradient of the table is sparse: (R, W) -> (U, W)."""
    if not usable(native, "embedding", table):
        return torch_composed_rows(table, words, sparse=True)
    return _NativeRows.apply(table, *words)  # type: ignore[no-untyped-call, no-any-return]


def torch_composed_rows(table: Tensor, words: WordRows, sparse: bool) -> Tensor:
    """Own row plus mean of the rows of the pieces through torch: (R, W) -> (U, W); the gradient is sparse or dense."""
    own_rows = F.embedding(words.own, table, sparse=sparse) * words.reads_own.unsqueeze(1)
    if not len(words.pieces):
        return own_rows
    summed = F.embedding_bag(words.pieces, table, words.starts[:-1], mode="sum", sparse=sparse)
    return own_rows + summed / words.starts.diff().clamp(min=1).unsqueeze(1)


def distinct_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (U,) of a sparse gradient, each once and in order, and their values (U, W)."""
    rows = gradient._indices()[0]
    if bool((rows[1:] > rows[:-1]).all()):  # already distinct and in order, although torch may not know it
        return rows, gradient._values()
    gradient = gradient.coalesce()
    return gradient.indices()[0], gradient.values()


class _NativeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, *parts: Tensor) -> Tensor:
        assert native is not None
        table, words = table.contiguous(), WordRows(*(part.contiguous() for part in parts))
        results = table.new_empty(len(words.own), table.shape[1])
        native.compose(*_shared(table.shape, words), table.data_ptr(), results.data_ptr())
        ctx.shape = table.shape
        ctx.save_for_backward(*words)
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        assert native is not None
        words, gradients = WordRows(*ctx.saved_tensors), gradients.contiguous()
        most = len(words.own) + len(words.pieces)
        rows, values = words.own.new_empty(most), gradients.new_empty(most, ctx.shape[1])
        pointers = gradients.data_ptr(), rows.data_ptr(), values.data_ptr()
        found = native.add_gradients(*_shared(ctx.shape, words), *pointers)
        gradient = torch.sparse_coo_tensor(
            rows[:found].unsqueeze(0), values[:found], ctx.shape, check_invariants=False, is_coalesced=True
        )
        return gradient, None, None, None, None


def _shared(shape: torch.Size, words: WordRows) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First arguments of the compiled functions."""
    sizes = len(words.own), len(words.pieces), shape[1], shape[0]
    assert words.reads_own.dtype == torch.bool and len(words.reads_own) == len(words.starts) - 1 == sizes[0]
    assert all(part.dtype == torch.int64 for part in (words.own, words.starts, words.pieces))
    return sizes, tuple(part.data_ptr() for part in words)
