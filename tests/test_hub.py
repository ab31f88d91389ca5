"""Models and data sets of the Hugging Face Hub: the real client against a stand-in of the Hub."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import CapsuletError, InputError
from capsulet.storage import hub as storage_hub
from capsulet.storage.folder import FILES
from capsulet.storage.model_file import MODEL, read_model
from capsulet.text.hub import chosen, local_files
from capsulet.text.reading import read_rows
from tests.conftest import TEXTS
from tests.hub_server import Hub, running

huggingface_hub = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")
utils = pytest.importorskip("huggingface_hub.utils")
ROOT = Path(__file__).parent.parent
# of the client itself, where it uploads a file by LFS
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in of the Hub that the client talks to, with an empty cache and no token."""
    with running() as server:
        for name, value in {
            "ENDPOINT": server.address, "HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": True,
            "HF_TOKEN_PATH": str(tmp_path / "token"), "HF_STORED_TOKENS_PATH": str(tmp_path / "tokens"),
            "HF_HUB_DISABLE_TELEMETRY": True,
            "HUGGINGFACE_CO_URL_TEMPLATE": server.address + "/{repo_id}/resolve/{revision}/{filename}",
        }.items():  # fmt: skip
            monkeypatch.setattr(constants, name, value)
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        utils.disable_progress_bars()
        yield server
        utils.close_session()


def test_a_round_trip_has_equal_bytes(hub: Hub, model: Path) -> None:
    classifier = capsulet.load(model, threads=1)
    url = classifier.push_to_hub("me/topics", token="stand-in")
    assert url.startswith(hub.address) and "/me/topics/commit/" in url
    assert hub.repositories["models/me/topics@main"] == {name: (model / name).read_bytes() for name in FILES}
    assert any(request.startswith("PUT /lfs/") for request in hub.requests)  # the model file went by LFS
    again = capsulet.Classifier.from_pretrained("me/topics", threads=1)
    for name in FILES:
        assert (Path(again.path) / name).read_bytes() == (model / name).read_bytes()
    texts = [text for _, text in TEXTS]
    assert again.predict(texts) == classifier.predict(texts)


def test_a_folder_is_loaded_without_the_hub(hub: Hub, model: Path, tmp_path: Path) -> None:
    capsulet.Classifier.from_pretrained(model).save_pretrained(tmp_path / "copy")
    assert {path.name for path in (tmp_path / "copy").iterdir()} == set(FILES)
    for name in FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (model / name).read_bytes()
    assert not hub.requests
    with pytest.raises(InputError, match="current folder"):
        capsulet.load(model).save_pretrained(".")


def test_only_the_files_of_a_model_are_downloaded(hub: Hub, model: Path) -> None:
    files = {name: (model / name).read_bytes() for name in FILES}
    hub.repositories["models/me/topics@main"] = {**files, "setup.py": b"raise SystemExit", "weights.pkl": b"\x80"}
    again = capsulet.Classifier.from_pretrained("me/topics")
    assert {path.name for path in Path(again.path).iterdir()} == set(FILES)


