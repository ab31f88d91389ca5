"""The bidirectional GRU layer: torch's results, from the compiled code as from the fallback."""

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from capsulet.model import gru as recurrence
from capsulet.model import kernels as compiled
from capsulet.model.gru import bidirectional_gru
from capsulet.native import available
from capsulet.native import gru as native

needs_native = pytest.mark.skipif(native is None, reason="the compiled GRU is not built")
both_paths = pytest.mark.parametrize("path", [pytest.param("native", marks=needs_native), "torch"])

# (B, T, I, H): one of everything, odd sizes, sizes around the register blocks, the size of the paper
SHAPES = [
    (1, 1, 1, 1),
    (3, 7, 5, 5),
    (70, 4, 33, 24),
    (13, 60, 24, 33),
    (32, 9, 64, 128),
    (6, 17, 128, 16),
    (2, 45, 48, 7),
]
INSTRUCTION_SETS = ["avx512", "avx2", "portable"]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def choose(path: str) -> None:
        monkeypatch.setenv("CAPSULET_NATIVE", "1" if path == "native" else "0")
        assert available(native) == (path == "native")

    return choose


def layer(input_size: int, hidden_size: int, seed: int = 0) -> tuple[nn.GRU, list[Tensor]]:
    torch.manual_seed(seed)
    module = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
    return module, [weight for direction in module.all_weights for weight in direction]


def random_lengths(batch: int, steps: int, kind: str) -> Tensor:
    if kind == "equal":
        return torch.full((batch,), steps)
    if kind == "ones":
        return torch.ones(batch, dtype=torch.int64)
    return torch.randint(1, steps + 1, (batch,))


