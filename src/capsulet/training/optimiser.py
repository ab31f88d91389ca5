"""Adam for the dense parameters, row-wise Adam for the codes, and the learning rate over time.

Row-wise Adam keeps a step count for every row and corrects each row's bias by its own count; rows that a batch does not
touch are neither read nor written. Dense Adam differs: it goes on moving an absent word along its old momentum, and
counts steps in which the word did not occur. With gradients in every row at every step the two are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from capsulet.config import TrainingOptions
from capsulet.model.network import Network


class RowAdam:
    """Adam for the rows of a table that have a sparse gradient."""

    def __init__(self, table: Tensor, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8) -> None:
        self.table, self.betas, self.epsilon = table, betas, epsilon
        self.mean, self.square = torch.zeros_like(table), torch.zeros_like(table)
        self.steps = torch.zeros(table.shape[0], dtype=torch.float32, device=table.device)

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Update the rows that have a gradient."""
        gradient = self.table.grad
        if gradient is None:
            return
        gradient = gradient.coalesce()
        rows, values = gradient.indices()[0], gradient.values()  # (U,), (U, W)
        beta1, beta2 = self.betas
        steps = self.steps[rows] + 1
        mean = self.mean[rows].lerp_(values, 1 - beta1)
        square = self.square[rows].mul_(beta2).addcmul_(values, values, value=1 - beta2)
        mean_bias = (1 - beta1**steps).unsqueeze(1)
        square_bias = (1 - beta2**steps).unsqueeze(1)
        change = (mean / mean_bias) / ((square / square_bias).sqrt_().add_(self.epsilon))
        self.steps[rows], self.mean[rows], self.square[rows] = steps, mean, square
        self.table.index_add_(0, rows, change, alpha=-learning_rate)


class Optimiser:
    """Adam for the dense parameters and for the codes, each with its own learning rate."""

    def __init__(self, network: Network, options: TrainingOptions) -> None:
        embedding = network.embedding
        embedding.rowwise = options.rowwise
        self.options = options
        self.rows = embedding.rows
        self.dense: Sequence[Tensor] = [parameter for parameter in network.parameters() if parameter is not self.rows]
        groups = [{"params": self.dense, "peak": options.learning_rate}]
        self.row_adam: RowAdam | None = None
        if options.rowwise:
            self.row_adam = RowAdam(self.rows)
        else:
            groups.append({"params": [self.rows], "peak": options.code_learning_rate})
        self.adam = torch.optim.Adam(groups, fused=True)

    def zero(self) -> None:
        """Clear the gradients."""
        self.adam.zero_grad(set_to_none=True)
        self.rows.grad = None

    def clip(self) -> None:
        """Clip the norm of the gradient of the dense parameters."""
        # The codes are left out: Adam moves each by its own scale, and their norm would grow with the words in a batch.
        if self.options.clip:
            torch.nn.utils.clip_grad_norm_(self.dense, self.options.clip)

    def step(self, factor: float) -> None:
        """One step at this fraction of the peak learning rates."""
        for group in self.adam.param_groups:
            group["lr"] = group["peak"] * factor
        self.adam.step()
        if self.row_adam:
            self.row_adam.step(self.options.code_learning_rate * factor)

    def state(self) -> dict[str, Tensor]:
        """The state of both optimisers, by name."""
        found = {
            f"adam.{place}.{name}": value
            for place, parameter in enumerate(self.adam_parameters)
            for name, value in self.adam.state[parameter].items()
        }
        if self.row_adam:
            found |= {"rows.mean": self.row_adam.mean, "rows.square": self.row_adam.square}
            found["rows.steps"] = self.row_adam.steps
        return found

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state that `state` returned."""
        for name, value in state.items():
            kind, *rest = name.split(".")
            if kind == "rows":
                assert self.row_adam
                setattr(self.row_adam, rest[0], value.clone())
            else:
                self.adam.state[self.adam_parameters[int(rest[0])]][rest[1]] = value.clone()

    @property
    def adam_parameters(self) -> list[Tensor]:
        """The parameters of dense Adam, in a fixed order."""
        return [parameter for group in self.adam.param_groups for parameter in group["params"]]


def learning_rate_factor(schedule: str, warmup: float, step: int, total: int) -> float:
    """Fraction of the peak learning rate at step 0 … total - 1: rises during warm-up, then falls or stays."""
    rising = warmup * total
    if step < rising:
        return (step + 1) / (rising + 1)
    return (total - step) / max(total - rising, 1) if schedule == "linear" else 1.0
