"""The command capsulet-run: the answers of the extension, in order, with clear errors."""

import json
import math
import os
import random
import subprocess
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capsulet.native import _core
from tests.core.conftest import CORE, TEXTS
from tests.core.random_models import VARIANTS, Random, configuration, file_words, model_file

INT8 = 2


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    done = subprocess.run(["make", "-C", CORE, "capsulet-run", f"BUILD={folder}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return folder / "capsulet-run"


def run(program: Path, *arguments: object, texts: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program, *map(str, arguments)], input=texts, capture_output=True)


def expected(model: Random, texts: list[str], top: int, abstain: bool, explain: bool) -> list[dict[str, Any]]:
    """The rows that `capsulet predict` would print."""
    core, config = _core.Model(model_file(model), INT8), configuration(model)
    labels, rows = config["labels"], []
    least = core.rules(abstain, math.nan, math.nan, math.nan) if abstain else None
    for text in texts:
        lengths, unknown = core.classify([text], False)
        own = array("f", lengths).tolist()
        probabilities = array("d", core.probabilities(lengths)).tolist()
        order = sorted(range(len(own)), key=own.__getitem__, reverse=True)
        pairs = [{"label": labels[place], "probability": round(probabilities[place], 6)} for place in order]
        row: dict[str, Any] = pairs[0]
        if least and (reason := core.reasons(lengths, unknown, *least[:2])[0]):
            row = {
                "label": None,
                "probability": row["probability"],
                "reason": ("", "low confidence", "unknown words")[reason],
                "guess": row["label"],
            }
        if model.multi_label:
            row = {
                "labels": [
                    pair for pair, place in zip(pairs, order, strict=True) if own[place] >= config["thresholds"][place]
                ]
            }
        if top > 1:
            row = {**row, "top": pairs[:top]}
        if explain:
            tokens = core.tokens(text, False)
            parts = array("f", core.explain(text, array("i", order[:1]).tobytes(), False)["contributions"])
            row = {
                **row,
                "tokens": [
                    {"text": text[start:end], "contribution": round(part, 6)}
                    for (_, start, end), part in zip(tokens, parts, strict=True)
                ],
            }
        rows.append(row)
    return rows


def many_texts(model: Random, count: int) -> list[str]:
    dice = random.Random(1)
    words = [*file_words(model), "unknownword", "fabulously", '"', "\\", "\t", "\x01", "İ"]
    return [*TEXTS, *(" ".join(dice.choices(words, k=dice.randrange(30))) for _ in range(count))]


@pytest.mark.parametrize("name", VARIANTS)
def test_answers(name: str, program: Path, tmp_path: Path) -> None:
    model = VARIANTS[name]
    (tmp_path / "model.safetensors").write_bytes(model_file(model))
    texts = many_texts(model, 300)
    ranked = not model.multi_label and model.calibration != "none"
    for top, abstain, explain, threads in ((1, False, False, 1), (2, ranked, False, 4), (50, False, True, 3)):
        options = ["--top", top, "--threads", threads, *["--abstain"] * abstain, *["--explain"] * explain]
        done = run(program, tmp_path, *options, texts="\n".join(texts).encode())
        assert done.returncode == 0, done.stderr
        lines = [json.dumps(row, ensure_ascii=False) for row in expected(model, texts, top, abstain, explain)]
        assert done.stdout.decode().split("\n") == [*lines, ""]


def test_many_lines_stay_in_order(program: Path, tmp_path: Path) -> None:
    model = VARIANTS["cwc"]
    (tmp_path / "model").write_bytes(model_file(model))
    once = many_texts(model, 500)
    texts = once * 40
    texts[7000] = "fabulous " * 300_000  # longer than a batch
    done = run(program, tmp_path / "model", "--threads", 5, texts="\r\n".join(texts).encode() + b"\r\n")
    rows = {
        text: json.dumps(row, ensure_ascii=False)
        for text, row in zip(once, expected(model, once, 1, False, False), strict=True)
    }
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(texts)
    assert [line for place, line in enumerate(lines) if place != 7000] == [
        rows[text] for place, text in enumerate(texts) if place != 7000
    ]


@pytest.mark.parametrize(("rule", "zero"), [("unicode", ""), ("paper", "\x00")])
def test_nothing_and_bytes_that_are_not_utf8(rule: str, zero: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(replace(VARIANTS["cwc"], tokens=rule)))
    assert run(program, tmp_path / "model").stdout == b""
    done = run(program, tmp_path / "model", "--explain", texts=b"\xff a\xc3\n\n\x00")
    tokens = [[token["text"] for token in json.loads(line)["tokens"]] for line in done.stdout.splitlines()]
    assert tokens == [["�", "a", "�"], [""], [zero]]


def test_errors(program: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    (tmp_path / "multi").write_bytes(model_file(VARIANTS["multi"]))
    (tmp_path / "cut").write_bytes(model_file(VARIANTS["cwc"])[:-1])
    damaged = bytearray(model_file(VARIANTS["cwc"]))
    damaged[-3] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    os.mkfifo(tmp_path / "pipe")
    for arguments, message in (
        ([], "expected a model"),
        ([tmp_path / "missing"], "cannot be opened"),
        ([tmp_path / "cut"], "place of a tensor"),
        ([tmp_path / "damaged"], "checksum"),
        ([tmp_path / "pipe"], "regular file"),
        ([tmp_path], "cannot be opened"),
        ([tmp_path / "model", tmp_path / "model"], "one model"),
        ([tmp_path / "model", "--top"], "--top: expected a number"),
        ([tmp_path / "model", "--top", "0"], "expected a number"),
        ([tmp_path / "model", "--threads", "1x"], "expected a number"),
        ([tmp_path / "model", "--fast"], "unknown option"),
        ([tmp_path / "multi", "--abstain"], "does not abstain"),
    ):
        done = run(program, *arguments)
        assert done.returncode == 2 and done.stdout == b""
        assert message in done.stderr.decode() and done.stderr.count(b"\n") == 1, done.stderr
    assert run(program, "--help").stdout.startswith(b"usage: capsulet-run MODEL")


@pytest.mark.slow
def test_long_lines(program: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(replace(VARIANTS["cwc"], max_tokens=1000)))
    fine = run(program, tmp_path / "model", texts=b"a " * (32 << 20) + b"\nb\n")
    assert fine.returncode == 0 and fine.stdout.count(b"\n") == 2
    done = run(program, tmp_path / "model", texts=b"a\n" + b"a" * (65 << 20))
    assert done.returncode == 2 and b"more than 64 MB" in done.stderr and done.stdout.count(b"\n") == 1


def test_output_that_cannot_be_written(program: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    (tmp_path / "texts").write_bytes(b"fabulous quality\n" * 50_000)
    command = f"{program} {tmp_path}/model < {tmp_path}/texts"
    closed = subprocess.run(["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"], capture_output=True)
    assert closed.returncode == 0 and closed.stderr == b"" and closed.stdout.count(b"\n") == 1
    full = subprocess.run(["bash", "-c", f"{command} > /dev/full"], capture_output=True)
    assert full.returncode == 2 and full.stderr.startswith(b"capsulet-run: standard output: ")


def test_answers_do_not_wait_for_the_end(program: Path, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(model_file(VARIANTS["cwc"]))
    with subprocess.Popen([program, tmp_path / "model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for text in (b"fabulous\n", b"quality\n"):
            process.stdin.write(text)
            process.stdin.flush()
            assert b"label" in process.stdout.readline()
        process.stdin.close()
        assert process.wait(10) == 0
