"""The paper's eight data sets: what they hold, how their texts are cleaned, where their files are.

Zhang, Zhao and LeCun, "Character-level Convolutional Networks for Text Classification", 2015, distribute each as a
folder with train.csv and test.csv: no header, every field in double quotes, quotes inside doubled, line breaks written
as a backslash and an n; the first field is the class, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from capsulet.errors import InputError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz")


def clean_escapes(text: str) -> str:
    r"""Line breaks written as `\n` (or doubled, `\\n`) as spaces, and `\"` as a quote."""
    return re.sub(r"\\+n", " ", text).replace('\\"', '"')


def clean_news(text: str) -> str:
    r"""AG's News has a lone backslash where a line broke, so that its `\nations` is a break and the word nations."""
    return text.replace("\\", " ")


def clean_answers(text: str) -> str:
    """Yahoo! Answers has both kinds of line breaks, `<br />` among them."""
    return re.sub(r"<br\s*/?>", " ", clean_escapes(text))


@dataclass(frozen=True)
class DataSet:
    """One of the eight."""

    name: str
    title: str
    column: str  # its name in the paper's tables
    folder: str  # as Zhang et al. pack it
    classes: tuple[str, ...]
    train_rows: int
    test_rows: int
    vocab_size: int  # |V| of the paper's table
    clean: Callable[[str], str]
    hub: str = ""  # repository on the Hugging Face Hub; none: not there under a name that we know
    hub_label: str = "label"
    hub_texts: tuple[str, ...] = ("text",)


STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
POLARITY = ("negative", "positive")
# Classes in the order of their numbers in the files; those of the star ratings have no names there, so these are ours.
_ALL = (
    DataSet(
        "ag_news", "AG's News", "AG", "ag_news_csv", ("World", "Sports", "Business", "Sci/Tech"),
        120_000, 7_600, 62_535, clean_news, "fancyzhx/ag_news",
    ),
    DataSet(
        "dbpedia", "DBPedia", "DBP", "dbpedia_csv",
        (
            "Company", "EducationalInstitution", "Artist", "Athlete", "OfficeHolder", "MeanOfTransportation",
            "Building", "NaturalPlace", "Village", "Animal", "Plant", "Album", "Film", "WrittenWork",
        ),
        560_000, 70_000, 548_338, clean_escapes, "fancyzhx/dbpedia_14", hub_texts=("title", "content"),
    ),
    DataSet(
        "yahoo_answers", "Yahoo! Answers", "Yah.A", "yahoo_answers_csv",
        (
            "Society & Culture", "Science & Mathematics", "Health", "Education & Reference", "Computers & Internet",
            "Sports", "Business & Finance", "Entertainment & Music", "Family & Relationships", "Politics & Government",
        ),
        1_400_000, 60_000, 771_820, clean_answers, "community-datasets/yahoo_answers_topics", "topic",
        ("question_title", "question_content", "best_answer"),
    ),
    DataSet(
        "sogou_news", "Sogou News", "Sogou", "sogou_news_csv",
        ("sports", "finance", "entertainment", "automobile", "technology"),
        450_000, 60_000, 106_385, clean_escapes, "community-datasets/sogou_news", hub_texts=("title", "content"),
    ),
    DataSet(
        "yelp_polarity", "Yelp polarity", "Yelp.P", "yelp_review_polarity_csv", POLARITY,
        560_000, 38_000, 200_790, clean_escapes, "fancyzhx/yelp_polarity",
    ),
    DataSet(
        "yelp_full", "Yelp full", "Yelp.F", "yelp_review_full_csv", STARS,
        650_000, 50_000, 216_985, clean_escapes, "Yelp/yelp_review_full",
    ),
    DataSet(
        "amazon_polarity", "Amazon polarity", "Amz.P", "amazon_review_polarity_csv", POLARITY,
        3_600_000, 400_000, 931_271, clean_escapes, "fancyzhx/amazon_polarity", hub_texts=("title", "content"),
    ),
    DataSet(
        "amazon_full", "Amazon full", "Amz.F", "amazon_review_full_csv", STARS,
        3_000_000, 650_000, 835_818, clean_escapes,
    ),
)  # fmt: skip
DATA_SETS: Mapping[str, DataSet] = {one.name: one for one in _ALL}


def closest(name: str) -> DataSet | None:
    """The data set that a folder holds, or holds a part of: ag_news_61k is of ag_news."""
    found = [one for one in _ALL if name == one.name or name.startswith(one.name + "_")]
    return max(found, key=lambda one: len(one.name), default=None)


@dataclass(frozen=True)
class Source:
    """Where the two files of a set are; `data_set` where they are one of the eight in the original layout."""

    name: str
    train: Path
    test: Path
    data_set: DataSet | None


def split_file(folder: Path, split: str) -> Path | None:
    """train.csv, train.jsonl, … whichever is there."""
    return next((path for suffix in SUFFIXES if (path := folder / f"{split}{suffix}").is_file()), None)


def find_source(name: str, data: Path) -> Source:
    """The files of a set below `data`: the original folder of one of the eight, or any folder with train and test."""
    data_set = DATA_SETS.get(name)
    for folder, kind in (
        ((data / data_set.folder, data_set), (data / name, None)) if data_set else ((data / name, None),)
    ):
        train, test = split_file(folder, "train"), split_file(folder, "test")
        if train and test:
            return Source(name, train, test, kind)
    if data_set is None:
        known = ", ".join(DATA_SETS)
        raise InputError(
            f"{data / name} has no train.* and test.*: name a folder below --data that has, or one of {known}"
        )
    how = f"or add --hub to fetch {data_set.hub}" if data_set.hub else "it is not on the Hugging Face Hub"
    raise InputError(
        f"{data_set.title}: no {data / data_set.folder / 'train.csv'} and test.csv. Unpack {data_set.folder}.tar.gz of "
        f"Zhang et al. 2015 (linked from their paper, arXiv:1509.01626) into {data}, {how}"
    )
