"""A group of processes of `torch.distributed` that train one network together.

Each process computes its part of a batch, and the gradients are added before the step. The result is that of one
process with the whole batch, except for the order of the additions. Processes exchange only the rows of the codes that
the batch has used.
"""

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed

from capsulet.errors import InputError
from capsulet.model.rows import distinct_rows
from capsulet.training.optimiser import Optimiser
from capsulet.training.workers import Alone

T = TypeVar("T")


class Group(Alone):
    """Several processes, started by torchrun or Ray; they use NCCL on GPUs, Gloo elsewhere."""

    def __init__(self, device: str, started_here: bool) -> None:
        self.device, self.started_here = device, started_here  # NCCL carries only tensors on a GPU
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def add_gradients(self, optimiser: Optimiser) -> None:
        dense = [parameter for parameter in optimiser.dense if parameter.requires_grad]
        if not optimiser.options.rowwise:
            dense.append(optimiser.rows)
        # one message for all parameters, instead of one per parameter
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in dense])
        distributed.all_reduce(flat)
        for parameter, part in zip(dense, torch.split(flat, [p.numel() for p in dense]), strict=True):
            parameter.grad = part.view_as(parameter)
        if optimiser.options.rowwise:
            optimiser.rows.grad = self.add_rows(optimiser.rows)

    def add_rows(self, table: Tensor) -> Tensor:
        """Sum of the sparse gradients (R, W) of all processes, as a sparse gradient in which rows may repeat."""
        rows, values = torch.zeros(0, dtype=torch.int64, device=table.device), table.new_zeros(0, table.shape[1])
        if table.grad is not None:
            rows, values = distinct_rows(table.grad)
        sizes = [torch.zeros(1, dtype=torch.int64, device=table.device) for _ in range(self.size)]
        distributed.all_gather(sizes, torch.tensor([len(rows)], device=table.device))
        counts = [int(size) for size in sizes]
        all_rows, all_values = self.gather(rows, counts), self.gather(values, counts)
        return torch.sparse_coo_tensor(all_rows.unsqueeze(0), all_values, table.shape, check_invariants=False)

    def gather(self, values: Tensor, counts: Sequence[int]) -> Tensor:
        """Concatenate the rows of all processes; `counts` has the number of rows of each process."""
        most, width = max(counts), values.shape[1:]  # all_gather needs messages of one length: shorter ones are padded
        parts = [values.new_empty(most, *width) for _ in counts]
        distributed.all_gather(parts, torch.cat([values, values.new_zeros(most - len(values), *width)]))
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def add(self, *numbers: float) -> list[float]:
        return list(self.add_array(np.array(numbers, np.float64)).tolist())

    def add_array(self, values: NDArray[Any]) -> NDArray[Any]:
        total = torch.from_numpy(values).to(self.device)
        distributed.all_reduce(total)
        return np.asarray(total.cpu().numpy())

    def broadcast(self, data: bytes) -> bytes:
        size = int(self.add(0 if self.rank else len(data))[0])
        if not size:
            return b""
        message = torch.frombuffer(bytearray(bytes(size) if self.rank else data), dtype=torch.uint8).to(self.device)
        distributed.broadcast(message, 0)
        return message.cpu().numpy().tobytes()

    def in_turn(self, work: Callable[[], T]) -> T:
        first = int(os.environ.get("LOCAL_RANK", self.rank)) == 0
        try:
            result = work() if first else None
        except BaseException:
            self.add(1.0)  # the others must not wait forever
            raise
        if self.add(0.0)[0]:  # wait for the others
            raise InputError(f"worker {self.rank} stopped because another worker failed: see the error of that worker")
        return result if first else work()  # type: ignore[return-value]

    def __exit__(self, *_: object) -> None:
        if self.started_here:
            distributed.destroy_process_group()


def join_group(device: str, started: bool) -> Group | None:
    """Join the group that Ray has made, or make that of torchrun if it has `started` this process."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device is cuda, but PyTorch finds no GPU: leave out --device to train on the CPU")
    if distributed.is_available() and distributed.is_initialized():
        return Group(device, started_here=False)
    if not started:
        return None
    # one process may read a large file while the others wait
    distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=timedelta(days=1))
    return Group(device, started_here=True)
