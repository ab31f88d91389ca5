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
