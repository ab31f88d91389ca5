"""Write a folder with models, texts and Python's answers, with which the tests in js/test compare theirs."""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capsulet
from capsulet.native import _core
from capsulet.storage.model_file import MODEL
from tests.conftest import SETS
from tests.core.random_models import ODD_SIZES, VARIANTS, model_file
from tests.text.nasty_strings import nasty

PRECISIONS = {"float32": 1, "int8": 2}
NAN = float("nan")
REASONS = ["", "low confidence", "unknown words"]
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
# options of `predict`, as Python and JavaScript write them
REQUESTS = [
    {"abstain": True},
    {"coverage": 0.9},
    {"coverage": 0.5, "abstain": True},
    {"maxError": 0.4},
    {"maxError": 0.001},
    {"maxError": 1},
    {"sets": 0.8},
    {"sets": 0.9, "abstain": True},
]


def nasty_texts(dice: random.Random) -> Iterator[str]:
    """Thousands of unusual strings."""
    yield from ("", " ", *ODD, *BLANK, *PLAIN, "".join(ODD), "".join(BLANK))
    yield from (nasty(dice) for _ in range(10_000))
    yield from ("x" * 100_000, "É" * 6000, "a " * 6000, "İ" * 3000)
    for piece in (*ODD, *BLANK):
        yield f"a{piece}B1{piece}{piece}2{piece}c"
    pieces = [*ODD, *BLANK, *" " * 20, *PLAIN]
    for _ in range(1500):
        yield "".join(dice.choices(pieces, k=dice.randint(1, 40)))
    for _ in range(1500):
        highest = dice.choice([0x7F, 0xFF, 0x24F, 0x5FF, 0x2FFF, 0xFFFF, sys.maxunicode])
        codes = (dice.randint(0, highest) for _ in range(dice.randint(1, 60)))
        yield "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)


