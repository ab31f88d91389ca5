"""Build data sets from texts that are already on the machine, in the layout that the other benchmarks read.

    python -m benchmarks.local_sets --out DIR
    python -m benchmarks.local_sets --out DIR --sets --split DATA/chnsenticorp/all.jsonl
    python -m benchmarks.accuracy --data DIR --sets packages docstrings --name local

- packages    one-line descriptions of Debian packages, labelled with their section (`apt-cache dumpavail`). A digest of
              the source package's name assigns it to a part, with all its packages: 80 % training, 20 % test
- docstrings  first words of the docstrings of installed libraries, labelled with the library; a fifth is held out
              for testing
- --split     a labelled file without a split; the set gets the name of its folder, a fifth is held out for testing,
              and rows that cannot be read are skipped

A test text that also occurs in the training part is left out. Sections and libraries with few texts are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.debian import packages, source_of, tenth
from capsulet.text.docstrings import Pair, docstrings
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions
from capsulet.text.split import stratified_split

FEWEST_TEXTS = 100  # per label
MOST_WORDS, MOST_TEXTS = 60, 2000  # words per docstring, texts per library
TEST_FRACTION = 0.2

Parts = Mapping[str, list[Pair]]  # train and test


def main(words: list[str] | None = None) -> None:
    """Write the sets and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write the sets into")
    parser.add_argument(
        "--sets",
        nargs="*",
        default=list(SETS),
        choices=SETS,
        metavar="NAME",
        help=f"sets to write (default: all): {' '.join(SETS)}",
    )
    parser.add_argument(
        "--split",
        nargs="*",
        default=[],
        type=Path,
        metavar="FILE",
        help="labelled files to split into training and test part",
    )
    arguments = parser.parse_args(words)
    folders = [arguments.out / name for name in arguments.sets]
    for file in arguments.split:
        folders.append(arguments.out / file.resolve().parent.name)
        if not file.is_file():
            parser.error(f"{file} is not a file")
        if folders[-1].resolve() == file.resolve().parent or folders.count(folders[-1]) > 1:
            parser.error(
                f"{file}: its output folder {folders[-1]} is already used by other files: choose another --out"
            )
    for file in arguments.split:
        rows = read_rows([file], labelled=True, options=ReadOptions(on_bad_row="skip"))
        write(arguments.out / file.resolve().parent.name, cut((row.text, str(row.label)) for row in rows))
    for name in arguments.sets:
        write(arguments.out / name, SETS[name]())


def package_sections() -> Parts:
    """Descriptions of packages, labelled with their sections."""
    rows = sorted({(source_of(one), one["Description"], one.get("Section", "").split("/")[-1]) for one in packages()})
    if not rows:
        sys.exit("apt-cache lists no packages: run apt-get update")
    counts = Counter(section for _, _, section in rows)
    kept = [row for row in rows if row[2] and counts[row[2]] >= FEWEST_TEXTS]
    return {
        "train": [(text, section) for source, text, section in kept if tenth(source) >= 10 * TEST_FRACTION],
        "test": [(text, section) for source, text, section in kept if tenth(source) < 10 * TEST_FRACTION],
    }


def library_docstrings() -> Parts:
    """First words of docstrings, labelled with their library."""
    label_of: dict[str, str] = {}
    for text, library in docstrings(Path(sysconfig.get_paths()["purelib"])):
        label_of.setdefault(" ".join(text.split()[:MOST_WORDS]), library)
    order = sorted(
        label_of, key=lambda text: hashlib.sha256(text.encode()).digest()
    )  # a random order, so that the texts come from all files of a library
    counts: Counter[str] = Counter()
    chosen = []
    for text in order:
        counts[label_of[text]] += 1
        if counts[label_of[text]] <= MOST_TEXTS:
            chosen.append((text, label_of[text]))
    return cut(pair for pair in chosen if counts[pair[1]] >= FEWEST_TEXTS)


SETS: Mapping[str, Callable[[], Parts]] = {"packages": package_sections, "docstrings": library_docstrings}


def cut(pairs: Iterable[Pair]) -> Parts:
    """Split rows into training and test part; a fifth of each class is for testing."""
    rows = list(pairs)
    labels = sorted({label for _, label in rows})
    train, test = stratified_split(np.array([labels.index(label) for _, label in rows]), TEST_FRACTION)
    return {"train": [rows[row] for row in train], "test": [rows[row] for row in test]}


def write(folder: Path, parts: Parts) -> None:
    """Write one JSONL file per part, without test texts that occur in the training part."""
    known = {text.lower() for text, _ in parts["train"]}
    rows = {"train": parts["train"], "test": [pair for pair in parts["test"] if pair[0].lower() not in known]}
    rows = {
        name: [pair for pair in part if "\0" not in pair[0]] for name, part in rows.items()
    }  # our reader rejects NUL
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in rows.items():
        lines = (json.dumps({"label": label, "text": text}, ensure_ascii=False) + "\n" for text, label in part)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    classes = len({label for _, label in rows["train"]})
    print(f"{folder}: {len(rows['train']):,} training texts, {len(rows['test']):,} test texts, {classes} classes")


if __name__ == "__main__":
    main()
