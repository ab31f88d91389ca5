"""Algorithm 1 and dynamic routing against slow loops, closed forms and finite differences."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from capsulet.choices import DOT
from capsulet.model import kernels as compiled
from capsulet.model import routing as module
from capsulet.model.routing import dynamic_routing, kmeans_routing, squash, torch_kmeans_routing
from capsulet.native import routing as native

Vector = list[float]
needs_native = pytest.mark.skipif(native is None, reason="the compiled routing is not built")


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def length(vector: Vector) -> float:
    return math.sqrt(dot(vector, vector))


def slow_softmax(values: Vector) -> Vector:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def slow_squash(vector: Vector) -> Vector:
    size = length(vector)
    return [size / (1 + size**2) * value for value in vector]


def slow_sum(votes: list[list[Vector]], coupling: list[Vector], j: int) -> Vector:
    """Sum over i of c_ij W_ij u_i."""
    return [sum(coupling[i][j] * votes[i][j][axis] for i in range(len(votes))) for axis in range(len(votes[0][0]))]


def slow_kmeans(votes: list[list[Vector]], iterations: int, dot_product: bool = False) -> list[Vector]:
    """Algorithm 1, line by line: votes[i][j] is W_ij u_i. With `dot_product`, a vote is compared at its length."""
    primary, classes = len(votes), len(votes[0])
    capsules = [slow_sum(votes, [[1 / classes] * classes] * primary, j) for j in range(classes)]
    for _ in range(iterations):
        coupling = [
            slow_softmax(
                [
                    dot(votes[i][j], capsules[j]) / ((1 if dot_product else length(votes[i][j])) * length(capsules[j]))
                    for j in range(classes)
                ]
            )
            for i in range(primary)
        ]
        capsules = [slow_sum(votes, coupling, j) for j in range(classes)]
    return [slow_squash(capsule) for capsule in capsules]


def slow_dynamic(votes: list[list[Vector]], iterations: int) -> list[Vector]:
    """Procedure 1 of Sabour et al. 2017."""
    primary, classes = len(votes), len(votes[0])
    logits = [[0.0] * classes for _ in range(primary)]
    capsules: list[Vector] = []
    for _ in range(iterations):
        coupling = [slow_softmax(row) for row in logits]
        capsules = [slow_squash(slow_sum(votes, coupling, j)) for j in range(classes)]
        for i in range(primary):
            for j in range(classes):
                logits[i][j] += dot(votes[i][j], capsules[j])
    return capsules


def dot_routing(votes: Tensor, iterations: int, scale: bool) -> tuple[Tensor, Tensor]:
    """K-means routing by dot products."""
    return kmeans_routing(votes, iterations, scale, DOT)


def slow_dot(votes: list[list[Vector]], iterations: int) -> list[Vector]:
    return slow_kmeans(votes, iterations, dot_product=True)


ROUTINGS = [kmeans_routing, torch_kmeans_routing, dot_routing, dynamic_routing]
PAIRS = [(kmeans_routing, slow_kmeans), (dot_routing, slow_dot), (dynamic_routing, slow_dynamic)]


@pytest.mark.parametrize("iterations", [1, 2, 3, 7])
@pytest.mark.parametrize(("routing", "oracle"), PAIRS)
def test_routing_agrees_with_the_loop(routing, oracle, iterations) -> None:
    torch.manual_seed(iterations)
    votes = torch.randn(4, 5, 3, 6, dtype=torch.float64)
    capsules, _ = routing(votes, iterations, scale=False)
    expected = torch.tensor([oracle(text.tolist(), iterations) for text in votes], dtype=torch.float64)
    torch.testing.assert_close(capsules, expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("routing", ROUTINGS)
def test_coupling_is_shared_out_among_the_classes(routing, scale) -> None:
    votes = torch.randn(2, 5, 7, 6)
    capsules, coupling = routing(votes, 3, scale)
    torch.testing.assert_close(coupling.sum(-1), torch.full((2, 5), 7.0 if scale else 1.0))
    # and it is the coupling that made the capsules
    torch.testing.assert_close(capsules, squash((coupling.unsqueeze(-1) * votes).sum(1)), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_votes_that_do_not_differ_between_classes_are_shared_evenly(routing) -> None:
    votes = torch.randn(1, 5, 1, 6).expand(1, 5, 4, 6)
    capsules, coupling = routing(votes, 3, scale=True)
    torch.testing.assert_close(coupling, torch.ones(1, 5, 4))
    torch.testing.assert_close(capsules, squash(votes.sum(1)))


def test_kmeans_weighs_agreement_by_direction_alone() -> None:
    # both primary capsules vote the same way for class 0 and in opposite ways for class 1, at very different lengths
    votes = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[100.0, 0.0], [0.0, -0.5]]]])
    _, coupling = kmeans_routing(votes, 1, scale=False)
    # class 1 starts at (0, 0.25): cosine 1 with the first vote, -1 with the second; class 0 agrees with both fully
    even, against = 0.5, 1 / (1 + math.exp(-2))
    torch.testing.assert_close(coupling[0, :, 0], torch.tensor([even, against]))


def test_dot_products_keep_the_length_of_a_vote() -> None:
    votes = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0.0, 1.0]]]])
    _, coupling = dot_routing(votes, 1, scale=False)
    # every vote has the direction of its capsule, so agreement is its length: 1 and 1, then 3 and 1
    torch.testing.assert_close(coupling[0, :, 0], torch.tensor([0.5, 1 / (1 + math.exp(-2))]))
    _, coupling = kmeans_routing(votes, 1, scale=False)
    torch.testing.assert_close(coupling[0, :, 0], torch.tensor([0.5, 0.5]))


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.5, 1.0, 3.0, 1e4])
def test_squash_keeps_the_direction_and_bounds_the_length(size) -> None:
    direction = torch.tensor([0.6, -0.8], dtype=torch.float64)
    squashed = squash(direction * size)
    torch.testing.assert_close(squashed, direction * size**2 / (1 + size**2), atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("routing", ROUTINGS)
def test_gradients_agree_with_finite_differences(routing, scale) -> None:
    torch.manual_seed(0)
    votes = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda votes: routing(votes, 3, scale), votes)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_silent_votes_have_finite_gradients(routing) -> None:
    votes = torch.zeros(1, 3, 4, 5, requires_grad=True)
    routing(votes, 3, True)[0].sum().backward()
    assert votes.grad is not None and votes.grad.isfinite().all()


# (B, N, C, L): one of everything, odd sizes, sizes around the vectors, two threads' worth, the size of the paper
SHAPES = [
    (1, 1, 1, 1),
    (3, 5, 7, 6),
    (2, 9, 8, 5),
    (5, 16, 17, 16),
    (2, 3, 33, 100),
    (2, 7, 20, 1),
    (7, 15, 129, 24),
    (8, 16, 77, 16),
    (3, 16, 1000, 16),
]
LAYOUTS = ["texts first", "primary capsules first", "with gaps", "classes last"]


def random_votes(shape: tuple[int, int, int, int], layout: str) -> Tensor:
    """No entry is near zero: a gradient is a difference of terms of 1 / |v|, and rounding grows with them."""
    batch, primary, classes, length = shape
    memory, view = {
        "texts first": ((batch, primary, classes, length), lambda votes: votes),
        "primary capsules first": ((primary, batch, classes, length), lambda votes: votes.transpose(0, 1)),  # einsum's
        "with gaps": ((batch + 1, 2 * primary, classes, length), lambda votes: votes[1:, ::2]),
        "classes last": ((batch, primary, length, classes), lambda votes: votes.transpose(2, 3)),
    }[layout]
    votes = torch.randn(memory)
    return view(votes + 0.5 * votes.sign())


def outputs_and_gradient(routing, votes: Tensor, along, iterations: int, scale: bool) -> list[Tensor]:
    votes = votes.detach().requires_grad_()
    outputs = routing(votes, iterations, scale)
    pairs = [(output, part) for output, part in zip(outputs, along, strict=True) if part is not None]
    gradient = torch.autograd.grad([output for output, _ in pairs], votes, [part.to(votes.dtype) for _, part in pairs])
    return [*outputs, *gradient]


def compare(shape: tuple[int, int, int, int], layout: str, iterations: int, scale: bool, threads: int = 1) -> None:
    votes = random_votes(shape, layout)
    along = (torch.randn(shape[0], *shape[2:]), torch.randn(shape[:3]))
    torch.set_num_threads(threads)
    for part in ((0,), (1,), (0, 1)):  # gradients of the capsules alone, the coupling alone, and both
        given = [one if index in part else None for index, one in enumerate(along)]
        got = outputs_and_gradient(kmeans_routing, votes, given, iterations, scale)
        wanted = outputs_and_gradient(torch_kmeans_routing, votes.double(), given, iterations, scale)
        for got_one, wanted_one in zip(got[:2], wanted[:2], strict=True):
            torch.testing.assert_close(got_one.double(), wanted_one, atol=1e-5, rtol=1e-5)
        error, size = ((got[2] - wanted[2]).flatten(1).norm(dim=1), wanted[2].flatten(1).norm(dim=1))
        # for L = 1 a direction cannot turn: some gradients are zero and what is computed is rounding times 1 / |s|
        assert (error <= 1e-4 * size + (1e-4 if shape[3] == 1 else 1e-7)).all()


@needs_native
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_compiled_code_agrees_with_torch(shape, layout, iterations, scale) -> None:
    torch.manual_seed(0)
    compare(shape, layout, iterations, scale)


@needs_native
@pytest.mark.parametrize("name", ["avx512", "avx2", "portable"])
def test_every_instruction_set_of_this_processor_agrees(name) -> None:
    assert native is not None
    usual = native.instruction_set()
    try:
        native.choose_instruction_set(name)
    except ValueError:
        pytest.skip(f"no {name} here")
    torch.manual_seed(0)
    try:
        for shape in SHAPES:
            compare(shape, "primary capsules first", 3, True)
    finally:
        native.choose_instruction_set(usual)


@needs_native
def test_random_shapes() -> None:
    dice = torch.Generator().manual_seed(1)

    def pick(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=dice))

    torch.manual_seed(0)
    for _ in range(25):
        shape = (pick(1, 9), pick(1, 20), pick(1, 90), pick(1, 40))
        compare(shape, LAYOUTS[pick(0, 3)], pick(1, 6), bool(pick(0, 1)), pick(1, 2))


@needs_native
def test_many_iterations() -> None:
    torch.manual_seed(0)
    compare((3, 4, 9, 5), "texts first", 100, True)


@needs_native
@pytest.mark.parametrize("scale", [False, True])
def test_compiled_gradients_are_finite_differences(scale) -> None:
    torch.manual_seed(0)
    votes = torch.randn(2, 3, 4, 5, requires_grad=True)
    along = (torch.randn(2, 4, 5, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64))

    def loss() -> Tensor:  # summed in double precision: the differences are small
        outputs = kmeans_routing(votes, 3, scale)
        return sum((output.double() * part).sum() for output, part in zip(outputs, along, strict=True))

    (gradient,) = torch.autograd.grad(loss(), votes)
    with torch.no_grad():
        flat, expected = votes.view(-1), gradient.view(-1)
        for i in range(flat.numel()):
            old = flat[i].item()
            differences = []
            for size in (1e-2, 2e-2):
                flat[i] = old + size
                above = loss()
                flat[i] = old - size
                differences.append((above - loss()).item() / (2 * size))
            flat[i] = old
            # Richardson: the error of second order cancels between the two step sizes
            difference = (4 * differences[0] - differences[1]) / 3
            assert difference == pytest.approx(expected[i].item(), abs=5e-4, rel=5e-4)


@needs_native
def test_the_same_bytes_every_time_and_for_every_number_of_threads() -> None:
    votes = random_votes((9, 16, 150, 16), "primary capsules first")  # enough for two threads
    along = (torch.randn(9, 150, 16), torch.randn(9, 16, 150))
    results = []
    for threads in (1, 2, 1, 2):
        torch.set_num_threads(threads)
        results.append(outputs_and_gradient(kmeans_routing, votes, along, 3, True))
    for other in results[1:]:
        assert all(torch.equal(first, second) for first, second in zip(results[0], other, strict=True))
    for text in range(9):  # nor do they depend on the batch
        alone = kmeans_routing(votes[text : text + 1], 3, True)
        assert torch.equal(alone[0][0], results[0][0][text]) and torch.equal(alone[1][0], results[0][1][text])


@needs_native
def test_gradients_are_laid_out_as_the_votes() -> None:
    votes = random_votes((4, 6, 10, 16), "primary capsules first").requires_grad_()
    (gradient,) = torch.autograd.grad(kmeans_routing(votes, 3, True)[0].sum(), votes)
    assert gradient.stride() == votes.stride()


@needs_native
def test_backward_can_run_twice() -> None:
    votes = torch.randn(2, 4, 10, 8, requires_grad=True)
    total = kmeans_routing(votes, 3, True)[0].sum()
    first, second = (torch.autograd.grad(total, votes, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


@needs_native
def test_the_answer_is_the_same_without_gradients() -> None:
    votes = torch.randn(8, 16, 77, 16, requires_grad=True)
    expected = kmeans_routing(votes, 3, True)
    with torch.no_grad():
        for got, wanted in zip(kmeans_routing(votes, 3, True), expected, strict=True):
            assert not got.requires_grad and torch.equal(got, wanted)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_batch_without_texts(routing) -> None:
    votes = torch.zeros(0, 3, 4, 5, requires_grad=True)
    capsules, coupling = routing(votes, 3, True)
    assert capsules.shape == (0, 4, 5) and coupling.shape == (0, 3, 4)
    capsules.sum().backward()
    assert votes.grad is not None and votes.grad.shape == votes.shape


@needs_native
@pytest.mark.parametrize("silent", ["one vote", "one class", "one text"])
def test_votes_that_are_partly_zero(silent) -> None:
    torch.manual_seed(0)
    votes = torch.randn(2, 4, 9, 5)
    votes[{"one vote": (0, 1, 2), "one class": (0, slice(None), 2), "one text": (0,)}[silent]] = 0
    along = (torch.randn(2, 9, 5), None)
    got = outputs_and_gradient(kmeans_routing, votes, along, 3, True)
    wanted = outputs_and_gradient(torch_kmeans_routing, votes, along, 3, True)
    # a zero vote has a slope of up to 1 / sqrt(epsilon) = 1e6
    for got_one, wanted_one in zip(got, wanted, strict=True):
        torch.testing.assert_close(got_one, wanted_one, atol=1e-5 * (1 + wanted_one.abs().max().item()), rtol=1e-4)
        assert got_one.isfinite().all()


@needs_native
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e25, 1e-25])
def test_odd_values_stay_in_their_text(value) -> None:
    votes = torch.randn(3, 4, 9, 5)
    along = (torch.randn(3, 9, 5), torch.randn(3, 4, 9))
    clean = outputs_and_gradient(kmeans_routing, votes, along, 3, True)
    votes[1, 2, 3, 4] = value
    odd = outputs_and_gradient(kmeans_routing, votes, along, 3, True)
    for one, other in zip(clean, odd, strict=True):
        assert torch.equal(one[[0, 2]], other[[0, 2]])
    if not math.isfinite(value):
        assert odd[0][1].isnan().all() and odd[2][1].isnan().any()


@pytest.mark.parametrize("why", ["switched off", "not built", "double precision"])
def test_the_fallback_says_why(monkeypatch, caplog, why) -> None:
    compiled._say_fallback.cache_clear()
    if why == "switched off":
        monkeypatch.setenv("CAPSULET_NATIVE", "0")
    # an object in place of the kernel fails if it is called
    monkeypatch.setattr(module, "native", None if why == "not built" else object())
    votes = torch.randn(2, 3, 4, 5, dtype=torch.float64 if why == "double precision" else torch.float32)
    with caplog.at_level(logging.INFO, logger="capsulet"):
        for _ in range(3):
            got = kmeans_routing(votes, 3, True)
    assert all(torch.equal(*pair) for pair in zip(got, torch_kmeans_routing(votes, 3, True), strict=True))
    reason = {
        "switched off": "CAPSULET_NATIVE=0",
        "not built": "the compiled k-means routing is not installed",
        "double precision": "the compiled k-means routing computes float32 on a CPU, not torch.float64 on cpu",
    }[why]
    assert caplog.messages == [f"k-means routing through torch: {reason}"]


@needs_native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes_the_same() -> None:
    torch.set_num_threads(2)
    votes = torch.randn(8, 16, 150, 16)

    def work() -> bytes:
        return b"".join(output.numpy().tobytes() for output in kmeans_routing(votes, 3, True))

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
