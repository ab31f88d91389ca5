"""Write a folder with models, texts and Python's answers, with which the tests in js/test compare theirs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import capsulet
from capsulet.text.tokens import build_tokenizer, encodings
from tests.conftest import SETS

DIGEST_KEY = "capsulet.digest"

LIMIT = 5000  # tokens of a text that are read
# what goes wrong elsewhere: cases that grow or shrink, marks that combine, joiners, characters of two UTF-16 units
PIECES = (
    "a Z 0 9 ' - _ [ ] İ ı I i̇ ß ẞ ς Σ σ ΌΣΟΣ ǅ ﬁ ŉ \u212a \u212b \u2126 é e\u0301 ñ n\u0303 o\u0308\u0304 ạ\u0323 "
    "ก็ ि ்\u200c ａ Ａ １ ⅷ Ⅷ Ⓐ ⓐ 𝐀 𝟘 𐐀 𐐨 𞤀 Ა ა Ꭰ ꭰ 中 文 𠮷 한 국 ㅎ\u1161 か が カﾞ 👍 👍🏽 👩\u200d👩\u200d👧\u200d👦 "
    "🏳\ufe0f\u200d🌈 🇩🇪 1\ufe0f\u20e3 \u200d \u200b \ufeff \u2060 \u00ad \u061c א ا ﷽ Ꟊ Ꟑ 𖺠 \uffff \ufffd \ue000 "
    "\U0010ffff \U000e0041"
)
ODD = PIECES.split(" ")
BLANK = [
    *"\0\x01\x08\t\n\v\f\r\x1b\x1c\x1d\x1e\x1f \x7f\x80\x85\xa0\xad",
    *"\u1680\u180e\u2000\u200a\u2028\u2029\u202f\u205f\u3000",
]
HALVES = ["\ud800", "a\udc00", "\ud83d b", "👍\udfff", "\udc00\ud800"]
PLAIN = [
    "The home team won the match",
    "shares fell",
    "Stir the soup",
    "3 billion",
    "onions, butter & salt",
    "mp3 4x4 a1b2",
]


def utf16(text: str, place: int) -> int:
    """Offset in UTF-16 units, where characters above 0xFFFF count as two."""
    return len(text[:place].encode("utf-16-le")) // 2


def nasty_texts(dice: random.Random) -> Iterator[str]:
    """Thousands of unusual strings."""
    yield from (
        "",
        " ",
        *ODD,
        *BLANK,
        *PLAIN,
        "".join(ODD),
        "".join(BLANK),
        "x" * 100_000,
        "É" * 6000,
        "a " * 6000,
        "İ" * 3000,
    )
    for piece in (*ODD, *BLANK):
        yield f"a{piece}B1{piece}{piece}2{piece}c"
    pieces = [*ODD, *BLANK, *" " * 20, *PLAIN]
    for _ in range(1500):
        yield "".join(dice.choices(pieces, k=dice.randint(1, 40)))
    for _ in range(1500):
        highest = dice.choice([0x7F, 0xFF, 0x24F, 0x5FF, 0x2FFF, 0xFFFF, sys.maxunicode])
        codes = (dice.randint(0, highest) for _ in range(dice.randint(1, 60)))
        yield "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def read_tokens(texts: list[str]) -> list[dict[str, Any]]:
    """Words and places of each text, as the library reads them."""
    library = build_tokenizer([], LIMIT)
    found = []
    for text, encoding in zip(texts, encodings(library, texts), strict=True):
        spelled = library.pre_tokenizer.pre_tokenize_str(library.normalizer.normalize_str(text))
        units = np.cumsum([0, *(1 + (ord(character) > 0xFFFF) for character in text)]).tolist()
        starts, ends = ([units[place[side]] for place in encoding.offsets] for side in (0, 1))
        found.append({"text": text, "words": [word for word, _ in spelled[:LIMIT]], "starts": starts, "ends": ends})
    return found


def every_character() -> list[dict[str, Any]]:
    """All characters once, in slices that fit into a text; of what is read a digest, for it is much."""
    library, slices, size = build_tokenizer([], LIMIT), [], 2048
    codes = np.arange(sys.maxunicode + 1, dtype="<u4").reshape(-1, size)
    texts = [
        "" if 0xD800 <= row[0] < 0xE000 else row.tobytes().decode("utf-32-le") for row in codes
    ]  # no half characters
    for number, (text, encoding) in enumerate(zip(texts, encodings(library, texts), strict=True)):
        places, lower = encoding.offsets, library.normalizer.normalize_str(text)
        if len(lower) == len(text):
            words = [lower[start:end] for start, end in places]
        else:  # the one character that becomes two tokens
            words = [library.normalizer.normalize_str(text[start:end]) for start, end in places]
            place = words.index("i\u0307")
            words[place : place + 2] = "i", "\u0307"
        units = np.array(places, dtype="<i4").reshape(-1, 2) * (1 + (number * size > 0xFFFF))
        read = "\n".join(words).encode() + units[:, 0].tobytes() + units[:, 1].tobytes()
        slices.append({"first": number * size, "count": size, "digest": hashlib.sha256(read).hexdigest()})
    return slices


def answers(model: Path, more: Sequence[str] = ()) -> dict[str, Any]:
    """Scores of many texts, alone and in batches, and explanations of some."""
    classifier, dice = capsulet.load(model), random.Random(1)
    words = [word for word in classifier.session.tokenizer.get_vocab() if word[0] != "["]
    texts = [*more, *PLAIN, "", " ", "👍🏽 match", "İstanbul soup", "the " * 5100, "\0", "中文 bread"]
    forms = [form for word in words for form in (word + "ish", word[:-1])]  # most of them unknown, but like known ones
    words += [*dice.sample(forms, len(words) // 4), "unknown", "ß", "👍"]
    texts += [" ".join(dice.choices(words, k=dice.randint(1, 80))) for _ in range(80)]
    asked = [(text, label) for text in texts[:40] for label in (None, classifier.labels[len(text) % 3])]
    explanations = []
    for text, label in asked:
        explanation = classifier.explain(text, label)
        units = [utf16(text, place) for place in range(len(text) + 1)] if len(text) < 1000 else range(len(text) + 1)
        tokens = [
            {
                "text": token.text,
                "start": units[token.start],
                "end": units[token.end],
                "contribution": token.contribution,
            }
            for token in explanation.tokens
        ]
        explanations.append(
            {
                "text": text, "asked": label, "label": explanation.label, "score": explanation.score,
                "length_before_squash": explanation.length_before_squash, "tokens": tokens,
            }
        )  # fmt: skip
    rows = range(len(texts))
    predictions = classifier.predict(texts, top_k=len(classifier.labels))
    scores = [dict(prediction.top) for prediction in predictions]
    return {
        "labels": classifier.labels,
        "texts": texts,
        "lengths": classifier.lengths(texts).tolist(),
        "scores": [[found[label] for label in classifier.labels] for found in scores],
        "given": [
            None if one.labels is None else [{"label": label, "score": score} for label, score in one.labels]
            for one in predictions
        ],
        "batches": [*([row] for row in rows), *(dice.choices(rows, k=size) for size in (2, 3, 63, 64, 65, 130))],
        "explanations": explanations,
    }


def calibrations() -> dict[str, Any]:
    """Probabilities by calibrations of every kind, where this version has them."""
    dice = np.random.default_rng(0)
    lengths = [*dice.random((60, 4)).tolist(), [0.0, 1.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    more = {"temperature": {}, "platt": {"slope": 0.7, "offset": -0.4}, "isotonic": {"knots": [(0.3, 0.2), (0.6, 0.9)]}}
    stored = [
        {"method": method, "scale": scale, "factor": factor, **rest}
        for method, rest in more.items() for scale in ("length", "log", "logit", "norm") for factor in (0.5, 8.0)
    ]  # fmt: skip
    if importlib.util.find_spec("capsulet.evaluation.calibration") is None:
        return {"stored": [], "lengths": lengths, "probabilities": []}
    calibration = importlib.import_module("capsulet.evaluation.calibration")
    found = [calibration.from_json(each, "model").probabilities(np.array(lengths)).tolist() for each in stored]
    return {"stored": stored, "lengths": lengths, "probabilities": found}


def metadata(graph: onnx.ModelProto) -> dict[str, str]:
    """The metadata of a file without its digest, so that changed files can be read."""
    return {entry.key: entry.value for entry in graph.metadata_props if entry.key != DIGEST_KEY}


def front_coded(words: list[bytes]) -> bytes:
    """Sorted words, each without the beginning that it shares with the one before."""
    coded, before = bytearray(), b""
    for word in words:
        shared = next(
            (at for at, (one, other) in enumerate(zip(before, word, strict=False)) if one != other), len(before)
        )
        coded += varint(shared) + varint(len(word) - shared) + word[shared:]
        before = word
    return bytes(coded)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number % 128 + 128]) + varint(number // 128)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def with_dictionary(path: Path) -> onnx.ModelProto:
    """A file whose words are in its graph: rows in the order of the words, after the unknown one; no padding row."""
    graph = onnx.load(path)
    inside = metadata(graph)
    tokenizer, config = json.loads(inside["capsulet.tokenizer"]), json.loads(inside["capsulet.config"])
    vocabulary = tokenizer["model"]["vocab"]
    words = sorted((word for word in vocabulary if word[0] != "["), key=str.encode)
    tokenizer["model"]["vocab"] = {"[UNK]": 0}
    config.update(vocab_size=len(words) + 1, dictionary_words=len(words))
    (codes,) = (tensor for tensor in graph.graph.initializer if tensor.name == "code_weights")
    keys = np.array([vocabulary["[UNK]"], *(vocabulary[word] for word in words)])
    codes.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(codes)[keys], codes.name))
    for node in graph.graph.node:  # everything else, such as the n-gram features, uses the old ids
        if codes.name not in node.input:
            node.input[:] = ["old_ids" if name == "ids" else name for name in node.input]
    graph.graph.initializer.append(numpy_helper.from_array(keys, "keys"))
    graph.graph.node.insert(0, helper.make_node("Gather", ["keys", "ids"], ["old_ids"]))
    packed = np.frombuffer(raw_deflate(front_coded([word.encode() for word in words])), np.uint8)
    graph.graph.initializer.append(numpy_helper.from_array(packed, "dictionary"))
    graph.graph.output.append(helper.make_tensor_value_info("dictionary", TensorProto.UINT8, [len(packed)]))
    inside |= {"capsulet.tokenizer": json.dumps(tokenizer), "capsulet.config": json.dumps(config)}
    onnx.helper.set_model_props(graph, inside)
    return graph


def damaged(
    graph: onnx.ModelProto, compressed: onnx.ModelProto, sets: onnx.ModelProto
) -> Iterator[tuple[str, bytes, str]]:
    """Files that must be refused, with a part of the message for each."""

    def changed(source: onnx.ModelProto, **values: str | None) -> bytes:
        copy = onnx.ModelProto()
        copy.CopyFrom(source)
        inside = metadata(source) | {f"capsulet.{key}": value for key, value in values.items()}
        onnx.helper.set_model_props(copy, {key: value for key, value in inside.items() if value is not None})
        return copy.SerializeToString()

    config = json.loads(metadata(graph)["capsulet.config"])
    other = changed(compressed, config=json.dumps({**config, "dictionary_words": 3}))
    lost = changed(graph, config=json.dumps({**config, "dictionary_words": 3}))
    yield "empty.onnx", b"", "it is empty"
    yield "zip.onnx", b"PK\x03\x04" + bytes(99), "is not a model, or is damaged"
    yield "text.onnx", b"text,label\nnice,good\n" * 9, "is not a model, or is damaged"
    yield "foreign.onnx", foreign(), "is an ONNX model, but not a capsulet one (inputs pixels; outputs cat)"
    yield "bare.onnx", changed(graph, config=None, tokenizer=None), "has no tokenizer and labels in its metadata"
    yield "json.onnx", changed(graph, config="{"), "its configuration is not JSON"
    yield "list.onnx", changed(graph, config="[]"), "has no format_version"
    yield "null.onnx", changed(graph, config="null"), "has no format_version"
    yield "future.onnx", changed(graph, config='{"format_version": 99}'), "has format 99"
    yield "labels.onnx", changed(graph, config=json.dumps({**config, "labels": ["a", "a"]})), "two or more different"
    yield "classes.onnx", changed(graph, config=json.dumps({**config, "labels": ["a", "b"]})), "from different models"
    yield "words.onnx", changed(graph, config=json.dumps({**config, "vocab_size": 5})), "from different models"
    yield "calibration.onnx", changed(graph, config=json.dumps({**config, "calibration": {}})), "its calibration cannot"
    pooled = {**config, "options": {**config["options"], "model": {**config["options"]["model"], "pooling": "min"}}}
    yield (
        "pooling.onnx",
        changed(graph, config=json.dumps(pooled)),
        'pooling is "min", expected one of mean, mean+max, max',
    )
    yield "tokenizer.onnx", changed(graph, tokenizer="{}"), "has an unsupported tokenizer"
    yield "dictionary.onnx", other, "its word list cannot be read"
    thresholds = {**json.loads(metadata(sets)["capsulet.config"]), "thresholds": [0.5, 2, 0.5]}
    yield (
        "thresholds.onnx",
        changed(sets, config=json.dumps(thresholds)),
        "thresholds is [0.5,2,0.5], expected a number",
    )
    yield "lost.onnx", lost, "its word list is missing"


def foreign() -> bytes:
    """A valid ONNX model that is not a capsulet model."""
    pixels, cat = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("pixels", "cat"))
    graph = helper.make_graph([helper.make_node("Identity", ["pixels"], ["cat"])], "foreign", [pixels], [cat])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture(scope="session")
def expected(model: Path, sets_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder; read it, do not change it."""
    folder = tmp_path_factory.mktemp("expected")
    file = capsulet.export(model, folder / "model.onnx")
    sets = capsulet.export(sets_model, folder / "sets.onnx")
    compressed = with_dictionary(file)
    onnx.save(compressed, folder / "compressed.onnx")
    refused = []
    for name, data, words in damaged(onnx.load(file), compressed, onnx.load(sets)):
        (folder / name).write_bytes(data)
        refused.append({"name": name, "words": words})
    whole = file.read_bytes()
    middle = len(whole) // 2  # among the weights
    (folder / "bit.onnx").write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    refused.append({"name": "bit.onnx", "words": "does not match the stored one"})
    contents = {
        "answers": answers(model),
        "sets": answers(sets_model, [text for _, text in SETS]),
        "tokens": {"limit": LIMIT, "refused": HALVES, "cases": read_tokens(list(nasty_texts(random.Random(0))))},
        "characters": every_character(),
        "damaged": refused,
        "calibration": calibrations(),
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder
