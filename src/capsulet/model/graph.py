"""The network as an ONNX graph, written node by node from the weights; needs neither PyTorch nor its exporter.

inputs   ids (B, T) int64, token_counts (B,) int64
outputs  lengths (B, C)           what the class capsules say, 0 to 1
         norms (B, C)             the capsules' lengths before squash (linear head: the logits)
         coupling (B, N, C)       how much each primary capsule gave to each class
         contributions (B, T, C)  each token's share of `norms`: they sum to it exactly, the coupling held fixed
         shares (B, N, C)         the same by primary capsule
         codes (B, T, M, K)       what each codeword counts for each token (cwc and cc)
         embedded (B, T, D)       vectors of the words
         directions (B, H, C)     what each number of the pooled state gives to `norms`
         ngrams (B, T, C)       what each token gives to `norms` past the encoder, where there is a ngrams: a
                                  word's own row, and half of each pair it is in
         gruN_input, gruN_recurrent, gruN_bias   weights of the encoder: by all these runtime/flow.py follows
                                  contributions back to the words

The softmax over the codes is taken here, once, and discrete codes become small integers. The GRU is ONNX's own with
`sequence_lens`, so padding is never read. Time comes before batch inside the graph, as that operator wants it.

A compressed model has matrices of few bits and codes packed into bytes. Their unpacking is written in operators that
every runtime has, on integers of 32 bits; of constants it is done once, when the graph is loaded (`Cast`, `Sub`, `Mul`:
ONNX Runtime would leave `DequantizeLinear` to every run).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from capsulet.config import POOLINGS, ModelOptions
from capsulet.model.graph_builder import END, OPSET, GraphBuilder, Matrix
from capsulet.model.hashing import FIRST, PAIR, PRIME, SECOND, WORD
from capsulet.model.quantisation import Rounded, pack_bits
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES
from capsulet.text.vocabulary import FIRST_WORD

IR_VERSION = 8  # both old enough for runtimes of the last years, browsers included

Weights = dict[str, Any]  # name to Matrix


def build_graph(weights: Weights, options: ModelOptions, dictionary: bytes | None = None) -> onnx.ModelProto:
    """The ONNX model of these weights; a dictionary becomes one more output, which any runtime can be asked for."""
    graph = GraphBuilder()
    embedded, code_shape = add_embedding(graph, weights, options)  # (B, T, D)
    states = add_encoder(graph, weights, options, embedded)  # (T, B, H), zero beyond the lengths
    pooled, parts = add_pooling(graph, options, states)  # (B, H), (B, T, H)
    past = add_ngrams(graph, weights) if LEVELS in weights else None  # (B, C)
    add_head = add_capsules if options.head == "capsule" else add_linear
    num_primary, num_classes = add_head(graph, weights, options, pooled, parts, past)
    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    graph.add("Identity", embedded, name="embedded")
    value = helper.make_tensor_value_info
    more = []
    if dictionary is not None:
        words = graph.constant("words", np.frombuffer(dictionary, np.uint8))
        graph.add("Identity", words, name="dictionary")
        more = [value("dictionary", TensorProto.UINT8, [len(dictionary)])]
    proto = helper.make_graph(
        graph.nodes,
        "capsulet",
        [value("ids", int64, ["batch", "time"]), value("token_counts", int64, ["batch"])],
        [
            value("lengths", float32, ["batch", num_classes]),
            value("norms", float32, ["batch", num_classes]),
            value("coupling", float32, ["batch", num_primary, num_classes]),
            value("contributions", float32, ["batch", "time", num_classes]),
            value("shares", float32, ["batch", num_primary, num_classes]),
            *([value("codes", float32, ["batch", "time", *code_shape])] if code_shape else []),
            value("embedded", float32, ["batch", "time", options.embedding_size]),
            value("directions", float32, ["one or batch", options.hidden_size, num_classes]),
            *([value("ngrams", float32, ["batch", "time", num_classes])] if past else []),
            *(value(name, float32, shape) for name, shape in add_encoder_weights(graph, options).items()),
            *more,
        ],
        list(graph.constants.values()),
    )
    model = helper.make_model(
        proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="capsulet"
    )
    onnx.checker.check_model(model)
    return model


def add_embedding(graph: GraphBuilder, weights: Weights, options: ModelOptions) -> tuple[str, tuple[int, ...]]:
    """Ids (B, T) to vectors (B, T, D), and how many codebooks and codewords there are, if any."""
    if "embedding.choices" in weights:
        return add_packed_codes(graph, weights["embedding.choices"], weights["embedding.codebooks"])
    if options.embedding == "plain":
        return graph.add("Gather", graph.constant("table", weights["embedding.table"]), "ids"), ()
    codebooks = weights["embedding.codebooks"]  # (M, K, D)
    num_codebooks, num_codewords, _ = codebooks.shape
    codes = weights["embedding.codes"].reshape(-1, num_codebooks, num_codewords)  # (V, M, K)
    flat = graph.constant("codebooks", codebooks.reshape(num_codebooks * num_codewords, -1))
    if options.embedding == "cwc":
        powers = np.exp(codes - codes.max(-1, keepdims=True))
        shares = (powers / powers.sum(-1, keepdims=True)).reshape(len(codes), -1).astype(np.float32)
        weights_of = graph.add("Gather", graph.constant("code_weights", shares), "ids")  # (B, T, M * K)
        graph.add("Reshape", weights_of, graph.integers(0, 0, num_codebooks, num_codewords), name="codes")
        return graph.add("MatMul", weights_of, flat), (num_codebooks, num_codewords)
    kind = np.uint8 if num_codewords <= 256 else np.int32
    choices = graph.constant("code_choices", codes.argmax(-1).astype(kind))  # (V, M)
    chosen = graph.add("Cast", graph.add("Gather", choices, "ids"), to=TensorProto.INT64)  # (B, T, M)
    add_choices(graph, chosen, num_codewords)
    rows = graph.add("Add", chosen, graph.constant("first_rows", np.arange(num_codebooks) * num_codewords))
    return graph.sum(graph.add("Gather", flat, rows), 2), (num_codebooks, num_codewords)


def add_choices(graph: GraphBuilder, chosen: str, num_codewords: int) -> None:
    """Choices (B, T, M) as the weights of all codewords, 0 or 1, which is what explanations read: (B, T, M, K)."""
    ends = graph.constant("off_and_on", np.array([0, 1], np.float32))
    graph.add("OneHot", chosen, graph.constant("num_codewords", np.int64(num_codewords)), ends, name="codes")


def add_packed_codes(
    graph: GraphBuilder, choices: NDArray[np.uint8], codebooks: Rounded
) -> tuple[str, tuple[int, ...]]:
    """Ids (B, T) to vectors (B, T, D) by choices (V, M), each packed to its bits, and codewords (M K, D)."""
    num_codebooks = choices.shape[1]
    num_codewords, size = len(codebooks.levels) // num_codebooks, codebooks.levels.shape[1]
    bits = max(1, (num_codewords - 1).bit_length())
    packed = graph.add("Gather", graph.constant("code_bits", pack_bits(choices, bits)), "ids")  # (B, T, bytes)
    first_rows = (np.arange(num_codebooks) * num_codewords).astype(np.int32)
    chosen = graph.unpack(packed, num_codebooks, bits)  # (B, T, M)
    add_choices(graph, graph.add("Cast", chosen, to=TensorProto.INT64), num_codewords)
    rows = graph.add("Add", chosen, graph.constant("first_rows", first_rows))
    flat = graph.matrix("codebooks", codebooks, num_codebooks * num_codewords, size)
    return graph.sum(graph.add("Gather", flat, rows), 2), (num_codebooks, num_codewords)


def add_levels(graph: GraphBuilder, levels: NDArray[np.int8], numbers: str, bits: int) -> str:
    """Rows of the ngrams's table, from bytes or from fields of so few bits: (B, F) -> (B, F, C)."""
    if bits == 8:
        return graph.add("Gather", graph.constant("ngrams_levels", levels), numbers)
    half = 1 << (bits - 1)
    packed = pack_bits((levels.astype(np.int16) + half).astype(np.uint8), bits)  # (S, bytes)
    found = graph.unpack(graph.add("Gather", graph.constant("ngrams_bits", packed), numbers), levels.shape[1], bits)
    return graph.add("Sub", found, graph.constant(f"half_{bits}", np.int32(half)))


