"""Model files with random weights, of every variant and with odd sizes. Standard library only.

`Random(...)` describes a model, `weights` draws its numbers, `model_file` writes the file (docs/reference/format.md).
"""

import json
import math
import random
import struct
import sys
import zlib
from array import array
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.core.ngram_oracle import features, place_all

CARD = "Fabulously a qualx é 7, FABULOUS quality".encode()  # the fuzz targets read it as a text
WIDTHS = {"F32": 4, "U32": 4, "F16": 2, "U16": 2, "U8": 1, "I8": 1}


class Tensor(NamedTuple):
    """Type, shape and bytes of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Random:
    """A random model. `bits` 2 to 8: a compressed file with weights of so many bits; 0: a whole model of floats."""

    embedding: str = "cwc"
    head: str = "capsule"
    routing: str = "kmeans"
    agreement: str = "cosine"
    pooling: str = "mean+max"
    multi_label: bool = False
    scale_coupling: bool = True
    similar: bool = True
    calibration: str = "platt"  # or temperature, isotonic, none
    scale: str = "norm"
    ngram_bits: int = 0  # 0: no n-gram features
    ngram_rows: int = 61
    ngram_counts: bool = False
    pieces: int = 3
    piece_rows: int = 0  # rows of the codes of pieces, by which unknown words are read; 0: none
    linear_only: bool = False  # n-gram features without a network
    tokens: str = "unicode"
    bits: int = 0
    num_words: int = 13
    embedding_size: int = 5
    hidden_size: int = 8
    num_layers: int = 1
    codebooks: int = 2
    codewords: int = 3
    classes: int = 3
    primary_length: int = 4
    class_length: int = 3
    iterations: int = 2
    max_tokens: int = 40
    strength: float = 1.0  # size of the weights
    texts: int = 60  # validation texts behind the calibration
    seed: int = 1

    @property
    def unknown(self) -> int:
        """Id of the unknown word: a compressed file has no padding."""
        return 0 if self.bits else 1

    @property
    def unknown_words(self) -> str:
        """How it reads unknown words."""
        return "pieces" if self.piece_rows else "similar" if self.similar else "apart"

    @property
    def vocabulary(self) -> int:
        """Entries of the vocabulary."""
        return self.num_words + self.unknown + 1

    def options(self) -> dict[str, Any]:
        """The options of the network."""
        return {
            "embedding": self.embedding, "head": self.head, "routing": self.routing, "iterations": self.iterations,
            **({} if self.agreement == "cosine" else {"agreement": self.agreement}),  # older files have no agreement
            "scale_coupling": self.scale_coupling, "num_codebooks": self.codebooks,
            "num_codewords": 16 if self.bits else self.codewords, "embedding_size": self.embedding_size,
            "hidden_size": self.hidden_size, "num_layers": self.num_layers, "pooling": self.pooling,
            "primary_length": self.primary_length, "class_length": self.class_length,
            "ngram_features": self.ngram_rows if self.ngram_bits else 0, "pieces": self.pieces,
            "multi_label": self.multi_label,
        }  # fmt: skip


def words_of(model: Random) -> list[str]:
    """Its words, sorted: letters and digits, some with a common beginning, and single characters."""
    dice = random.Random(model.seed)
    words = {"fabulous", "fabulousness", "quality", "a", "é", "中", "7", "̇"}
    while len(words) < model.num_words:
        start = dice.choice(("", "", "fabul", "qual", "play"))
        words.add(start + dice.choice("abcxyz") + "".join(dice.choices("abcdefgh0123", k=dice.randrange(8))))
    return sorted(sorted(words)[: model.num_words])


# ---- numbers ----


class Weights(NamedTuple):
    """Numbers of the network by name, each row after row, and as they are in the file."""

    values: dict[str, tuple[tuple[int, ...], list[float]]]
    tensors: dict[str, Tensor]


def matrices(model: Random) -> dict[str, tuple[tuple[int, ...], int]]:
    """Shape of each matrix, and its number of rows that have a scale of their own in a compressed file."""
    size, hidden, classes = model.embedding_size, model.hidden_size, model.classes
    shapes: dict[str, tuple[tuple[int, ...], int]] = {}
    if model.linear_only:
        return shapes
    if model.bits or model.embedding != "plain":
        codewords = 16 if model.bits else model.codewords
        shapes["embedding.codebooks"] = (model.codebooks, codewords, size), model.codebooks * codewords
    for layer in range(model.num_layers):
        for end in (f"l{layer}", f"l{layer}_reverse"):
            shapes[f"encoder.gru.weight_ih_{end}"] = (3 * hidden, 2 * hidden if layer else size), 3 * hidden
            shapes[f"encoder.gru.weight_hh_{end}"] = (3 * hidden, hidden), 3 * hidden
            shapes[f"encoder.gru.bias_ih_{end}"] = shapes[f"encoder.gru.bias_hh_{end}"] = (3 * hidden,), 3
    if model.head == "linear":
        shapes["head.weight"] = (classes, hidden), classes
    else:
        primary = hidden // model.primary_length
        shapes["head.transforms"] = (primary, model.primary_length, classes, model.class_length), primary * classes
    return shapes


def weights(model: Random) -> Weights:
    """Draw the numbers of a model."""
    dice = random.Random(model.seed)
    values: dict[str, tuple[tuple[int, ...], list[float]]] = {}
    tensors: dict[str, Tensor] = {}

    def draw_floats(name: str, shape: tuple[int, ...], deviation: float) -> None:
        numbers = array("f", (dice.gauss(0, deviation) for _ in range(math.prod(shape))))
        values[name] = shape, list(numbers)
        tensors[name] = Tensor("F32", shape, numbers.tobytes())

    for name, (shape, rows) in matrices(model).items():
        columns = math.prod(shape) // rows
        deviation = model.strength / (1 if name.startswith("embedding") else math.sqrt(shape[-1]))
        if not model.bits:
            draw_floats(name, shape, deviation)
            continue
        bits = min(8, max(2, model.bits + dice.choice((-1, 0, 0))))  # matrices of one file may differ
        levels = [dice.randrange(1 << bits) for _ in range(rows * columns)]
        scales = struct.pack(
            f"<{rows}e", *(deviation / (1 << (bits - 1)) * dice.uniform(0.5, 1.5) for _ in range(rows))
        )
        steps = struct.unpack(f"<{rows}e", scales)
        numbers = [(level - (1 << (bits - 1))) * steps[place // columns] for place, level in enumerate(levels)]
        if name == "head.transforms":  # rows (N, C) of (P, L)
            primary, inside, classes, length = shape
            order = [
                ((n * classes + c) * inside + p) * length + place
                for n in range(primary) for p in range(inside) for c in range(classes) for place in range(length)
            ]  # fmt: skip
            numbers = [numbers[place] for place in order]
        values[name] = shape, numbers
        packed = pack(levels + [0] * (-len(levels) % 8), bits)
        tensors[name] = Tensor("U8", (len(packed) // bits, bits), packed)
        tensors[f"{name}.scales"] = Tensor("F16", (rows,), scales)
    if model.linear_only:
        pass
    elif model.bits:
        row = (model.codebooks + 1) // 2
        choices = [[dice.randrange(16) for _ in range(model.codebooks)] for _ in range(model.vocabulary)]
        packed = b"".join(pack(own, 4) for own in choices)
        tensors["embedding.choices"] = Tensor("U8", (model.vocabulary, row), packed)
        hot = [float(own[place // 16] == place % 16) for own in choices for place in range(16 * model.codebooks)]
        values["embedding.codes"] = (model.vocabulary, 16 * model.codebooks), hot
    elif model.embedding == "plain":
        draw_floats("embedding.table", (model.vocabulary, model.embedding_size), 1.0)
    else:
        draw_floats("embedding.codes", (model.vocabulary, model.codebooks * model.codewords), 2.0)
    if model.piece_rows:
        width = model.embedding_size if model.embedding == "plain" else model.codebooks * model.codewords
        shape, count = (model.piece_rows, width), model.piece_rows * width
        halves = struct.pack(f"<{count}e", *(dice.gauss(0, 2.0) for _ in range(count)))
        values["embedding.pieces"] = shape, list(struct.unpack(f"<{count}e", halves))
        tensors["embedding.pieces"] = Tensor("F16", shape, halves)
    if bits := model.ngram_bits:
        half = 1 << (bits - 1)
        checks = ngram_checks(model, dice)
        rows = [[dice.randrange(-half, half) * (check > 0) for _ in range(model.classes)] for check in checks]
        shape = (model.ngram_rows, model.classes)
        values["ngrams.levels"] = shape, [float(level) for own in rows for level in own]
        if bits == 8:
            tensors["ngrams.levels"] = Tensor(
                "I8", shape, array("b", (level for own in rows for level in own)).tobytes()
            )
        else:
            packed = b"".join(pack([level + half for level in own], bits) for own in rows)
            tensors["ngrams.levels"] = Tensor("U8", (model.ngram_rows, len(packed) // model.ngram_rows), packed)
        draw_floats("ngrams.scales", (model.classes,), 0.3 / half)
        draw_floats("ngrams.bias", (model.classes,), 0.5)
        values["ngrams.checks"] = (model.ngram_rows,), [float(check) for check in checks]
        tensors["ngrams.checks"] = from_bytes(bytes(checks))
    return Weights(values, tensors)


def ngram_checks(model: Random, dice: random.Random) -> list[int]:
    """The checks of a table with features of its words, of their neighbours and pieces, and of some unknown words."""
    words = dice.choices([*words_of(model)[:40], "fabulously", "playing", "qualx", "of", "中", "文"], k=60)
    hashes = sorted({feature.hash for feature in features(words, model.pieces)})
    dice.shuffle(hashes)
    return place_all(hashes, model.ngram_rows)[1]


def pack(levels: list[int], bits: int) -> bytes:
    """Numbers of `bits` bits one after the other, lowest bits first."""
    total = sum(level << (bits * place) for place, level in enumerate(levels))
    return total.to_bytes((len(levels) * bits + 7) // 8, "little")


# ---- words ----


def fnv(word: bytes) -> int:
    """Hash of a word in the table of a file."""
    value = 2166136261
    for byte in word:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value ^ value >> 15


def dictionary(model: Random) -> dict[str, Tensor]:
    """The tensors of its words. A whole model has them in a random order of ids."""
    words = [word.encode() for word in file_words(model)]
    if model.bits:
        stream, before = bytearray(), b""
        for word in words:
            pairs = enumerate(zip(before, word, strict=False))
            shared = next((i for i, (left, right) in pairs if left != right), min(len(before), len(word)))
            stream += bytes((shared, len(word) - shared)) + word[shared:]  # no word of these has 128 letters
            before = word
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflater.compress(bytes(stream)) + deflater.flush()
        return {"words.packed": from_bytes(packed)}
    slots = [0] * max(2, 1 << (2 * len(words) - 1).bit_length())
    for number, word in enumerate(words, 1):
        place = fnv(word)
        while slots[place % len(slots)]:
            place += 1
        slots[place % len(slots)] = number
    ends = [sum(map(len, words[: place + 1])) for place in range(len(words))]
    tensors = {"words.letters": from_bytes(b"".join(words))}
    tensors["words.ends"] = integers(ends)
    tensors["words.slots"] = integers(slots)
    if model.unknown_words == "similar" and not model.linear_only:
        tensors["words.order"] = integers(sorted(range(len(words)), key=lambda place: words[place]))
    return tensors


def file_words(model: Random) -> list[str]:
    """Its words by id."""
    words = words_of(model)
    if not model.bits:
        random.Random(model.seed + 1).shuffle(words)
    return words


def from_bytes(data: bytes) -> Tensor:
    """A vector of bytes."""
    return Tensor("U8", (len(data),), data)


def integers(values: list[int]) -> Tensor:
    """A vector of 32-bit integers."""
    return Tensor("U32", (len(values),), array("I", values).tobytes())


# ---- the file ----


def ranking(dice: random.Random, texts: int) -> dict[str, list[float]]:
    """Values of validation texts, highest first."""
    wrong = [int(dice.random() < 0.1) for _ in range(texts)]
    return {
        "values": sorted((round(dice.uniform(-3, 3), 3) for _ in range(texts)), reverse=True),
        "reached": list(range(1, texts + 1)),
        "wrong": [sum(wrong[: place + 1]) for place in range(texts)],
    }


def configuration(model: Random) -> dict[str, Any]:
    """The configuration: what a program needs to run the model."""
    dice = random.Random(model.seed)
    text = {"tokens": model.tokens, "unknown_words": model.unknown_words, "max_tokens": model.max_tokens}
    config: dict[str, Any] = {
        "format_version": 5, "labels": [f"label {i} é" for i in range(model.classes)],
        "options": {"model": model.options(), "text": text}, "vocab_size": model.vocabulary,
    }  # fmt: skip
    if model.multi_label:
        config["thresholds"] = [round(dice.uniform(0.2, 0.8), 3) for _ in range(model.classes)]
    if model.calibration != "none":
        stored: dict[str, Any] = {"method": model.calibration, "scale": model.scale, "factor": 1.3}
        if model.calibration == "platt":
            stored |= {"slope": 0.7, "offset": 0.4}
        if model.calibration == "isotonic":
            stored["knots"] = [[0.2, 0.3], [0.5, 0.55], [0.9, 0.8]]
        if model.multi_label:
            stored["each"] = True
        else:
            stored |= {key: ranking(dice, model.texts) for key in ("confidence", "certainty", "set_score")}
        config["calibration"] = stored
    if model.bits:
        config |= {"dictionary_words": model.num_words, "compression": {"codebooks": model.codebooks}}
    if model.linear_only:
        config["linear_only"] = True
    if model.ngram_bits:
        config["ngrams"] = {"rows": model.ngram_rows, "strength": 1.0, "bits": model.ngram_bits}
        if model.ngram_counts:
            config["ngrams"]["counts"] = True
    return config


def pack_file(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """A file with these tensors and a right checksum."""
    ordered = sorted(tensors.items(), key=lambda item: -WIDTHS[item[1].dtype])
    metadata = {"format": "capsulet", "version": "5", "crc32": "00000000", **(metadata or {})}
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + len(tensor.data)
        assert len(tensor.data) == WIDTHS[tensor.dtype] * math.prod(tensor.shape), name
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    data = len(text).to_bytes(8, "little") + text + b"".join(tensor.data for _, tensor in ordered)
    return data.replace(b'"crc32":"00000000"', b'"crc32":"%08x"' % zlib.crc32(data), 1)


def all_tensors(model: Random) -> dict[str, Tensor]:
    """The tensors of its file."""
    config = json.dumps(configuration(model), ensure_ascii=False, separators=(",", ":")).encode()
    return {**weights(model).tensors, **dictionary(model), "config": from_bytes(config), "card": from_bytes(CARD)}


def model_file(model: Random) -> bytes:
    """The bytes of its file."""
    return pack_file(all_tensors(model))


VARIANTS = {
    "cwc": Random(),
    "cc": Random(embedding="cc", routing="dynamic", pooling="mean", calibration="isotonic", scale="logit", seed=2,
                 tokens="paper"),
    "plain": Random(embedding="plain", pooling="max", calibration="temperature", scale="log", similar=False, seed=3),
    "linear": Random(head="linear", ngram_bits=8, calibration="temperature", scale="length", seed=4),
    "linear-multi": Random(head="linear", multi_label=True, ngram_bits=8, seed=5),
    "multi": Random(embedding="plain", multi_label=True, ngram_bits=8, scale_coupling=False, seed=6, pieces=0),
    "dot": Random(agreement="dot", iterations=3, strength=2, ngram_bits=8, seed=9),
    "two-layers": Random(num_layers=2, hidden_size=6, primary_length=2, routing="dynamic", ngram_bits=8, seed=7,
                         tokens="paper", pieces=8),
    "pieces": Random(piece_rows=32, ngram_bits=8, seed=40),
    "pieces-cc": Random(embedding="cc", piece_rows=16, routing="dynamic", pieces=5, seed=41),
    "pieces-plain": Random(embedding="plain", head="linear", piece_rows=8, num_layers=2, pieces=8, seed=42),
    "linear-only": Random(linear_only=True, ngram_bits=8, calibration="temperature", scale="log", seed=43),
    "linear-only-multi": Random(linear_only=True, ngram_bits=8, multi_label=True, similar=False, seed=44, pieces=5,
                                tokens="paper"),
    "linear-only-bits": Random(linear_only=True, bits=4, ngram_bits=4, calibration="isotonic", seed=45, classes=5),
    "counts": Random(linear_only=True, ngram_bits=8, ngram_counts=True, seed=46),
    "counts-bits": Random(bits=4, ngram_bits=4, ngram_counts=True, seed=47),
    "uncalibrated": Random(calibration="none", iterations=1, classes=2, class_length=1, embedding_size=1, seed=8),
    **{
        f"bits-{bits}": Random(bits=bits, ngram_bits=(8, 4, 2)[bits % 3], codebooks=bits % 3 + 1, seed=10 + bits,
                               pieces=bits, multi_label=bits == 4, head="linear" if bits == 7 else "capsule")
        for bits in range(2, 9)
    },
}  # fmt: skip

ODD_SIZES = {
    "one-unit": Random(hidden_size=1, primary_length=1, embedding_size=1, class_length=1, classes=2, seed=30),
    "odd-two-layers": Random(hidden_size=17, primary_length=17, num_layers=2, embedding_size=33, strength=3, seed=31),
    "odd-bits": Random(bits=8, hidden_size=19, primary_length=1, num_layers=3, embedding_size=7, strength=4, seed=32),
    "wide": Random(
        hidden_size=80, primary_length=8, embedding_size=70, class_length=5, classes=7, ngram_bits=8, seed=33
    ),
    "long-rows": Random(embedding="plain", hidden_size=3, primary_length=3, embedding_size=300, classes=5, seed=34),
}


def main() -> None:
    """Write a small model of each variant to a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in VARIANTS.items():
        hidden = 4 if model.num_layers == 1 else 2
        rows = min(model.piece_rows, 5)
        small = replace(
            model, hidden_size=hidden, primary_length=2, num_words=9, texts=10, ngram_rows=19, piece_rows=rows
        )
        (folder / name).write_bytes(model_file(small))


if __name__ == "__main__":
    main()
