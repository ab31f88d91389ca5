"""Which module may import which, and what stays unloaded until it is needed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import capsulet
from tests.conftest import TINY

ROOT = Path(capsulet.__file__).parent
# a folder, or one module of it that sits higher than the rest: the verbs, which put the other parts together
LAYERS = (
    {"option_names"},
    {"choices", "cores", "errors", "palette", "prediction", "text.visible"},
    {"presentation"},
    {"config", "results", "native"},
    {"checking.findings", "automatic"},
    {"text.vocabulary"},
    {"text"},
    {"model"},
    {"evaluation", "storage"},
    {"runtime"},
    {"training", "drifting", "report"},
    {"evaluation.evaluate", "evaluation.calibrate", "storage.export"},
    {"training.model_writer", "training.growth", "training.messages", "training.progress"},
    {"training.report", "training.resuming", "training.context", "training.forgetting"},
    {"training.setup"},
    {"training.network_plan"},
    {"training.network_stage"},
    {"training.run"},
    {"compression", "checking", "runtime.ray", "labelling", "diagnosis"},
    {"training.ray", "tuning", "sklearn"},
    {"serve"},
    {"cli"},
    {"__init__", "__main__"},
)
HEAVY = {"torch", "onnxruntime", "onnx", "safetensors", "tokenizers", "pyarrow", "ray", "httptools", "uvloop"}
AT_MODULE_LEVEL = {
    "model": {"torch", "onnx"},  # onnx: graph.py and graph_builder.py
    "training": {"torch"},
    "storage": {"onnxruntime"},  # onnx_runtime.py, which export.py imports late
    "compression": {"torch"},  # in modules that compress.py imports late
    "serve": {"httptools"},  # connection.py, which run.py imports late
}
MODULES = sorted(ROOT.rglob("*.py"))


KNOWN = set().union(*LAYERS)


def unit(path: Path) -> str:
    """The part of LAYERS that a module belongs to."""
    return part_of(path.relative_to(ROOT).with_suffix("").parts)


def part_of(words: Sequence[str]) -> str:
    """The longest name in LAYERS that these words begin with."""
    return ".".join(words[:2]) if ".".join(words[:2]) in KNOWN else words[0]


def layer(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of what the import statements of a tree ask for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_unit(name: str) -> str | None:
    """The part of capsulet that a full name belongs to."""
    words = name.split(".")
    if words[0] != "capsulet" or name == "capsulet.__version__":
        return None
    return part_of(words[1:]) if len(words) > 1 and words[1] in KNOWN else "__init__"


def module_level(tree: ast.Module) -> ast.Module:
    """The tree without what runs later (functions) or never (blocks for type checkers)."""

    class Prune(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None: ...
        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None: ...
        def visit_If(self, node: ast.If) -> ast.If | None:
            return None if ast.unparse(node.test) == "TYPE_CHECKING" else node

    return Prune().visit(tree)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    here = unit(path)
    for name in imported(ast.parse(path.read_text())):
        there = own_unit(name)
        if there is not None and there != here:
            assert layer(there) < layer(here), f"{here} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_are_imported_late(path: Path) -> None:
    here, tree = unit(path), ast.parse(path.read_text())
    everywhere = {name.split(".")[0] for name in imported(tree)}
    if here in {"text", "runtime", "cli", "storage", "evaluation", "drifting", "report"}:
        assert "torch" not in everywhere
    at_import = {name.split(".")[0] for name in imported(module_level(tree))}
    assert at_import & HEAVY <= AT_MODULE_LEVEL.get(here.split(".")[0], set())


def loaded_by(code: str, *words: object) -> set[str]:
    """The top-level modules that are loaded after these statements in a new process; `-S`: without the site module."""
    code = f"import sys\n{code}\nprint('', *{{name.split('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-S", "-c", code, *map(str, words)]
    path = os.pathsep.join([str(ROOT.parent), *(folder for folder in sys.path if folder)])
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": path})
    return set(done.stdout.splitlines()[-1].split())


SLOW = {"numpy", "tokenizers", "rich", "difflib", "asyncio"}
SLOW_IN_PYTHON = {
    "argparse", "typing", "re", "json", "dataclasses", "inspect", "pathlib", "contextlib", "collections", "functools",
    "enum", "csv", "traceback", "logging", "tempfile", "shutil",
}  # fmt: skip
GOLDEN = Path(__file__).parent / "golden" / "small.safetensors"
PREDICT = f"from capsulet.cli.main import main; assert main(['predict', {str(GOLDEN)!r}, '--text', 'the match']) == 0"


@pytest.mark.parametrize(
    ("code", "slow"),
    [
        ("import capsulet", SLOW_IN_PYTHON),
        ("import capsulet.cli.main", SLOW_IN_PYTHON),
        (PREDICT, SLOW_IN_PYTHON | {"array", "importlib"}),
        ("from capsulet.cli.parser import build_parser; build_parser().format_help()", set()),
        ("from capsulet.cli.parser import build_parser; build_parser(summaries=True)", {"dataclasses", "inspect"}),
    ],
    ids=["import", "main", "predict", "parser", "help"],
)
def test_nothing_heavy_is_loaded(code: str, slow: set[str]) -> None:
    loaded = loaded_by(code)
    assert "capsulet" in loaded
    assert not loaded & (HEAVY | SLOW | slow)


@pytest.mark.parametrize(("words", "needed"), [(["info", "--json"], set()), (["predict", "--text", "a"], set())])
def test_verbs_load_what_they_need(model: Path, words: list[str], needed: set[str]) -> None:
    code = "from capsulet.cli.main import main; assert main(sys.argv[1:]) == 0"
    loaded = loaded_by(code, words[0], model, *words[1:])
    assert "capsulet" in loaded
    assert not loaded & ((HEAVY | SLOW) - needed) and not loaded & {"rich", "difflib", "asyncio", "torch"}


def test_a_training_does_not_load_the_compiler_of_torch(rows_file: Path, tmp_path: Path) -> None:
    """The compiler imports sympy; both take as long as a short training."""
    options = {**TINY, "epochs": 1, "adversarial": 0.6}
    code = f"import capsulet; capsulet.train(sys.argv[1], sys.argv[2], cache=None, **{options})"
    loaded = loaded_by(code, rows_file, tmp_path / "model")
    assert "torch" in loaded and "sympy" not in loaded


def test_predict_never_loads_torch(model: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch was loaded')")
    folders = os.pathsep.join([str(tmp_path), str(ROOT.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "capsulet", "predict", model, "--text", "The home team won the match after extra time"],
        capture_output=True, text=True, env={"PYTHONPATH": folders},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert '"label": "sport"' in done.stdout


CORE_ONLY = """
import sys
for name in ("torch", "onnx", "onnxruntime", "safetensors", "tokenizers", "pyarrow", "rich"):
    sys.modules[name] = None  # importing it raises ModuleNotFoundError, and it cannot be found