def add_encoder(graph: GraphBuilder, weights: Weights, options: ModelOptions, embedded: str) -> str:
    """Vectors (B, T, D) to states (T, B, H), both directions summed, zero beyond the lengths."""
    sequence_lens = graph.add("Cast", "token_counts", to=TensorProto.INT32)
    inputs = graph.add("Transpose", embedded, perm=[1, 0, 2])
    output = ""
    for layer in range(options.num_layers):
        if layer:  # (T, 2, B, H) -> (T, B, 2H)
            inputs = graph.add("Transpose", output, perm=[0, 2, 1, 3])
            inputs = graph.add("Reshape", inputs, graph.integers(0, 0, -1))

        def both(*kinds: str, layer: int = layer) -> Matrix:
            names = [f"encoder.gru.{kind}_l{layer}{end}" for end in ("", "_reverse") for kind in kinds]
            return joined([update_first(weights[name]) for name in names])

        gates = 3 * options.hidden_size

        output = graph.add(
            "GRU",
            inputs,
            graph.matrix(f"gru{layer}_input_weights", both("weight_ih"), 2, gates, -1),
            graph.matrix(f"gru{layer}_recurrent_weights", both("weight_hh"), 2, gates, options.hidden_size),
            graph.matrix(f"gru{layer}_bias_weights", both("bias_ih", "bias_hh"), 2, 2 * gates),
            sequence_lens,
            direction="bidirectional",
            hidden_size=options.hidden_size,
            linear_before_reset=1,  # the reset gate comes after the recurrent product, as in PyTorch
        )
    states = graph.sum(output, 1)  # (T, B, H)
    # The operator leaves zeros beyond a text's length; a runtime that did not would be wrong without this.
    time = graph.add("Gather", graph.add("Shape", states), graph.constant("zero", np.int64(0)))
    steps = graph.add("Range", graph.constant("zero", 0), time, graph.constant("one", np.int64(1)), name="steps")
    real = graph.add("Less", graph.add("Unsqueeze", steps, graph.integers(1)), "token_counts")  # (T, B)
    mask = graph.add("Cast", real, to=TensorProto.FLOAT)
    return graph.add("Mul", states, graph.add("Unsqueeze", mask, graph.integers(2), name="mask"))