def reference(module: nn.GRU, inputs: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    outputs: Tensor = pad_packed_sequence(module(packed)[0], batch_first=True, total_length=inputs.shape[1])[0]
    return outputs


def compare(shape: tuple[int, int, int, int], kind: str, threads: int = 1) -> None:
    batch, steps, input_size, hidden_size = shape
    module, weights = layer(input_size, hidden_size)
    inputs = torch.randn(batch, steps, input_size, requires_grad=True)
    lengths = random_lengths(batch, steps, kind)
    torch.set_num_threads(1)  # torch's own threads wait for each other at every step, for seconds on a busy machine
    wanted = reference(module, inputs, lengths)
    direction = torch.randn_like(wanted)
    wanted_gradients = torch.autograd.grad(wanted, [inputs, *weights], direction)
    torch.set_num_threads(threads)
    got = bidirectional_gru(inputs, lengths, weights)
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=0)
    got_gradients = torch.autograd.grad(got, [inputs, *weights], direction)
    for got_one, wanted_one in zip(got_gradients, wanted_gradients, strict=True):
        torch.testing.assert_close(got_one, wanted_one, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("path", "threads"),
    [pytest.param("native", 1, marks=needs_native), pytest.param("native", 2, marks=needs_native), ("torch", 1)],
)
@pytest.mark.parametrize("kind", ["random", "equal", "ones"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_and_gradients_are_those_of_torch(
    use: Any, path: str, shape: tuple[int, int, int, int], kind: str, threads: int
) -> None:
    use(path)
    compare(shape, kind, threads)


@needs_native
@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_every_instruction_set_of_this_processor_agrees(name: str) -> None:
    assert native is not None
    usual = native.instruction_set()
    try:
        native.choose_instruction_set(name)
    except ValueError:
        pytest.skip(f"no {name} here")
    try:
        for shape in SHAPES:
            compare(shape, "random")
    finally:
        native.choose_instruction_set(usual)


@needs_native
def test_random_shapes(use: Any) -> None:
    use("native")
    generator = torch.Generator().manual_seed(1)

    def pick(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=generator))

    for _ in range(15):
        compare((pick(1, 70), pick(1, 60), pick(1, 70), pick(1, 70)), "random", threads=pick(1, 2))


@needs_native
def test_gradients_are_finite_differences(use: Any) -> None:
    use("native")
    batch, steps, input_size, hidden_size = 3, 4, 3, 5
    _, weights = layer(input_size, hidden_size)
    lengths = torch.tensor([4, 1, 3])
    inputs = torch.randn(batch, steps, input_size)
    direction = torch.randn(batch, steps, 2 * hidden_size)
    variables = [tensor.detach().clone().requires_grad_() for tensor in (inputs, *weights)]

    def loss(tensors: list[Tensor]) -> Tensor:  # summed in double precision: the differences are small
        return (bidirectional_gru(tensors[0], lengths, tensors[1:]).double() * direction.double()).sum()

    gradients = torch.autograd.grad(loss(variables), variables)
    step = 1e-2  # a central difference errs by step^2 / 6 times the third derivative, float32 by 1e-7 / step
    with torch.no_grad():
        for variable, gradient in zip(variables, gradients, strict=True):
            flat, expected = variable.view(-1), gradient.view(-1)
            for i in range(flat.numel()):
                old = flat[i].item()
                differences = []
                for size in (step, 2 * step):
                    flat[i] = old + size
                    above = loss(variables)
                    flat[i] = old - size
                    differences.append((above - loss(variables)).item() / (2 * size))
                flat[i] = old
                # Richardson: the error of second order cancels between the two step sizes
                difference = (4 * differences[0] - differences[1]) / 3
                assert difference == pytest.approx(expected[i].item(), abs=2e-4, rel=2e-4)


@needs_native
def test_the_same_bytes_every_time_and_for_every_number_of_threads(use: Any) -> None:
    use("native")
    _, weights = layer(40, 50)
    inputs = torch.randn(29, 31, 40, requires_grad=True)
    lengths = random_lengths(29, 31, "random")
    direction = torch.randn(29, 31, 100)
    results = []
    for threads in (1, 2, 1, 2):
        torch.set_num_threads(threads)
        outputs = bidirectional_gru(inputs, lengths, weights)
        results.append([outputs, *torch.autograd.grad(outputs, [inputs, *weights], direction)])
    for other in results[1:]:
        assert all(torch.equal(first, second) for first, second in zip(results[0], other, strict=True))


@both_paths
def test_a_text_does_not_depend_on_its_batch(use: Any, path: str) -> None:
    use(path)
    _, weights = layer(12, 20)
    inputs, lengths = torch.randn(9, 11, 12), random_lengths(9, 11, "random")
    together = bidirectional_gru(inputs, lengths, weights)
    for text, length in enumerate(lengths.tolist()):
        alone = bidirectional_gru(inputs[text : text + 1, :length], lengths[text : text + 1], weights)
        torch.testing.assert_close(together[text, :length], alone[0], atol=1e-6, rtol=0)


@both_paths
def test_padding_is_never_read_and_gets_no_gradient(use: Any, path: str) -> None:
    use(path)
    _, weights = layer(6, 9)
    lengths = torch.tensor([5, 2, 0, 8])
    real = torch.arange(8)[None, :] < lengths[:, None]  # (B, T)
    clean = torch.randn(4, 8, 6) * real[..., None]
    direction = torch.randn(4, 8, 18)
    results = []
    for garbage in (0.0, float("nan")):
        inputs = clean.masked_fill(~real[..., None], garbage).requires_grad_()
        outputs = bidirectional_gru(inputs, lengths, weights)
        assert not outputs[~real].any()
        gradients = torch.autograd.grad(outputs, [inputs, *weights], direction.masked_fill(~real[..., None], garbage))
        assert not gradients[0][~real].any()
        results.append([outputs, *gradients])
    for with_zeros, with_garbage in zip(*results, strict=True):
        assert torch.equal(with_zeros, with_garbage)


@both_paths
def test_inputs_gradients_and_weights_need_not_be_contiguous(use: Any, path: str) -> None:
    use(path)
    _, weights = layer(8, 10)
    inputs, lengths = torch.randn(5, 6, 8), torch.tensor([6, 3, 1, 6, 2])
    direction = torch.randn(5, 6, 20)

    def strided(tensor: Tensor) -> Tensor:
        return tensor.t().contiguous().t() if tensor.dim() == 2 else tensor.repeat_interleave(2)[::2]

    results = []
    for change in (False, True):
        leaf = (inputs.transpose(0, 1).contiguous().transpose(0, 1) if change else inputs.clone()).requires_grad_()
        used = [(strided(weight.detach()) if change else weight.detach()).requires_grad_() for weight in weights]
        outputs = bidirectional_gru(leaf, lengths, used)
        along = direction.permute(2, 1, 0).contiguous().permute(2, 1, 0) if change else direction
        results.append([outputs, *torch.autograd.grad(outputs, [leaf, *used], along)])
    for plain, changed in zip(*results, strict=True):
        torch.testing.assert_close(changed, plain, atol=1e-6, rtol=0)


@both_paths
@pytest.mark.parametrize(("batch", "steps"), [(0, 5), (3, 0), (0, 0), (2, 4)])
def test_batches_without_a_token(use: Any, path: str, batch: int, steps: int) -> None:
    use(path)
    _, weights = layer(3, 4)
    inputs = torch.randn(batch, steps, 3, requires_grad=True)
    outputs = bidirectional_gru(inputs, torch.zeros(batch, dtype=torch.int64), weights)
    assert outputs.shape == (batch, steps, 8) and not outputs.any()
    for gradient in torch.autograd.grad(outputs.sum(), [inputs, *weights]):
        assert not gradient.any()


@both_paths
def test_inputs_may_be_constant(use: Any, path: str) -> None:
    use(path)
    _, weights = layer(3, 4)
    bidirectional_gru(torch.randn(2, 5, 3), torch.tensor([5, 2]), weights).sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in weights)