from capsulet.cli.main import main
model, rows, out = sys.argv[1:]
text = ["--text", "the match"]
for call in (["predict", model, *text], ["explain", model, *text], ["evaluate", model, rows], ["info", model],
             ["check", rows]):
    assert main(call) == 0, call
    assert sys.stdout.flush() is None
for call in (
    ["train", rows, "--out", out], ["export", model, out + ".onnx"],
    ["compress", model, "--out", out + ".safetensors"],
):
    assert main(call) == 2, call
"""


def test_core_install_does_everything_but_train(model: Path, rows_file: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CORE_ONLY, model, rows_file, tmp_path / "new"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    training, exporting, compressing = done.stderr.splitlines()
    assert training == 'capsulet: Training needs torch, which is not installed: pip install "capsulet[train]"'
    assert exporting == 'capsulet: Exporting needs onnx, which is not installed: pip install "capsulet[onnx]"'
    assert compressing == training.replace("Training", "Compressing")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", capsulet.__all__)
def test_public_names(name: str) -> None:
    assert getattr(capsulet, name) is not None
    assert name in dir(capsulet)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tarin'"):
        _ = capsulet.tarin


def test_a_function_stays_a_function_after_its_modules_are_loaded(rows_file: Path, tmp_path: Path) -> None:
    tiny = {"network": "always", "epochs": 1, "min_count": 1, "hidden_size": 8, "threads": 1}
    for name in ("one", "two"):
        assert capsulet.train(rows_file, tmp_path / name, **tiny).path == str(tmp_path / name)
    assert callable(capsulet.evaluate)
    assert callable(capsulet.export)
    assert callable(capsulet.compress)
