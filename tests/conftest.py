"""Twelve hand-written texts, and models trained on them once a session."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

# the suite runs its own small models on one thread each: more would only wait for each other
THREADS = 1
# the same for torch, also in processes that tests start: `make test` runs several workers
os.environ.setdefault("OMP_NUM_THREADS", str(THREADS))

TEXTS = [
    ("sport", "The home team won the match after extra time"),
    ("sport", "She ran the marathon in just over two hours"),
    ("sport", "A late goal decided the final of the cup"),
    ("sport", "The coach praised the players after the match"),
    ("money", "Shares fell as the bank raised interest rates"),
    ("money", "The company reported a profit for the third quarter"),
    ("money", "Oil prices rose and markets in Asia fell"),
    ("money", "The bank will cut jobs after a loss of 3 billion"),
    ("food", "Stir the soup and add a pinch of salt"),
    ("food", "Bake the bread until the crust is golden"),
    ("food", "Chop the onions and fry them in butter"),
    ("food", "Serve the cake with cream and fresh berries"),
]


def stored_config(model: Path) -> dict[str, Any]:
    """The configuration of a model folder or file as JSON values."""
    from capsulet.storage.folder import read_config

    config: dict[str, Any] = json.loads(json.dumps(read_config(model).as_json()))
    return config


def store_config(model: Path, config: dict[str, Any]) -> None:
    """Give a model folder another configuration, which need not be valid."""
    from capsulet.storage.model_config import FORMAT_VERSION
    from capsulet.storage.model_file import CONFIG, MODEL, read_model
    from capsulet.storage.tensors import from_bytes, pack

    tensors = {**read_model(model).tensors, CONFIG: from_bytes(json.dumps(config).encode())}
    data = pack(tensors, {"format": "capsulet", "version": str(FORMAT_VERSION)})
    (model / MODEL).unlink()  # its bytes are mapped
    (model / MODEL).write_bytes(data)


TINY = {
    "network": "always", "num_layers": 2, "epochs": 30, "batch_size": 4, "min_count": 1, "valid_fraction": 0.25,
    "patience": 0, "threads": THREADS,
    "embedding_size": 12, "hidden_size": 16, "num_codebooks": 3, "class_length": 6, "warmup": 0.0,
    "learning_rate": 0.01, "dropout": 0.0, "embedding_dropout": 0.0, "head_dropout": 0.0, "adversarial": 0.0,
}  # fmt: skip


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """`once("name", make)`: a path that `make(path)` writes, by one worker of the run; the others wait for it."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "once"
    shared.mkdir(exist_ok=True)

    def call(name: str, make: Callable[[Path], object]) -> Path:
        path, made = shared / name, shared / f"{name}.made"
        with FileLock(shared / f"{name}.lock"):
            if not made.exists():
                assert not path.exists(), f"{name} could not be made before"
                make(path)
                made.touch()
        return path

    return call


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tokenised texts of the tests go to a folder of theirs, here and in every process that is started."""
    path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPSULET_CACHE", str(path))
        yield path


@pytest.fixture(scope="session")
def rows_file(once: Once) -> Path:
    """The twelve texts as JSONL."""
    lines = [json.dumps({"label": label, "text": text}) + "\n" for label, text in TEXTS]
    return once("rows.jsonl", lambda path: path.write_text("".join(lines)))


@pytest.fixture(scope="session")
def model(rows_file: Path, once: Once) -> Path:
    """A model folder of the default variant in tiny; read it, do not change it."""
    import capsulet

    # twelve rows are too few to part with any
    return once("model", lambda path: capsulet.train(rows_file, path, valid=rows_file, **TINY))


SETS = [  # texts with several labels, one or none
    (["sport", "money"], "The home team won the match and its shares rose"),
    (["sport"], "She ran the marathon in just over two hours"),
    (["food", "sport"], "The players eat soup after the match"),
    (["sport"], "The coach praised the players after the match"),
    (["money"], "Shares fell as the bank raised interest rates"),
    (["money"], "The company reported a profit for the third quarter"),
    (["food", "money"], "Bread prices rose and the bank fell"),
    (["food"], "Stir the soup and add a pinch of salt"),
    (["food"], "Bake the bread until the crust is golden"),
    (["food", "money", "sport"], "The team sold soup and made a profit for the bank"),
    ([], "It rained all day long"),
    ([], "Nobody was there to see it"),
]


@pytest.fixture(scope="session")
def sets_file(once: Once) -> Path:
    """Twelve multi-label texts as JSONL."""
    lines = [json.dumps({"labels": labels, "text": text}) + "\n" for labels, text in SETS]
    return once("sets.jsonl", lambda path: path.write_text("".join(lines)))


@pytest.fixture(scope="session")
def sets_model(sets_file: Path, once: Once) -> Path:
    """A multi-label model folder in tiny, its states pooled by the mean; read it, do not change it."""
    import capsulet

    options = {**TINY, "multi_label": True, "pooling": "mean"}
    return once("sets", lambda path: capsulet.train(sets_file, path, valid=sets_file, **options))


def generated_rows(count: int) -> Iterator[tuple[str, str]]:
    """Made-up texts of three classes whose words are as uneven as real ones: some occur once only."""
    dice = random.Random(5)
    for number in range(count):
        place = dice.randrange(3)
        words = [f"w{min(int(dice.expovariate(1 / 300)), 3999)}x" for _ in range(6)]
        words.append(f"topic{'abc'[place]}{'defghij'[dice.randrange(7)]}")
        yield ("food", "money", "sport")[place], " ".join([*words, *([f"once{number}"] if number % 7 == 0 else [])])


MANY_ROWS = 21_500  # from 20,000 training texts on, automatic options are others


@pytest.fixture(scope="session")
def many_rows_file(once: Once) -> Path:
    """More than 20,000 generated texts as JSONL."""
    lines = (json.dumps({"label": label, "text": text}) + "\n" for label, text in generated_rows(MANY_ROWS))
    return once("many-rows.jsonl", lambda path: path.write_text("".join(lines)))


@pytest.fixture(scope="session")
def large_model(many_rows_file: Path, once: Once) -> Path:
    """A model of more than 20,000 rows, with the automatic options of such files; read it, do not change it."""
    import capsulet

    def train(path: Path) -> None:
        sizes = {"embedding_size": 12, "hidden_size": 16, "num_codebooks": 3, "class_length": 6}
        training = capsulet.train(many_rows_file, path, network="always", epochs=1, threads=THREADS, **sizes)
        assert not training.linear_only and training.linear is not None  # a mixture

    return once("large", train)
