"""The processes that train one network together: alone, or a group of `torch.distributed`.

A batch is shared out among the processes, each works on its part, and the gradients are added up before the step, so
that the result is that of one process with the whole batch, but for the order of the additions. Of the codes only the
rows that the batch has touched go over the wire.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed

from capsulet.errors import InputError
from capsulet.training.optimiser import Optimiser

T = TypeVar("T")


class Alone:
    """One process: it has every text, and there is nothing to exchange."""

    rank, size = 0, 1

    def share(self, count: int) -> NDArray[np.int64]:
        """This process's places in a batch of `count` texts, dealt out since neighbours are of similar length."""
        return np.arange(self.rank, count, self.size)

    def add_gradients(self, optimiser: Optimiser) -> None:
        """Give every process the sum of all gradients."""

    def add(self, *numbers: float) -> list[float]:
        """The sum over the processes of each number."""
        return list(numbers)

    def add_array(self, values: NDArray[Any]) -> NDArray[Any]:
        """The sum over the processes of each number of an array."""
        return values

    def spread(self, data: bytes) -> bytes:
        """What the first process has."""
        return data

    def in_turn(self, work: Callable[[], T]) -> T:
        """The result of work that one process of each machine does first, for the others to find it done."""
        return work()

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the group."""


class Group(Alone):
    """Several processes, started by torchrun or Ray; on GPUs they speak NCCL, elsewhere Gloo."""

    def __init__(self, device: str, started_here: bool) -> None:
        self.device = device  # NCCL carries what is on a GPU and nothing else
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.started_here = started_here

    def add_gradients(self, optimiser: Optimiser) -> None:
        dense = [parameter for parameter in optimiser.dense if parameter.requires_grad]
        if not optimiser.options.rowwise:
            dense.append(optimiser.rows)
        flat = torch.cat(
            [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in dense]
        )  # one message instead of one for every parameter
        distributed.all_reduce(flat)
        for parameter, part in zip(dense, torch.split(flat, [p.numel() for p in dense]), strict=True):
            parameter.grad = part.view_as(parameter)
        if optimiser.options.rowwise:
            optimiser.rows.grad = self.add_rows(optimiser.rows)

    def add_rows(self, table: Tensor) -> Tensor:
        """The sum of the sparse gradients of all processes, as a sparse gradient."""
        width = table.shape[1]
        rows, values = torch.zeros(0, dtype=torch.int64, device=table.device), table.new_zeros(0, width)
        if table.grad is not None:
            gradient = table.grad.coalesce()
            rows, values = gradient.indices()[0], gradient.values()
        counts = [torch.zeros(1, dtype=torch.int64, device=table.device) for _ in range(self.size)]
        distributed.all_gather(counts, torch.tensor([len(rows)], device=table.device))
        most = max(int(count) for count in counts)
        # all messages have the length of the longest
        all_rows = [rows.new_empty(most) for _ in counts]
        all_values = [values.new_empty(most, width) for _ in counts]
        distributed.all_gather(all_rows, torch.cat([rows, rows.new_zeros(most - len(rows))]))
        distributed.all_gather(all_values, torch.cat([values, values.new_zeros(most - len(rows), width)]))
        found_rows = torch.cat([part[: int(count)] for part, count in zip(all_rows, counts, strict=True)])
        found_values = torch.cat([part[: int(count)] for part, count in zip(all_values, counts, strict=True)])
        return torch.sparse_coo_tensor(found_rows.unsqueeze(0), found_values, table.shape, check_invariants=False)

    def add(self, *numbers: float) -> list[float]:
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        found: list[float] = total.tolist()
        return found

    def add_array(self, values: NDArray[Any]) -> NDArray[Any]:
        total = torch.from_numpy(values).to(self.device)
        distributed.all_reduce(total)
        found: NDArray[Any] = total.cpu().numpy()
        return found

    def spread(self, data: bytes) -> bytes:
        size = int(self.add(0 if self.rank else len(data))[0])
        if not size:
            return b""
        message = torch.frombuffer(bytearray(bytes(size) if self.rank else data), dtype=torch.uint8).to(self.device)
        distributed.broadcast(message, 0)
        return message.cpu().numpy().tobytes()

    def in_turn(self, work: Callable[[], T]) -> T:
        first = int(os.environ.get("LOCAL_RANK", self.rank)) == 0
        if not first:
            if self.add(0.0)[0]:  # wait for the others
                raise InputError(f"worker {self.rank} ends since another one has failed")
            return work()
        try:
            result = work()
        except BaseException:
            self.add(1.0)  # nobody should wait for ever
            raise
        if self.add(0.0)[0]:
            raise InputError(f"worker {self.rank} ends since another one has failed")
        return result

    def __exit__(self, *_: object) -> None:
        if self.started_here:
            distributed.destroy_process_group()


def join_workers(device: str) -> Alone:
    """The group that torchrun has started this process for, if it has."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda, but torch sees no GPU here: leave it out to train on the CPU")
    if distributed.is_available() and distributed.is_initialized():
        return Group(device, started_here=False)
    if int(os.environ.get("WORLD_SIZE", "1")) < 2 or "RANK" not in os.environ:
        return Alone()
    # one process may read a large file while the others wait
    distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=timedelta(days=1))
    return Group(device, started_here=True)