def tokens(model: _core.Model, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Places of the tokens of each text in UTF-16 units, and the known words as which unknown ones are read."""
    vocabulary, found = model.facts()["vocabulary"], []
    for text in texts:
        units = np.cumsum([0, *(1 + (ord(character) > 0xFFFF) for character in text)]).tolist()
        read = model.tokens(text, False)
        found.append(
            {
                "text": text,
                "starts": [units[start] for _, start, _ in read],
                "ends": [units[end] for _, _, end in read],
                "readAs": [None if id < vocabulary else model.word(id - vocabulary) for id, _, _ in read],
            }
        )
    return found


def floats(data: bytes, *shape: int) -> np.ndarray:
    """Numbers of 32 bits."""
    return np.frombuffer(data, np.float32).reshape(shape)


def answers(path: Path, precision: str, more: Sequence[str] = ()) -> dict[str, Any]:
    """Answers for many texts, alone and in batches, abstentions, label sets, and explanations of some texts."""
    model, dice = _core.Model(str(path), PRECISIONS[precision]), random.Random(1)
    facts, config = model.facts(), json.loads(model.config())
    labels, classes = config["labels"], facts["classes"]
    words = [model.word(id) for id in range(facts["unknown"] + 1, facts["vocabulary"])]
    words = dice.sample(words, min(len(words), 400))
    forms = [form for word in words for form in (word + "ish", word[:-1])]  # most of them unknown, but like known ones
    words += [*dice.sample(forms, len(words) // 4), "unknown", "ß", "👍"]
    texts = [*more, *PLAIN, "", " ", "👍🏽 match", "İstanbul soup", "the " * 5100, "\0", "中文 bread"]
    texts += [" ".join(dice.choices(words, k=dice.randint(1, 80))) for _ in range(80)]
    data, shares = model.classify(texts, False)
    lengths = floats(data, -1, classes)
    multi_label = config["options"]["model"]["multi_label"]
    given = [
        [label for label, reached in zip(labels, row >= np.array(config["thresholds"]), strict=True) if reached]
        if multi_label else None for row in lengths
    ]  # fmt: skip
    explanations = []
    for row, text in enumerate(texts[:40]):
        pair = (int(lengths[row].argmax()), len(text) % classes)
        pair = (pair[0], (pair[1] + 1) % classes) if pair[0] == pair[1] else pair
        parts = model.explain(text, np.array(pair, np.int32).tobytes(), False)
        norms = floats(parts["norms"], classes)
        explanations.append(
            {
                "text": text, "label": labels[pair[0]], "contrast": labels[pair[1]],
                "norms": [float(norms[place]) for place in pair],
                "contributions": floats(parts["contributions"], -1, 2).astype(float).tolist(),
                "ngrams": sum(floats(parts["ngrams"], -1, 2)[:, 0].astype(float).tolist()),
            }
        )  # fmt: skip
    probabilities = np.frombuffer(model.probabilities(data)).reshape(-1, classes).tolist()
    rows = range(len(texts))
    return {
        "labels": labels,
        "texts": texts,
        "lengths": lengths.astype(float).tolist(),
        "probabilities": probabilities,
        "given": given,
        "batches": [*([row] for row in rows), *(dice.choices(rows, k=size) for size in (2, 3, 63, 64, 65, 130))],
        "requests": [{"options": options, **request(model, options, data, shares, labels)} for options in REQUESTS],
        "explanations": explanations,
    }


def request(
    model: _core.Model, options: dict[str, Any], lengths: bytes, shares: bytes, labels: Sequence[str]
) -> dict[str, Any]:
    """Reasons for abstention and label sets of texts for options of `predict`, or the error."""
    wanted = [float(options.get(name, NAN)) for name in ("coverage", "maxError", "sets")]
    try:
        confidence, certainty, set_score, _ = model.rules(options.get("abstain", False), *wanted)
    except ValueError as error:
        return {"error": str(error)}
    reasons = [REASONS[reason] for reason in model.reasons(lengths, shares, confidence, certainty)]
    sets = [[labels[place] for place in row] for row in model.label_sets(lengths, set_score)]
    return {
        "reasons": reasons if options.keys() & {"abstain", "coverage", "maxError"} else None,
        "sets": sets if "sets" in options else None,
    }


def workbook() -> bytes:
    """An XLSX file with what spreadsheets write: shared, rich and inline strings, empty rows, styles, two sheets."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    strings = (
        '<si><t>id</t></si><si><t>text</t></si><si><t>The home team &lt;won&gt; &amp; "rose"</t></si>'
        '<si><r><rPr><b/></rPr><t xml:space="preserve">rich </t></r><r><t>text</t></r></si>'
        "<si><t>two&#10;lines</t></si><si><t>東京 soup</t><rPh sb='0' eb='2'><t>とうきょう</t></rPh></si><si><t/></si>"
    )
    rows = (
        '<row r="1" spans="1:4"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
        '<c r="D1" t="inlineStr"><is><t>done</t></is></c></row>'
        '<row r="2" spans="1:4" ht="15"><c r="A2"><v>1</v></c><c r="B2" s="0" t="s"><v>2</v></c>'
        '<c r="D2" t="b"><v>1</v></c><c r="E2" s="0"/></row>'
        '<row r="3"><c r="A3"><v>2.5</v></c><c r="B3" t="s"><v>3</v></c><c r="D3" t="b"><v>0</v></c></row>'
        '<row r="5"><c r="A5" s="0"/><c r="B5" t="s"><v>4</v></c>'
        '<c r="C5" t="inlineStr"><is><t xml:space="preserve"> inline </t></is></c></row>'
        '<row r="6"/><row r="7"><c r="A7"><f>2+2</f><v>4</v></c><c r="B7" t="s"><v>5</v></c></row>'
    )
    sheet = f'{head}<worksheet {main}><dimension ref="A1:D7"/><!-- > --><sheetData>{rows}</sheetData></worksheet>'
    parts = {
        "[Content_Types].xml": f'{head}<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/first.xml" ContentType="{kind}.worksheet+xml"/><Override PartName='
        f'"/xl/worksheets/second.xml" ContentType="{kind}.worksheet+xml"/><Override PartName="/xl/sharedStrings.xml" '
        f'ContentType="{kind}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'{head}<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{head}<workbook {main} xmlns:r="{office}"><sheets><sheet name="Data &amp; more" '
        'sheetId="4" r:id="rId7"/><sheet name="Notes" sheetId="2" r:id="rId2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="rId2" Type="{office}/worksheet" Target="worksheets/second.xml"/>'
        f"<Relationship Target='/xl/worksheets/first.xml' Id='rId7' Type='{office}/worksheet'/>"
        f'<Relationship Id="rId9" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f"{head}<sst {main}>{strings}</sst>",
        "xl/worksheets/first.xml": sheet,
        "xl/worksheets/second.xml": f"{head}<worksheet {main}><sheetData/></worksheet>",
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


@pytest.fixture(scope="session")
def model_files(
    model: Path, sets_model: Path, rows_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Model files by name: trained ones (`model`, `sets`, `compressed`), and random ones of every variant."""
    folder = tmp_path_factory.mktemp("files")
    compressed = folder / "compressed.safetensors"
    capsulet.compress(model, rows_file, compressed, valid=rows_file, threads=1)
    files = {"model": model / MODEL, "sets": sets_model / MODEL, "compressed": compressed}
    for name, described in {**VARIANTS, **ODD_SIZES}.items():
        files[name] = folder / f"{name}.safetensors"
        files[name].write_bytes(model_file(described))
    return files


@pytest.fixture(scope="session")
def expected(model_files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder; tests only add files."""
    folder = tmp_path_factory.mktemp("expected")
    for name, path in model_files.items():
        shutil.copyfile(path, folder / f"{name}.safetensors")
        more = [text for _, text in SETS] if name == "sets" else ()
        for precision in PRECISIONS:
            (folder / f"{name}-{precision}.json").write_text(json.dumps(answers(path, precision, more)))
    cases = tokens(_core.Model(str(model_files["model"]), 2), list(nasty_texts(random.Random(0))))
    (folder / "tokens.json").write_text(json.dumps({"cases": cases, "refused": HALVES}))
    (folder / "names.json").write_text(json.dumps([*model_files]))
    (folder / "book.xlsx").write_bytes(workbook())
    return folder
