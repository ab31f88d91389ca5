"""The documentation describes the program: generated parts, commands, flags, links and names are current."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

import capsulet
from benchmarks import record
from benchmarks.peers import RIVALS
from capsulet.cli.parser import build_parser
from docs import (
    api,
    commands,
    curve,
    drift,
    frontier,
    hard_files,
    labels,
    migration,
    options,
    pages,
    paper,
    peers,
    results,
    serve,
    small,
    speed,
    trust,
)
from docs.__main__ import GENERATORS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "js" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
MARKED = [
    (results, results.PAGE, results.parts),
    (results, results.README, results.readme_parts),
    (speed, speed.PAGE, speed.parts),
    (speed, speed.SCALE, lambda: {"costs": speed.costs()}),
    *((migration, page, lambda page=page: migration.parts(page)) for page in migration.PAGES),
    *(
        (module, module.PAGE, module.parts)
        for module in (peers, labels, small, trust, drift, curve, hard_files, frontier, serve)
    ),
]
OTHER_PROGRAMS = {  # flags of git, npm, pip, python, torchrun, benchmarks and paper that pages mention
    "--data", "--sets", "--seeds", "--jobs", "--peers", "--options", "--models", "--files", "--work", "--scratch",
    "--write", "--only", "--show", "--budget", "--protocol", "--table", "--hub", "--allow-subset", "--sizes",
    "--repeats", "--power-draws", "--ours-only", "--rivals-only", "--rivals", "--name", "--rows", "--cut",
    "--valid-only", "--variant", "--directory", "--top", "--explain", "--train", "--before", "--rounds", "--draws",
    "--stages", "--plan", "--set", "--most-words",
    "--seconds", "--overload", "--attack", "--idle", "--reloads", "--ends", "--labelling-rounds", "--only-peers",
    "--cases", "--classifiers",
    "--nproc-per-node", "--nnodes", "--node-rank", "--rdzv-endpoint", "--rdzv-backend", "--help", "--ignore-scripts",
    "--version", "--build-arg", "--tag", "--rm", "--volume", "--net", "--dest", "--packages",
}  # fmt: skip
HISTORY = {"log.md", "CHANGELOG.md"}  # pages that mention options of the past


def ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_every_generator_is_run_by_the_one_command() -> None:
    modules = {path.stem for path in (ROOT / "docs").glob("*.py")} - {"__init__", "__main__", "pages"}
    modules -= {"paper_accuracy", "paper_figures", "paper_recipes"}  # parts of one page
    assert {module.__name__.removeprefix("docs.") for module in GENERATORS} == modules


@pytest.mark.parametrize("module", [options, commands, api], ids=lambda module: module.__name__)
def test_the_reference_is_the_program(module: ModuleType) -> None:
    assert module.PAGE.read_text(encoding="utf-8") == module.render(), f"run `python -m {module.__name__}`"


@pytest.mark.parametrize(("module", "page", "parts"), MARKED, ids=[ids(page) for _, page, _ in MARKED])
def test_the_figures_are_those_of_the_results_files(module: ModuleType, page: Path, parts: object) -> None:
    assert callable(parts)
    text = page.read_text(encoding="utf-8")
    assert pages.replace_marked(text, parts()) == text, f"run `python -m {module.__name__}`"


def test_the_paper_s_tables_are_those_of_their_files() -> None:
    assert paper.PAGE.read_text(encoding="utf-8") == paper.render_page(), "run `python -m docs.paper`"


def test_runs_that_are_missing_are_empty_cells_and_not_counted() -> None:
    def row(name: str, ours: list[float], *rivals: float) -> results.Row:
        runs = [{"accuracy": value / 100, "parameters": 1000, "model_bytes": 5e6} for value in ours]
        values = {rival: [value] for rival, value in zip(RIVALS, rivals, strict=False)}
        return results.Row(name, runs, {rival: values.get(rival, []) for rival in RIVALS})

    rows = [row("a", [90, 92], 89, 93, 80), row("b", [90], 89, 88, 87), row("c", [], 89, 88, 87), row("d", [90], 89)]
    table = results.accuracy_table(rows)
    assert "fastText, words" in table[0] and "fastText, characters" not in table[0], "which has no run"
    assert table[2] == "| a | 91.00 ± 1.41 | 89.00 | 93.00 | 80.00 | 2 | 1,000 | 5.0 MB |"
    assert table[4:] == [
        "| c |  | 89.00 | 88.00 | 87.00 |  |  |  |",
        "| d | 90.00 | 89.00 |  |  | 1 | 1,000 | 5.0 MB |",
    ]
    assert results.count_ahead(rows) == (
        "capsulet is at least as accurate as the best of three baselines on 1 of 2 data sets; mean difference "
        "-0.50 points. Not counted, because runs are missing: 2."
    )
    assert results.count_ahead(rows[2:3]) == "No data set has runs of capsulet and of all rivals yet."


def test_recorded_folders_become_placeholders() -> None:
    command = "python -m benchmarks.browser /x/ag.onnx --texts ../shared/data/ag/test.csv --data /x/y --model ../m/one"
    expected = "python -m benchmarks.browser ag.onnx --texts DATA/ag/test.csv --data DATA --model one"
    assert record.neutral(command) == expected


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_parse(page: Path) -> None:
    """Every `capsulet VERB …` in a shell block or after a prompt is a command that the program accepts."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```(?:sh|bash)\n(.*?)```", text, flags=re.S))
    lines = blocks.replace("\\\n", " ").splitlines()
    lines += re.findall(r"^\$ (.*)", text, flags=re.M)
    for line in lines:
        for part in re.split(r"[|>]", line.split(" #")[0])[:2]:
            words = shlex.split(part)
            if words[:1] == ["capsulet"]:
                build_parser().parse_args(words[1:])


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in HISTORY], ids=ids)
def test_flags_exist(page: Path) -> None:
    """Every flag that a page mentions is one of some verb, or of a program listed above."""
    verbs = next(action for action in build_parser()._actions if action.dest == "verb").choices
    assert verbs
    known = {flag for verb in verbs.values() for flag in verb._option_string_actions} | OTHER_PROGRAMS
    mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page.read_text(encoding="utf-8")))
    assert mentioned <= known, mentioned - known


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link has a target, and every anchor a heading."""
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", text):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)", path.read_text(encoding="utf-8"), flags=re.M)
            assert anchor in {slug(heading) for heading in headings}, f"{target}#{anchor}"


def slug(heading: str) -> str:
    """The anchor of a heading on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_no_page_names_a_folder_of_one_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"(?<![\w.])/(?:work|tmp|home|root|shared)\b|\.\./shared", text)


