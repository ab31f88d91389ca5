"""The flags of `python -m paper`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from paper import plan, stability
from paper.datasets import DATA_SETS
from paper.rows import RECIPES, TABLES
from paper.runs import PROTOCOLS

RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent.parent / "runs" / "paper"
ALL = "all"
FIGURES = ("stability", "codes", "curves", "confusion")


def build_parser(description: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name in ("parameters", *TABLES, *FIGURES, ALL):
        verb = names.add_parser(name)
        verb.add_argument("--json", action="store_true", help="print the results as JSON")
        verb.add_argument("--results", type=Path, default=RESULTS, metavar="DIR", help="default: paper/results")
        if name == "parameters":
            continue
        default = TABLES[name].sets if name in TABLES else ()
        if name in ("stability", "codes"):
            default = ("ag_news",)
        if name == ALL:
            default = tuple(DATA_SETS)
        verb.add_argument(
            "--sets",
            nargs="+",
            default=list(default),
            metavar="NAME",
            help=f"{', '.join(DATA_SETS)}, or any folder in DIR with train.* and test.*",
        )
        if name in ("curves", "confusion"):
            verb.add_argument(
                "--table", choices=TABLES, default="sota", help="table whose runs are drawn (default: sota)"
            )
            continue
        source: Any = verb
        if name in TABLES:
            source = verb.add_mutually_exclusive_group(required=True)
            source.add_argument("--show", action="store_true", help="print the stored runs, from any source")
        source.add_argument(
            "--data", type=Path, required=name not in TABLES, metavar="DIR", help="folder of the data sets"
        )
        if name == ALL:
            verb.add_argument("--plan", action="store_true", help="print the estimate of hours and make no run")
            verb.add_argument(
                "--stages",
                nargs="+",
                type=int,
                choices=plan.STAGES,
                metavar="N",
                help="; ".join(f"{number}: {words}" for number, words in plan.STAGES.items()) + " (default: all)",
            )
        else:
            seeds = [1, 2, 3] if name in TABLES else [1]
            verb.add_argument("--seeds", nargs="+", type=int, default=seeds, metavar="N")
        verb.add_argument(
            "--budget",
            nargs="+",
            default=[],
            metavar="NAME=N",
            help="rows=N, epochs=N: the same for every row of the table (default: all rows, the recipe's epochs)",
        )
        verb.add_argument(
            "--options",
            nargs="+",
            default=[],
            metavar="NAME=VALUE",
            help="options of every run that differ from the recipe",
        )
        verb.add_argument(
            "--allow-subset", action="store_true", help="accept files without the published number of rows"
        )
        verb.add_argument("--hub", action="store_true", help="fetch missing sets from the Hugging Face Hub")
        verb.add_argument(
            "--work", type=Path, default=WORK, metavar="DIR", help="folder of prepared files (default: runs/paper)"
        )
        if name != ALL:
            verb.add_argument(
                "--recipe", choices=RECIPES, default=RECIPES[0], help="of the rows without one (default: published)"
            )
        verb.add_argument("--threads", type=int, default=1, metavar="N", help="threads per training (default: 1)")
        if name in TABLES:
            verb.add_argument(
                "--rows",
                nargs="+",
                choices=[row.name for row in TABLES[name].rows],
                metavar="ROW",
                help="run only these rows of the table",
            )
            verb.add_argument(
                "--protocol",
                choices=PROTOCOLS,
                default="ours",
                help="published: report the best epoch on the test file, to measure the effect of that choice",
            )
        if name == "stability":
            verb.add_argument("--iterations", nargs="+", type=int, default=list(stability.ITERATIONS), metavar="N")
            verb.add_argument(
                "--trained",
                nargs="+",
                type=int,
                default=[],
                metavar="N",
                help="also train one model with each of these numbers of iterations",
            )
        if name == "codes":
            verb.add_argument(
                "--words", nargs="+", default=[], metavar="WORD", help="words whose neighbours are listed"
            )
    return parser  # fmt: skip
