"""Adam for the dense parameters, row-wise Adam for the codes, and the learning rate schedule.

Dense Adam is the function of torch, not its class: the class imports the compiler of torch, which takes about as long
as the import of torch itself.

Row-wise Adam has a step count per row for the bias correction; it neither reads nor writes rows that a batch does not
touch. Dense Adam also moves absent words along their old momentum, and counts steps without the word. If every row has
a gradient in every step, both are the same.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam

from capsulet.config import TrainingOptions, head_rate
from capsulet.model.kernels import usable
from capsulet.model.network import Network
from capsulet.model.rows import distinct_rows
from capsulet.native import rows as native

FALLS = (0.5, 0.7)  # parts of the training after which the schedule `steps` divides the learning rate by ten


class RowAdam:
    """Adam for the rows of a table that have a sparse gradient."""

    def __init__(self, table: Tensor, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8) -> None:
        self.table, self.betas, self.epsilon = table, betas, epsilon
        self.mean, self.square = torch.zeros_like(table), torch.zeros_like(table)
        self.steps = torch.zeros(table.shape[0], dtype=torch.float32, device=table.device)

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Update the rows that have a gradient: U distinct rows of W numbers."""
        if self.table.grad is None:
            return
        rows, values = distinct_rows(self.table.grad)  # (U,), (U, W)
        if not usable(native, "row-wise Adam", self.table, values):
            self.torch_step(rows, values, learning_rate)
            return
        assert native is not None
        rows, values = rows.contiguous(), values.contiguous()
        sizes, settings = (*values.shape, len(self.table)), (learning_rate, *self.betas, self.epsilon)
        state = tuple(tensor.data_ptr() for tensor in (self.table, self.mean, self.square, self.steps))
        native.adam(sizes, rows.data_ptr(), values.data_ptr(), state, settings)

    def torch_step(self, rows: Tensor, values: Tensor, learning_rate: float) -> None:
        """Update distinct rows (U,) that have these gradients (U, W), through torch."""
        beta1, beta2 = self.betas
        steps = self.steps[rows] + 1
        mean = self.mean[rows].lerp_(values, 1 - beta1)
        square = self.square[rows].mul_(beta2).addcmul_(values, values, value=1 - beta2)
        mean_bias, square_bias = (1 - beta1**steps).unsqueeze(1), (1 - beta2**steps).unsqueeze(1)
        change = (mean / mean_bias) / ((square / square_bias).sqrt_().add_(self.epsilon))
        self.steps[rows], self.mean[rows], self.square[rows] = steps, mean, square
        self.table.index_add_(0, rows, change, alpha=-learning_rate)


class DenseAdam:
    """Adam for groups of dense parameters, each with its own peak learning rate: `torch.optim.Adam(fused=True)`."""

    def __init__(self, groups: Sequence[tuple[Iterable[Tensor], float]]) -> None:
        self.groups = [(list(parameters), peak) for parameters, peak in groups]
        # names are those of the state of torch.optim.Adam
        self.state = {parameter: initial_state(parameter) for parameters, _ in self.groups for parameter in parameters}

    def zero(self) -> None:
        """Clear the gradients."""
        for parameter in self.state:
            parameter.grad = None

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Update the parameters that have a gradient, at this fraction of the peak learning rates."""
        for parameters, peak in self.groups:
            moved = [parameter for parameter in parameters if parameter.grad is not None]
            means, squares, steps = (
                [self.state[parameter][name] for parameter in moved] for name in ("exp_avg", "exp_avg_sq", "step")
            )
            gradients = [parameter.grad for parameter in moved if parameter.grad is not None]
            adam(
                moved, gradients, means, squares, [], steps, fused=True, amsgrad=False, beta1=0.9, beta2=0.999,
                lr=peak * factor, weight_decay=0.0, eps=1e-8, maximize=False,
            )  # fmt: skip


def initial_state(parameter: Tensor) -> dict[str, Tensor]:
    """The state of Adam for a parameter before the first step."""
    means, squares = torch.zeros_like(parameter), torch.zeros_like(parameter)
    return {"step": torch.zeros((), device=parameter.device), "exp_avg": means, "exp_avg_sq": squares}


class Optimiser:
    """Adam for the dense parameters, for the head and for the codes, each with its own learning rate."""

    def __init__(self, network: Network, options: TrainingOptions) -> None:
        network.embedding.rowwise = options.rowwise
        self.options, self.rows = options, network.embedding.rows
        self.dense: Sequence[Tensor] = [parameter for parameter in network.parameters() if parameter is not self.rows]
        head = set(network.head.parameters())
        groups: list[tuple[Sequence[Tensor], float]] = [
            ([one for one in self.dense if one not in head], options.learning_rate),
            ([one for one in self.dense if one in head], head_rate(options)),
        ]
        self.row_adam = RowAdam(self.rows) if options.rowwise else None
        if not self.row_adam:
            groups.append(([self.rows], options.code_learning_rate))
        self.adam = DenseAdam(groups)
        self.adam_parameters = [*self.dense, *([] if self.row_adam else [self.rows])]

    def zero(self) -> None:
        """Clear the gradients."""
        self.adam.zero()
        self.rows.grad = None

    def clip(self) -> None:
        """Clip the norm of the gradient of the dense parameters."""
        # without the codes: their norm would grow with the number of words in a batch, and Adam scales each code anyway
        if self.options.clip:
            torch.nn.utils.clip_grad_norm_(self.dense, self.options.clip)

    def step(self, factor: float) -> None:
        """One step at this fraction of the peak learning rates."""
        self.adam.step(factor)
        if self.row_adam:
            self.row_adam.step(self.options.code_learning_rate * factor)

    def state(self) -> dict[str, Tensor]:
        """The state of both optimisers, by name."""
        state = {
            f"adam.{place}.{name}": value
            for place, parameter in enumerate(self.adam_parameters)
            for name, value in self.adam.state[parameter].items()
        }
        if self.row_adam:
            state |= {f"rows.{name}": getattr(self.row_adam, name) for name in ("mean", "square", "steps")}
        return state

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state that `state` returned."""
        for name, value in state.items():
            kind, *rest = name.split(".")
            if kind == "rows":
                assert self.row_adam
                setattr(self.row_adam, rest[0], value.clone())
            else:
                self.adam.state[self.adam_parameters[int(rest[0])]][rest[1]] = value.clone()


def learning_rate_factor(schedule: str, warmup: float, step: int, total: int) -> float:
    """Fraction of the peak learning rate at step 0 … total - 1, by the options `schedule` and `warmup`.

    `steps` divides it by ten after each part of the training in `FALLS`.
    """
    rising = warmup * total
    if step < rising:
        return (step + 1) / (rising + 1)
    if schedule == "steps":
        return 0.1 ** sum(step >= part * total for part in FALLS)
    return (total - step) / max(total - rising, 1) if schedule == "linear" else 1.0
