"""Data sets that a machine already has: texts that nobody has tuned on, in the layout that the other benchmarks read.

    python -m benchmarks.local_sets --out DIR
    python -m benchmarks.local_sets --out DIR --sets --split DATA/chnsenticorp/all.jsonl
    python -m benchmarks.accuracy --data DIR --sets packages docstrings --name local

- packages    one-line descriptions of Debian's packages, and the section they are in (`apt-cache dumpavail`). Packages
              of one source are all in one part, by a digest of the source's name: 8 tenths to train on, 2 to test on
- docstrings  the first words of docstrings of the libraries installed beside capsulet, and the library they are from;
              a fifth is to test on
- --split     a labelled file without a split: the set is called like its folder, a fifth is to test on; rows that
              cannot be read are passed over

A text that stands in both parts is left out of the test part. Sections and libraries with few texts are left out.
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

FEWEST_TEXTS = 100  # of a label
MOST_WORDS, MOST_TEXTS = 60, 2000  # of a docstring, and of a library
TEST_FRACTION = 0.2

Parts = Mapping[str, list[Pair]]  # train and test


def main(words: list[str] | None = None) -> None:
    """Write the sets and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write the sets into")
    parser.add_argument(
        "--sets", nargs="*", default=list(SETS), choices=SETS, metavar="NAME", help=f"of {' '.join(SETS)}"
    )
    parser.add_argument(
        "--split", nargs="*", default=[], type=Path, metavar="FILE", help="labelled files to cut in two"
    )
    arguments = parser.parse_args(words)
    folders = [arguments.out / name for name in arguments.sets]
    for file in arguments.split:
        folders.append(arguments.out / file.resolve().parent.name)
        if not file.is_file():
            parser.error(f"{file} is no file")
        if folders[-1].resolve() == file.resolve().parent or folders.count(folders[-1]) > 1:
            parser.error(f"the parts of {file} would go to {folders[-1]}, where others are: choose another --out")
    for file in arguments.split:
        rows = read_rows([file], labelled=True, options=ReadOptions(on_bad_row="skip"))
        write(arguments.out / file.resolve().parent.name, cut((row.text, str(row.label)) for row in rows))
    for name in arguments.sets:
        write(arguments.out / name, SETS[name]())


def package_sections() -> Parts:
    """Descriptions and sections of packages."""
    found = sorted({(source_of(one), one["Description"], one.get("Section", "").split("/")[-1]) for one in packages()})
    if not found:
        sys.exit("apt-cache knows of no packages: apt-get update")
    counts = Counter(section for _, _, section in found)
    kept = [one for one in found if one[2] and counts[one[2]] >= FEWEST_TEXTS]
    return {
        "train": [(text, section) for source, text, section in kept if tenth(source) >= 10 * TEST_FRACTION],
        "test": [(text, section) for source, text, section in kept if tenth(source) < 10 * TEST_FRACTION],
    }


def library_docstrings() -> Parts:
    """First words of docstrings, and the library they are from."""
    label_of: dict[str, str] = {}
    for text, library in docstrings(Path(sysconfig.get_paths()["purelib"])):
        label_of.setdefault(" ".join(text.split()[:MOST_WORDS]), library)
    order = sorted(label_of, key=lambda text: hashlib.sha256(text.encode()).digest())  # not the first files alone
    counts: Counter[str] = Counter()
    chosen = []
    for text in order:
        counts[label_of[text]] += 1
        if counts[label_of[text]] <= MOST_TEXTS:
            chosen.append((text, label_of[text]))
    return cut(pair for pair in chosen if counts[pair[1]] >= FEWEST_TEXTS)


SETS: Mapping[str, Callable[[], Parts]] = {"packages": package_sections, "docstrings": library_docstrings}


def cut(pairs: Iterable[Pair]) -> Parts:
    """A fifth of each class to test on."""
    rows = list(pairs)
    labels = sorted({label for _, label in rows})
    train, test = stratified_split(np.array([labels.index(label) for _, label in rows]), TEST_FRACTION)
    return {"train": [rows[row] for row in train], "test": [rows[row] for row in test]}


def write(folder: Path, parts: Parts) -> None:
    """A JSONL file a part, without the test texts that are in the other."""
    known = {text.lower() for text, _ in parts["train"]}
    rows = {"train": parts["train"], "test": [pair for pair in parts["test"] if pair[0].lower() not in known]}
    rows = {name: [pair for pair in part if "\0" not in pair[0]] for name, part in rows.items()}  # our reader refuses
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in rows.items():
        lines = (json.dumps({"label": label, "text": text}, ensure_ascii=False) + "\n" for text, label in part)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    classes = len({label for _, label in rows["train"]})
    print(f"{folder}: {len(rows['train']):,} texts to train on, {len(rows['test']):,} to test on, {classes} classes")


if __name__ == "__main__":
    main()