def add_pooling(graph: GraphBuilder, options: ModelOptions, states: str) -> tuple[str, str]:
    """States (T, B, H) to one a text (B, H), and each token's part of it (B, T, H); the parts sum to it."""
    share = POOLINGS[options.pooling]
    count = graph.add("Unsqueeze", graph.add("Cast", "token_counts", to=TensorProto.FLOAT), graph.integers(1))  # (B, 1)
    weight = graph.add("Div", graph.number(share), count)
    pooled = graph.add("Mul", graph.sum(states, 0), weight)
    parts = graph.add("Mul", states, weight)
    if share < 1:
        # every state lies between -2 and 2, the sum of two directions: padding at -4 is never the largest
        padding = graph.add("Mul", graph.add("Sub", "mask", graph.number(1)), graph.number(4))
        real = graph.add("Add", states, padding)  # (T, B, H)
        rest = graph.number(1 - share)
        largest = graph.add("ReduceMax", real, axes=[0], keepdims=0)
        pooled = graph.add("Add", pooled, graph.add("Mul", largest, rest))
        # all of it goes to the token that had the largest value
        place = graph.add("ArgMax", real, axis=0, keepdims=1)  # (1, B, H)
        chosen = graph.add("Equal", graph.add("Unsqueeze", "steps", graph.integers(1, 2)), place)
        chosen = graph.add("Mul", graph.add("Cast", chosen, to=TensorProto.FLOAT), rest)
        parts = graph.add("Add", parts, graph.add("Mul", states, chosen))
    return pooled, graph.add("Transpose", parts, perm=[1, 0, 2])