@pytest.mark.parametrize("folder", ["benchmarks", "paper", "docs", "tests"])
def test_sources_name_pages_that_exist(folder: str) -> None:
    for path in (ROOT / folder).rglob("*.py"):
        for name in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{path.name}: {name}"


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\(([^)#:]+)\)", index))
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    assert listed - {"images/overview.svg"} == {str(page.relative_to(ROOT / "docs")) for page in pages} - {"README.md"}


def test_the_python_page_has_every_public_name_and_argument() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    for name in set(capsulet.__all__) - {"__version__"}:
        assert re.search(rf"\b{name}\b", text), name
        value = getattr(capsulet, name)
        if inspect.isfunction(value):
            (row,) = re.findall(rf"^\| `{name}\((.*?)\) ->", text, flags=re.M)
            arguments = [re.sub(r"[=*].*", "", word.strip("* ")) for word in row.split(",")]
            assert [word for word in arguments if word] == list(inspect.signature(value).parameters), name


def test_the_tree_for_contributors_is_the_tree() -> None:
    tree = re.search(r"```text\n(src/capsulet/.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.S)
    assert tree
    named = set(re.findall(r"[\w.]+\.py|\w+/", tree.group(1)))
    for path in (ROOT / "src" / "capsulet").iterdir():
        if path.name in ("__pycache__", "py.typed"):
            continue
        assert path.name + ("/" if path.is_dir() else "") in named, path.name