@both_paths
def test_large_values_saturate(use: Any, path: str) -> None:
    use(path)
    module, weights = layer(4, 16)
    inputs, lengths = torch.randn(3, 6, 4) * 1e4, torch.tensor([6, 4, 6])
    outputs = bidirectional_gru(inputs, lengths, weights)
    torch.testing.assert_close(outputs, reference(module, inputs, lengths), atol=1e-5, rtol=0)


@both_paths
def test_wrong_arguments_are_named(use: Any, path: str) -> None:
    use(path)
    _, weights = layer(3, 4)
    inputs = torch.randn(2, 5, 3)
    with pytest.raises(ValueError, match="7 weights, expected 8"):
        bidirectional_gru(inputs, torch.tensor([5, 2]), weights[:7])
    with pytest.raises(ValueError, match=r"shape \(3,\), expected int64 of shape \(2,\)"):
        bidirectional_gru(inputs, torch.tensor([5, 2, 1]), weights)
    with pytest.raises(ValueError, match=r"weight_hh is \(12, 3\), expected \(12, 4\)"):
        bidirectional_gru(inputs, torch.tensor([5, 2]), [weights[0], weights[1][:, :3], *weights[2:]])
    for wrong in ([5, 6], [-1, 5]):
        with pytest.raises(ValueError, match="expected 0 to 5"):
            bidirectional_gru(inputs, torch.tensor(wrong), weights)


def test_double_precision_goes_through_torch_with_one_line_of_log(caplog: pytest.LogCaptureFixture) -> None:
    compiled._say_fallback.cache_clear()
    module, _ = layer(3, 4)
    module.double()
    inputs, lengths = torch.randn(2, 5, 3, dtype=torch.float64), torch.tensor([5, 2])
    with caplog.at_level(logging.INFO, logger="capsulet"):
        for _ in range(3):
            outputs = bidirectional_gru(inputs, lengths, [weight for both in module.all_weights for weight in both])
    torch.testing.assert_close(outputs, reference(module, inputs, lengths))
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith("GRU through torch: ")


@pytest.mark.parametrize("why", ["switched off", "not built"])
def test_the_fallback_says_why(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: str) -> None:
    compiled._say_fallback.cache_clear()
    if why == "switched off":
        monkeypatch.setenv("CAPSULET_NATIVE", "0")
    monkeypatch.setattr(recurrence, "gru", None if why == "not built" else object())
    _, weights = layer(3, 4)
    with caplog.at_level(logging.INFO, logger="capsulet"):
        bidirectional_gru(torch.randn(2, 5, 3), torch.tensor([5, 2]), weights)
    expected = "CAPSULET_NATIVE=0" if why == "switched off" else "the compiled GRU is not installed"
    assert caplog.messages == [f"GRU through torch: {expected}"]


@needs_native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes_the_same(use: Any) -> None:
    use("native")
    torch.set_num_threads(2)
    _, weights = layer(16, 24)
    inputs, lengths = torch.randn(6, 12, 16, requires_grad=True), random_lengths(6, 12, "random")

    def work() -> bytes:
        outputs = bidirectional_gru(inputs, lengths, weights)
        gradients = torch.autograd.grad(outputs.sum(), [inputs, *weights])
        return b"".join(tensor.detach().numpy().tobytes() for tensor in (outputs, *gradients))

    expected = work()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"same" if work() == expected else b"other")
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"same"
    assert os.waitpid(child, 0)[1] == 0
    assert work() == expected
