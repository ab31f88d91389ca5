"""Evaluation, reports and drift need no package but capsulet."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import capsulet
from tests import plain_model

SOURCE, HERE = Path(capsulet.__file__).parent.parent, Path(plain_model.__file__)
# what the verbs predict, evaluate, explain, info and drift import, besides the modules of the runtime
MODULES = (
    "cli.main", "cli.info_page", "cli.texts", "drifting.drift", "evaluation.abstention", "evaluation.evaluate",
    "model.shapes", "report.explanations", "report.reliability_diagram", "runtime.matrix", "storage.folder",
    "text.reading", "text.strings", "text.vocabulary",
)  # fmt: skip


def run(code: str, *arguments: str | Path) -> str:
    environment = {"PYTHONPATH": f"{SOURCE}:{HERE.parent}"}
    call = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(call, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_nothing_else_is_loaded(module: str) -> None:
    code = "import plain_model, sys; plain_model.take_the_place_of_the_runtime()\n"
    code += f"import capsulet.{module}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    loaded = set(run(code).split())
    assert "capsulet" in loaded and not loaded & plain_model.FORBIDDEN


def test_evaluation_reports_and_drift(tmp_path: Path) -> None:
    code = "import plain_model, pathlib, sys; plain_model.main(pathlib.Path(sys.argv[1]))"
    found = json.loads(run(code, tmp_path))
    assert found["accuracy"] == 0.8 and found["confusions"] == [["sport", "money"]] and found["bins"] == 100
    assert 0.5 < found["micro_f1"] < 1
    assert found["drifted"] == [False, True]
    assert found["parts"] == ["unknown", "length", "codes", "classes", "probability"]
    assert found["unknown"] == [["qzx", 8]] and found["loaded"] == []
    for name, section in (("single.html", "Confusions"), ("several.html", "Labels per text")):
        page = (tmp_path / name).read_text()
        assert f"<h2>{section}</h2>" in page and page.endswith("</html>\n")


@pytest.mark.parametrize("verb", ["check", "train"])
def test_verbs_that_need_numpy_say_so(verb: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\na b,x\nc d,y\n")
    words = [verb, str(rows), *(["--out", str(tmp_path / "model")] if verb == "train" else [])]
    code = "import sys; sys.modules['numpy'] = None\nfrom capsulet.cli.main import main; sys.exit(main(sys.argv[1:]))"
    call = [sys.executable, "-c", code, *words]
    done = subprocess.run(call, capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "capsulet: numpy is not installed: pip install 'capsulet[train]'\n"
