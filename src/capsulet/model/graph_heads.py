"""Heads in the ONNX graph: class capsules by routing, a linear layer, or n-gram features alone."""

from capsulet.choices import DOT
from capsulet.config import ModelOptions, decided
from capsulet.model import outputs
from capsulet.model.graph_builder import GraphBuilder, Weights
from capsulet.model.quantisation import Rounded
from capsulet.model.shapes import SCALES


def add_capsules(
    graph: GraphBuilder, weights: Weights, options: ModelOptions, pooled: str, parts: str, ngrams: str | None
) -> tuple[int, int]:
    """Add class capsules by routing; return N and C. Inside, N comes before B."""
    transforms = weights["head.transforms"]  # (N, P, C, L); rounded: (N C, P L)
    primary_length, class_length = options.primary_length, options.class_length
    num_primary = decided(options.hidden_size) // primary_length
    if isinstance(transforms, Rounded):
        num_classes = len(transforms.levels) // num_primary
        matrices = graph.matrix("votes", transforms, num_primary, num_classes, primary_length, class_length)
        matrices = graph.add("Transpose", matrices, perm=[0, 2, 1, 3])
        shape = graph.integers(num_primary, primary_length, num_classes * class_length)
        matrices = graph.add("Reshape", matrices, shape)
    else:
        num_classes = transforms.shape[2]
        matrices = graph.constant("transforms", transforms.reshape(num_primary, primary_length, -1))
    primary = graph.add("Reshape", pooled, graph.integers(0, num_primary, primary_length))
    primary = graph.add("Transpose", primary, perm=[1, 0, 2])  # (N, B, P)
    votes = graph.add("MatMul", primary, matrices)  # (N, B, C * L)
    votes = graph.add("Reshape", votes, graph.integers(0, 0, num_classes, class_length))
    capsules, coupling = add_routing(graph, options, votes, num_classes)  # (B, C, L), (N, B, C)

    norm = graph.norm(capsules)  # (B, C, 1)
    whole = graph.add("Squeeze", norm, graph.integers(2), name="" if ngrams else outputs.NORMS)  # (B, C)
    if ngrams:  # where the sum is negative, the length is 0
        whole = graph.add("Relu", graph.add("Add", whole, ngrams, name=outputs.NORMS))
    square = graph.add("Mul", whole, whole)
    # |squash(v)| = |v|^2 / (1 + |v|^2)
    graph.add("Div", square, graph.add("Add", square, graph.number(1)), name=outputs.LENGTHS)
    graph.add("Transpose", coupling, perm=[1, 0, 2], name=outputs.COUPLING)

    # A token adds to |v_j| the sum over i of c_ij (W_ij part_i) · v_j / |v_j|. This is linear in its part of the pooled
    # state (B, T, H): the part times a matrix (B, H, C), which the next lines compute.
    directions = graph.add("Transpose", graph.add("Div", capsules, norm), perm=[1, 2, 0])  # (C, L, B)
    by_class = graph.add("Reshape", matrices, graph.integers(-1, num_classes, class_length))  # (H, C, L)
    by_class = graph.add("Transpose", by_class, perm=[1, 0, 2])  # (C, H, L)
    matrix = graph.add("MatMul", by_class, directions)  # (C, H, B)
    matrix = graph.add("Reshape", matrix, graph.integers(0, num_primary, primary_length, -1))  # (C, N, P, B)
    shares = graph.add("Unsqueeze", graph.add("Transpose", coupling, perm=[2, 0, 1]), graph.integers(2))  # (C, N, 1, B)
    matrix = graph.add("Transpose", graph.add("Mul", matrix, shares), perm=[3, 1, 2, 0])  # (B, N, P, C)
    matrix = graph.add("Reshape", matrix, graph.integers(0, -1, num_classes))  # (B, H, C)
    graph.add("MatMul", parts, matrix, name=outputs.CONTRIBUTIONS)
    return num_primary, num_classes


def add_routing(graph: GraphBuilder, options: ModelOptions, votes: str, num_classes: int) -> tuple[str, str]:
    """Unroll the loops of model/routing.py: votes (N, B, C, L) to capsules before squash (B, C, L) and coupling."""

    def couple(logits: str) -> str:
        shares = graph.add("Softmax", logits, axis=-1)
        return graph.add("Mul", shares, graph.number(num_classes)) if options.scale_coupling else shares

    def weighted(coupling: str) -> str:
        return graph.sum(graph.add("Mul", votes, graph.add("Unsqueeze", coupling, graph.integers(3))), 0)

    coupling = ""
    if options.routing == "kmeans":
        compared = votes if options.agreement == DOT else graph.add("Div", votes, graph.norm(votes))
        capsules = graph.add("Div", graph.sum(votes, 0), graph.number(num_classes))
        for _ in range(options.iterations):
            unit = graph.add("Div", capsules, graph.norm(capsules))
            coupling = couple(graph.sum(graph.add("Mul", compared, unit), -1))
            capsules = weighted(coupling)
        return capsules, coupling
    logits, capsules = graph.add("Mul", graph.sum(votes, -1), graph.number(0)), ""
    for iteration in range(options.iterations):
        if iteration:
            norm = graph.norm(capsules)
            factor = graph.add("Div", norm, graph.add("Add", graph.add("Mul", norm, norm), graph.number(1)))
            squashed = graph.add("Mul", capsules, factor)
            logits = graph.add("Add", logits, graph.sum(graph.add("Mul", votes, squashed), -1))
        coupling = couple(logits)
        capsules = weighted(coupling)
    return capsules, coupling


def add_linear(
    graph: GraphBuilder, weights: Weights, options: ModelOptions, pooled: str, parts: str, ngrams: str | None
) -> tuple[int, int]:
    """Add a linear layer; return 1 and C. The pooled state is its only "primary capsule"."""
    weight = weights["head.weight"]  # (C, H)
    if isinstance(weight, Rounded):
        num_classes, hidden = weight.levels.shape
        projection = graph.add("Transpose", graph.matrix("classes", weight, num_classes, hidden), perm=[1, 0])
    else:
        num_classes = len(weight)
        projection = graph.constant("projection", weight.T)  # (H, C)
    logits = graph.add("MatMul", pooled, projection, name="" if ngrams else outputs.NORMS)
    if ngrams:
        graph.add("Add", logits, ngrams, name=outputs.NORMS)
    add_lengths(graph, options)
    graph.add("MatMul", parts, projection, name=outputs.CONTRIBUTIONS)
    return 1, num_classes


def add_features(graph: GraphBuilder, weights: Weights, options: ModelOptions) -> int:
    """Add the head of a model without a network, whose logits are the scores of n-gram features; return C."""
    graph.add("Identity", outputs.NGRAMS, name=outputs.NORMS)
    add_lengths(graph, options)
    return len(weights[SCALES])


def add_lengths(graph: GraphBuilder, options: ModelOptions) -> None:
    """Add the class lengths of logits, and the coupling of one primary capsule, which is 1."""
    kind, axis = ("Sigmoid", {}) if options.multi_label else ("Softmax", {"axis": -1})
    graph.add(kind, outputs.NORMS, name=outputs.LENGTHS, **axis)
    whole = graph.add("Add", graph.add("Mul", outputs.NORMS, graph.number(0)), graph.number(1))
    graph.add("Unsqueeze", whole, graph.integers(1), name=outputs.COUPLING)