def test_bad_downloads(hub: Hub, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (model / MODEL).read_bytes()
    hub.repositories["models/me/damaged@main"] = {MODEL: data[:-1] + bytes([data[-1] ^ 1])}
    with pytest.raises(CapsuletError, match="damaged"):
        capsulet.Classifier.from_pretrained("me/damaged")
    hub.repositories["models/me/foreign@main"] = {"pytorch_model.bin": b"\x80"}
    with pytest.raises(InputError, match="not a capsulet model"):
        capsulet.Classifier.from_pretrained("me/foreign")
    for name in ("me/missing", "no such folder"):
        with pytest.raises(InputError, match="expected a model folder, or OWNER/NAME"):
            capsulet.Classifier.from_pretrained(name)
    monkeypatch.setattr(storage_hub, "MOST_BYTES", 1000)
    hub.repositories["models/me/large@main"] = {MODEL: data}
    with pytest.raises(InputError, match="expected at most 1,000"):
        capsulet.Classifier.from_pretrained("me/large")
    with pytest.raises(CapsuletError, match="others/topics cannot be uploaded"):
        capsulet.load(model).push_to_hub("others/topics", token="stand-in")


@pytest.mark.parametrize("name", ["model", "sets_model"])
def test_the_hub_reads_the_card(name: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(name)
    config = read_model(path).config
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = huggingface_hub.ModelCard((path / "README.md").read_text()).data
    assert (data.library_name, data.pipeline_tag) == ("capsulet", "text-classification")
    found = {result.metric_name: result.metric_value for result in data.eval_results}
    expected = {"Accuracy": config.metrics.valid_accuracy, "Macro-F1": config.metrics.valid_macro_f1}
    if config.multi_label:
        expected = {
            "Subset accuracy": config.metrics.valid_accuracy,
            "Micro-F1": config.metrics.valid_micro_f1,
            "Macro-F1": config.metrics.valid_macro_f1,
        }
        assert "multi-label" in data.tags
    assert found == {metric: round(value, 4) for metric, value in expected.items() if value is not None}
    assert {result.task_type for result in data.eval_results} == {"text-classification"}


def rows(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in pairs).encode()


def test_training_on_a_data_set(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.repositories["datasets/me/texts@main"] = {
        "README.md": b"", "texts.py": b"raise SystemExit", "data/train-00000-of-00002.jsonl": rows(TEXTS[::2]),
        "data/train-00001-of-00002.jsonl": rows(TEXTS[1::2]), "data/test.jsonl": rows(TEXTS[:3]),
    }  # fmt: skip
    model = tmp_path / "model"
    words = ["train", "hf://datasets/me/texts", "--out", str(model), "--linear-only", "--threads", "1", "--no-report"]
    assert main(words) == 0
    config = read_model(model).config
    assert config.data.train_rows == 12 and config.command.startswith("capsulet train hf://datasets/me/texts --out")
    assert capsulet.evaluate(model, "hf://datasets/me/texts/test").count == 3
    assert capsulet.evaluate(model, "hf://datasets/me/texts@main/data/*.jsonl").count == 15
    capsys.readouterr()
    assert main(["evaluate", str(model), "hf://datasets/me/nothing"]) == 2
    assert "hf://datasets/me/nothing cannot be downloaded" in capsys.readouterr().err
    assert not [request for request in hub.requests if "texts.py" in request]  # scripts of data sets are not fetched


def test_a_data_set_in_another_format(hub: Hub) -> None:
    hub.repositories["datasets/me/texts@main"] = {"texts.zip": b"PK"}
    hub.repositories["datasets/me/texts@refs/convert/parquet"] = {"default/train/0000.parquet": b"PAR1"}
    (path,) = local_files(["hf://datasets/me/texts"])
    assert Path(path).read_bytes() == b"PAR1"


def parquet(features: object, labels: list[Any]) -> bytes:
    """A Parquet file as the library `datasets` writes it."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"text": ["a text"] * len(labels), "label": labels})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())


CLASSES = {"names": ["bad", "good"], "_type": "ClassLabel"}


@pytest.mark.parametrize(
    ("feature", "labels", "expected"),
    [
        (CLASSES, [1, 0, 1], ["good", "bad", "good"]),
        (CLASSES, [1, -1, 7], ["good", "7"]),  # a number below 0 is no label
        ({"names": [1, 2], "_type": "ClassLabel"}, [1, 0], ["1", "0"]),
        ("nonsense", [1, 0], ["1", "0"]),
        ({"feature": CLASSES, "_type": "List"}, [[0, 1], []], [("bad", "good"), ()]),
    ],
)
def test_names_of_classes(hub: Hub, feature: object, labels: list[Any], expected: list[Any]) -> None:
    hub.repositories["datasets/me/texts@main"] = {"train.parquet": parquet({"label": feature}, labels)}
    options = capsulet.ReadOptions(on_bad_row="skip", multi_label=isinstance(labels[0], list))
    found = read_rows(["hf://datasets/me/texts"], labelled=True, options=options)
    assert [row.label if row.label is not None else row.labels for row in found] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("train", ["a/train-0.parquet", "a/train-1.parquet"]),
        ("test", ["b/test/0.csv.gz"]),
        ("a/*.parquet", ["a/train-0.parquet", "a/train-1.parquet"]),
        ("a/train", ["a/train-0.parquet", "a/train-1.parquet"]),
        ("a/train.csv", ["a/train.csv"]),
        ("other", []),
    ],
)
def test_files_of_a_split(path: str, expected: list[str]) -> None:
    names = ["a/train-1.parquet", "a/train-0.parquet", "a/train.csv", "b/test/0.csv.gz", "training.txt", "x/train.py"]
    assert chosen(names, path) == expected


def test_addresses_that_mean_nothing(hub: Hub) -> None:
    hub.repositories["datasets/me/subsets@main"] = {f"{name}/train.csv": b"" for name in ("de", "en")}
    hub.repositories["datasets/me/empty@main"] = hub.repositories["datasets/me/empty@refs/convert/parquet"] = {}
    for address, problem in (
        ("hf://datasets/me", "expected hf://datasets/OWNER/NAME"),
        ("hf://me/model", "expected hf://datasets/OWNER/NAME"),
        ("hf://datasets/me/subsets", "several subsets \\(de, en\\)"),
        ("hf://datasets/me/empty/validation", "no file of this split"),
    ):
        with pytest.raises(InputError, match=problem):
            local_files([address])


def test_the_page_runs(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "hub.md").read_text(encoding="utf-8")
    hub.repositories["datasets/me/texts@main"] = {"train.jsonl": rows(TEXTS)}
    (tmp_path / "token").write_text("stand-in")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(block, names)
    assert names["classifier"].labels == ("food", "money", "sport")