def add_ngrams(graph: GraphBuilder, weights: Weights) -> str:
    """What words and pairs give to the classes past the encoder (B, C); and, as an output, what each token gives."""
    levels: NDArray[np.int8] = weights[LEVELS]  # (S, C)
    rows, num_classes = levels.shape
    ids, keys = "ids", weights.get(KEYS)  # a compressed model numbers its words anew
    if keys is not None:
        ids = graph.add("Cast", graph.add("Gather", graph.constant("ngrams_keys", keys), "ids"), to=TensorProto.INT64)
    # behind the last word comes padding, so that there is a pair for every word
    longer = graph.add("Pad", ids, graph.integers(0, 0, 0, 1))
    behind = graph.add("Slice", longer, graph.integers(1), graph.integers(END), graph.integers(1))  # (B, T)

    def number(value: int) -> str:
        return graph.constant(f"whole_{value}", np.int64(value))

    def known(words: str) -> str:
        return graph.add("Cast", graph.add("GreaterOrEqual", words, number(FIRST_WORD)), to=TensorProto.FLOAT)

    def values(numbers: str) -> str:  # of rows of the table: (B, T) -> (B, T, C)
        places = graph.add("Mod", graph.add("Mod", numbers, number(PRIME)), number(rows))
        return graph.add("Cast", add_levels(graph, levels, places, weights.get(LEVEL_BITS, 8)), to=TensorProto.FLOAT)

    def total(there: str, given: str) -> str:  # of what is there: (B, T), (B, T, C) -> (B, 1, C)
        return graph.add("MatMul", graph.add("Unsqueeze", there, graph.integers(1)), given)

    first = graph.add("Mul", ids, number(FIRST))
    second = graph.add("Add", graph.add("Mul", behind, number(SECOND)), number(PAIR))
    words, pairs = values(graph.add("Add", first, number(WORD))), values(graph.add("Add", first, second))
    there = known(ids)
    both = graph.add("Mul", there, known(behind))
    count = graph.add("Add", graph.sum(there, 1, keep=True), graph.sum(both, 1, keep=True))  # (B, 1)
    root = graph.add("Unsqueeze", graph.add("Sqrt", graph.add("Max", count, graph.number(1))), graph.integers(2))
    scales = graph.constant("ngrams_scales", weights[SCALES].reshape(1, 1, num_classes))
    factors = graph.add("Div", scales, root)  # (B, 1, C)

    def counted(there: str, given: str) -> str:  # (B, T), (B, T, C) -> (B, T, C)
        return graph.add("Mul", given, graph.add("Unsqueeze", there, graph.integers(2)))

    halves = graph.add("Mul", counted(both, pairs), graph.number(0.5))
    later = graph.add("Pad", halves, graph.integers(0, 1, 0, 0, -1, 0))  # to the second word of each pair
    parts = graph.add("Add", counted(there, words), graph.add("Add", halves, later))
    graph.add("Mul", parts, factors, name="ngrams")
    given = graph.add("Mul", graph.add("Add", total(there, words), total(both, pairs)), factors)
    return graph.add("Squeeze", given, graph.integers(1))


def add_encoder_weights(graph: GraphBuilder, options: ModelOptions) -> dict[str, tuple[int, ...]]:
    """The encoder's weights as outputs, whatever they are stored as, for explanations: names and shapes."""
    hidden = options.hidden_size
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(options.num_layers):
        inputs = 2 * hidden if layer else options.embedding_size
        for kind, shape in (
            ("input", (2, 3 * hidden, inputs)),
            ("recurrent", (2, 3 * hidden, hidden)),
            ("bias", (2, 6 * hidden)),
        ):
            shapes[graph.add("Identity", f"gru{layer}_{kind}_weights", name=f"gru{layer}_{kind}")] = shape
    return shapes


def update_first(rows: Matrix) -> Matrix:
    """PyTorch's gates are reset, update, new; ONNX's are update, reset, new."""
    if isinstance(rows, Rounded):
        return Rounded(swapped(rows.levels), swapped(rows.scales), rows.bits)
    return swapped(rows)


def swapped(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows in three parts, the first two of them in the other order."""
    reset, update, new = np.split(rows, 3)
    return np.concatenate([update, reset, new])


def joined(parts: Sequence[Matrix]) -> Matrix:
    """The rows of all of them, one after the other."""
    packed = [part for part in parts if isinstance(part, Rounded)]
    if packed:
        levels, scales = np.concatenate([part.levels for part in packed]), [part.scales for part in packed]
        return Rounded(levels, np.concatenate(scales), packed[0].bits)
    return np.concatenate([part for part in parts if not isinstance(part, Rounded)])


def add_capsules(
    graph: GraphBuilder, weights: Weights, options: ModelOptions, pooled: str, parts: str, past: str | None
) -> tuple[int, int]:
    """Class capsules by routing; N comes before B inside. Answers with N and C."""
    transforms = weights["head.transforms"]  # (N, P, C, L); rounded: (N C, P L)
    primary_length, class_length = options.primary_length, options.class_length
    num_primary = options.hidden_size // primary_length
    if isinstance(transforms, Rounded):
        num_classes = len(transforms.levels) // num_primary
        stored = graph.matrix("votes", transforms, num_primary, num_classes, primary_length, class_length)
        stored = graph.add("Transpose", stored, perm=[0, 2, 1, 3])
        shape = graph.integers(num_primary, primary_length, num_classes * class_length)
        matrices = graph.add("Reshape", stored, shape)
    else:
        num_classes = transforms.shape[2]
        matrices = graph.constant("transforms", transforms.reshape(num_primary, primary_length, -1))
    primary = graph.add("Reshape", pooled, graph.integers(0, num_primary, primary_length))
    primary = graph.add("Transpose", primary, perm=[1, 0, 2])  # (N, B, P)
    votes = graph.add("MatMul", primary, matrices)  # (N, B, C * L)
    votes = graph.add("Reshape", votes, graph.integers(0, 0, num_classes, class_length))
    capsules, coupling = add_routing(graph, options, votes, num_classes)  # (B, C, L), (N, B, C)

    norm = graph.norm(capsules)  # (B, C, 1)
    whole = graph.add("Squeeze", norm, graph.integers(2), name="" if past else "norms")  # (B, C)
    if past:  # a capsule may be said to be shorter than nothing: then it is as short as it can be
        whole = graph.add("Relu", graph.add("Add", whole, past, name="norms"))
    square = graph.add("Mul", whole, whole)
    # |squash(v)| = |v|^2 / (1 + |v|^2)
    graph.add("Div", square, graph.add("Add", square, graph.number(1)), name="lengths")
    graph.add("Transpose", coupling, perm=[1, 0, 2], name="coupling")

    # A token's share of |v_j|: the sum over i of c_ij (W_ij part_i) · v_j / |v_j|, a product of its part with (B, H, C)
    directions = graph.add("Transpose", graph.add("Div", capsules, norm), perm=[1, 2, 0])  # (C, L, B)
    by_class = graph.add("Reshape", matrices, graph.integers(-1, num_classes, class_length))  # (H, C, L)
    by_class = graph.add("Transpose", by_class, perm=[1, 0, 2])  # (C, H, L)
    back = graph.add("MatMul", by_class, directions)  # (C, H, B)
    back = graph.add("Reshape", back, graph.integers(0, num_primary, primary_length, -1))  # (C, N, P, B)
    shares = graph.add("Unsqueeze", graph.add("Transpose", coupling, perm=[2, 0, 1]), graph.integers(2))  # (C, N, 1, B)
    back = graph.add("Transpose", graph.add("Mul", back, shares), perm=[3, 1, 2, 0])  # (B, N, P, C)
    back = graph.add("Reshape", back, graph.integers(0, -1, num_classes), name="directions")  # (B, H, C)
    add_contributions(graph, parts, back, past)
    # the same product, summed within each primary capsule instead of each token
    by_state = graph.add("Mul", graph.add("Unsqueeze", pooled, graph.integers(2)), back)  # (B, H, C)
    by_state = graph.add("Reshape", by_state, graph.integers(0, num_primary, primary_length, num_classes))
    graph.add("ReduceSum", by_state, graph.integers(2), name="shares", keepdims=0)
    return num_primary, num_classes


def add_contributions(graph: GraphBuilder, parts: str, back: str, past: str | None) -> None:
    """A token's share of `norms`: its part (B, T, H) of the pooled state, and what it gave past the encoder."""
    if past:
        graph.add("Add", graph.add("MatMul", parts, back), "ngrams", name="contributions")
    else:
        graph.add("MatMul", parts, back, name="contributions")


def add_routing(graph: GraphBuilder, options: ModelOptions, votes: str, num_classes: int) -> tuple[str, str]:
    """The loops of model/routing.py unrolled: votes (N, B, C, L) to unsquashed capsules (B, C, L) and coupling."""

    def couple(logits: str) -> str:
        shares = graph.add("Softmax", logits, axis=-1)
        return graph.add("Mul", shares, graph.number(num_classes)) if options.scale_coupling else shares

    def weighted(coupling: str) -> str:
        return graph.sum(graph.add("Mul", votes, graph.add("Unsqueeze", coupling, graph.integers(3))), 0)

    if options.routing == "kmeans":
        directions = graph.add("Div", votes, graph.norm(votes))
        capsules = graph.add("Div", graph.sum(votes, 0), graph.number(num_classes))
        coupling = ""
        for _ in range(options.iterations):
            unit = graph.add("Div", capsules, graph.norm(capsules))
            coupling = couple(graph.sum(graph.add("Mul", directions, unit), -1))
            capsules = weighted(coupling)
        return capsules, coupling

    logits = graph.add("Mul", graph.sum(votes, -1), graph.number(0))
    coupling = couple(logits)
    capsules = weighted(coupling)
    for _ in range(options.iterations - 1):
        norm = graph.norm(capsules)
        factor = graph.add("Div", norm, graph.add("Add", graph.add("Mul", norm, norm), graph.number(1)))
        squashed = graph.add("Mul", capsules, factor)
        logits = graph.add("Add", logits, graph.sum(graph.add("Mul", votes, squashed), -1))
        coupling = couple(logits)
        capsules = weighted(coupling)
    return capsules, coupling


def add_linear(
    graph: GraphBuilder, weights: Weights, options: ModelOptions, pooled: str, parts: str, past: str | None
) -> tuple[int, int]:
    """A linear layer; its one "primary capsule" is the pooled state. Answers with 1 and C."""
    weight = weights["head.weight"]  # (C, H)
    if isinstance(weight, Rounded):
        num_classes, hidden = weight.levels.shape
        projection = graph.add("Transpose", graph.matrix("classes", weight, num_classes, hidden), perm=[1, 0])
    else:
        num_classes = len(weight)
        projection = graph.constant("projection", weight.T)  # (H, C)
    logits = graph.add("MatMul", pooled, projection, name="" if past else "norms")
    if past:
        graph.add("Add", logits, past, name="norms")
    if options.multi_label:
        graph.add("Sigmoid", "norms", name="lengths")
    else:
        graph.add("Softmax", "norms", axis=-1, name="lengths")
    whole = graph.add("Add", graph.add("Mul", "norms", graph.number(0)), graph.number(1))
    graph.add("Unsqueeze", whole, graph.integers(1), name="coupling")
    add_contributions(graph, parts, projection, past)
    graph.add("Unsqueeze", logits, graph.integers(1), name="shares")
    graph.add("Unsqueeze", projection, graph.integers(0), name="directions")
    return 1, num_classes
