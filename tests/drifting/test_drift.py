"""New texts beside those that a model was validated on: alarms where something moved, and none where nothing did."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import capsulet
from capsulet.drifting import drift as module
from capsulet.drifting import histograms
from capsulet.drifting.histograms import FEWEST_TEXTS, class_bin, fit, from_json, largest_json, standing_out
from capsulet.drifting.permutation import compare, holm
from capsulet.drifting.traits import MOST_CODES, Traits, folded, longest_given, traits_of
from capsulet.errors import InputError, ModelError
from capsulet.runtime.matrix import Matrix
from tests.conftest import SETS, TEXTS, TINY, store_config, stored_config

STORED_PARTS = "unknown", "length", "codes", "classes", "score"  # keys of the configuration
SMALL = {**TINY, "epochs": 4, "batch_size": 16}


def made_up(number: int, seed: int, labels: tuple[str, ...] = ("sport", "money", "food")) -> list[tuple[str, str]]:
    """Texts of the words of each class, and a rare word now and then."""
    dice = random.Random(seed)
    words = {label: " ".join(text for other, text in TEXTS if other == label).split() for label in labels}
    rows = []
    for _ in range(number):
        label = dice.choice(labels)
        chosen = dice.choices(words[label], k=dice.randint(4, 14))
        rows.append((label, " ".join([*chosen, *[f"qz{dice.randrange(10**6)}"] * (dice.random() < 0.2)])))
    return rows


def texts_of(number: int, seed: int, *labels: str) -> list[str]:
    return [text for _, text in made_up(number, seed, labels or ("sport", "money", "food"))]


def write_rows(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("many") / "rows.jsonl", made_up(400, 0))


@pytest.fixture(scope="module")
def folder(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with histograms of 100 texts; read it, do not change it."""
    path = tmp_path_factory.mktemp("drift") / "model"
    capsulet.train(rows, path, ngram_features=0, **SMALL)  # so that words are all that compressing can leave out
    return path


@pytest.fixture(scope="module")
def classifier(folder: Path) -> capsulet.Classifier:
    return capsulet.load(folder, threads=1)


def stored(path: Path) -> Any:
    return stored_config(path).get("histograms")


def test_training_ends_with_small_histograms(folder: Path, classifier: capsulet.Classifier) -> None:
    found = stored(folder)
    assert found["texts"] == 100
    assert {part: sum(found[part]["counts"]) for part in STORED_PARTS} == {
        "unknown": 100, "length": 100, "codes": 66, "classes": 100, "score": 100,
    }  # fmt: skip
    size = len(json.dumps(found, separators=(",", ":")))
    assert size < 1000 and size <= largest_json(3, 100)
    again = from_json(found, 3, False, "")
    assert again.as_json() == found
    assert "`capsulet drift`" in (folder / "README.md").read_text()


def test_texts_of_the_same_kind_are_no_drift(classifier: capsulet.Classifier) -> None:
    reports = [capsulet.drift(classifier, texts=texts_of(100, seed)) for seed in range(100, 110)]
    assert sum(report.drifted for report in reports) <= 1
    report = reports[0]
    assert [part.name for part in report.parts] == list(histograms.PARTS)
    assert report.absent == {} and report.texts == 100 and report.validation_texts == 100
    for part in report.parts:
        assert len(part.bins) == len(part.before) == len(part.after)
        assert sum(part.before) == pytest.approx(1, abs=1e-3) and sum(part.after) == pytest.approx(1, abs=1e-3)
    assert report.p_value == min(part.adjusted_p_value for part in report.parts)
    assert capsulet.drift(classifier, texts=texts_of(100, 100)) == report


def test_what_has_not_changed_is_said() -> None:
    assert module.change_of("length", 5, 5, (), (), ()) == "median length unchanged: 5 tokens"
    assert module.change_of("probability", 0.9, 0.9, (), (), ()) == "median probability unchanged: 0.900"
    assert module.change_of("length", 5, 7, (), (), ()) == "texts longer: median 5 → 7 tokens"


def test_what_moved_is_named(classifier: capsulet.Classifier) -> None:
    def moved(texts: list[str]) -> dict[str, str]:
        report = capsulet.drift(classifier, texts=texts)
        assert report.drifted == any(part.drifted for part in report.parts) == (report.p_value <= 0.01)
        return {part.name: part.change for part in report.parts if part.drifted}

    shorter = moved([" ".join(text.split()[:3]) for text in texts_of(300, 1)])
    assert "shorter: median" in shorter["length"] and shorter["length"].endswith("→ 3 tokens")
    one_class = moved(texts_of(300, 2, "food"))
    assert "food" in one_class["classes"] and "→" in one_class["classes"] and "codes" in one_class
    assert "length" not in one_class and "unknown" not in one_class
    strange = moved([text + " brexit brexit selfie" for text in texts_of(300, 3)])
    assert strange["unknown"].startswith("unknown words 2.") and "→ 2" in strange["unknown"]
    report = capsulet.drift(classifier, texts=[text + " Brexit brexit selfie" for text in texts_of(50, 3)])
    assert report.unknown_words[:2] == (("brexit", 50), ("selfie", 50))


def test_windows_are_compared_one_by_one(classifier: capsulet.Classifier) -> None:
    seen: list[Any] = []
    texts = texts_of(200, 4) + texts_of(110, 5, "food")
    report = capsulet.drift(classifier, texts=iter(texts), window=100, on_window=seen.append)
    assert [(window.first, window.texts) for window in report.windows] == [(1, 100), (101, 100), (201, 100)]
    assert [window.drifted for window in report.windows] == [False, False, True]  # ten more are too few for a window
    assert "classes" in report.windows[2].parts and report.texts == 310
    assert seen == list(report.windows)


def test_texts_are_read_in_bounded_memory(classifier: capsulet.Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 16)
    texts, longest, alive = texts_of(100, 6), 0, 0

    def source() -> Iterator[str]:
        nonlocal alive, longest
        for text in texts:
            alive += 1
            longest = max(longest, alive)
            yield text

    add = module.TextCounts.add

    def counting(self: Any, *arguments: Any) -> None:
        nonlocal alive
        alive -= len(arguments[1])
        add(self, *arguments)

    monkeypatch.setattr(module.TextCounts, "add", counting)
    in_pieces = capsulet.drift(classifier, texts=source(), window=50)
    assert longest <= 16 and alive == 0
    monkeypatch.setattr(module, "AT_ONCE", 1024)
    assert capsulet.drift(classifier, texts=texts).parts == in_pieces.parts


def test_few_of_many_unknown_words_are_followed(classifier: capsulet.Classifier, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_SPELLINGS", 5)
    monkeypatch.setattr(module, "AT_ONCE", 4)
    texts = [f"selfie odd{number} rare{number}" for number in range(40)]
    report = capsulet.drift(classifier, texts=texts)
    assert report.unknown_words[0] == ("selfie", 40) and len(report.unknown_words) <= 10


def test_single_and_compressed_files_have_them(folder: Path, rows: Path, tmp_path: Path, monkeypatch) -> None:
    from capsulet.compression import goal, search, students

    monkeypatch.setattr(students, "FEWEST_STEPS", 2)
    monkeypatch.setattr(goal, "FEWEST_WORDS", 4)
    monkeypatch.setattr(search, "BITS", (8,))
    new = texts_of(100, 100)
    whole = capsulet.drift(folder, texts=new)
    assert capsulet.drift(shutil.copy(folder / "model.safetensors", tmp_path / "file.safetensors"), texts=new) == whole

    alone = capsulet.compress(folder, out=tmp_path / "alone.safetensors", threads=1)
    report = capsulet.drift(alone.path, texts=new)  # nothing can be said of what compressing may have changed
    assert [part.name for part in report.parts] == ["unknown", "length"] and not report.drifted
    assert report.parts[1].p_value == whole.parts[1].p_value
    assert "compressed without texts" in report.absent["probability"]

    target = alone.bytes - 200  # not all words fit
    small = capsulet.compress(folder, rows, tmp_path / "small.safetensors", target_size=target, threads=1)
    assert small.bytes <= target and small.words < small.words_before
    report = capsulet.drift(small.path, texts=new)
    assert len(report.parts) == 5 and not report.drifted
    share = json.loads(json.dumps(capsulet.load(small.path).config.histograms))["unknown"]["usual"]
    assert share > stored(folder)["unknown"]["usual"]  # of the words that this file knows
    assert capsulet.drift(small.path, texts=texts_of(200, 2, "food")).drifted


def test_a_compressed_model_knows_its_unknown_word(folder: Path, tmp_path: Path) -> None:
    small = capsulet.load(capsulet.compress(folder, out=tmp_path / "small.safetensors", threads=1).path)
    assert [model.session.word_ids.unknown for model in (small, capsulet.load(folder))] == [0, 1]
    first = small.session.word(1)
    assert [answer.reason for answer in small.predict(["selfie brexit", f"{first} {first}"], abstain=True)] == [
        "unknown words",
        small.predict([f"{first} {first}"], abstain=True)[0].reason,
    ]
    texts = ["selfie brexit", first]
    found = traits_of(small, texts, small.session.encode(texts))
    assert found.unknown == [1, 0]
    assert found.codes is not None and found.codes.columns == MOST_CODES
    assert [any(map(math.isnan, row)) for row in found.codes] == [True, False]


@pytest.mark.parametrize("options", [{"embedding": "plain"}, {"embedding": "cc", "head": "linear"}], ids=str)
def test_other_variants(options: dict[str, str], rows: Path, tmp_path: Path) -> None:
    capsulet.train(rows, tmp_path / "model", **{**SMALL, "epochs": 2, **options})
    report = capsulet.drift(tmp_path / "model", texts=texts_of(60, 7))
    assert report.absent == ({"codes": module.NO_CODES} if options["embedding"] == "plain" else {})
    assert capsulet.drift(tmp_path / "model", texts=["x y z"] * 40).drifted


def test_several_labels(tmp_path: Path) -> None:
    dice = random.Random(0)
    sets = [
        {"labels": sorted({*one, *other}), "text": f"{text} {more}"}
        for (one, text), (other, more) in (dice.choices(SETS, k=2) for _ in range(240))
    ]
    file = tmp_path / "sets.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in sets))
    model = tmp_path / "model"
    capsulet.train(file, model, multi_label=True, **SMALL)
    there = stored(model)
    config = stored_config(model)
    assert there["texts"] == config["calibration"]["texts"] == 60
    report = capsulet.drift(model, file)
    assert len(report.parts) == 5 and report.texts == 240
    assert report.parts[3].bins == ("food", "money", "sport", "(no label)")
    assert capsulet.drift(model, texts=["It rained all day long"] * 60).drifted
    # as training made them, from the training file alone
    old = without_histograms(model, tmp_path / "old")
    assert capsulet.calibrate(old, file) == config["calibration"]
    assert stored(old) == there
    (tmp_path / "few.jsonl").write_text(json.dumps(sets[0]) + "\n")
    with pytest.raises(InputError, match="1 validation text, expected at least 2"):
        capsulet.calibrate(old, valid=tmp_path / "few.jsonl")
    assert stored(old) == there


def without_histograms(model: Path, path: Path) -> Path:
    """The model as older versions wrote it."""
    shutil.copytree(model, path)
    config = stored_config(path)
    del config["histograms"]
    store_config(path, config)
    return path


def test_calibrating_makes_them_without_training(folder: Path, rows: Path, tmp_path: Path) -> None:
    old = without_histograms(folder, tmp_path / "old")
    with pytest.raises(
        InputError, match=r"no histograms of its validation texts.*`capsulet.calibrate.*old', valid=FILE"
    ):
        capsulet.drift(old, texts=texts_of(30, 1))
    file = shutil.copy(old / "model.safetensors", tmp_path / "old.safetensors")
    with pytest.raises(
        InputError, match=r"no histograms.*`capsulet\.calibrate\(FOLDER, valid=FILE\)` on its model folder"
    ):
        capsulet.drift(file, texts=texts_of(30, 1))
    capsulet.calibrate(old, rows)
    assert stored(old) == stored(folder)
    assert (old / "README.md").read_bytes() == (folder / "README.md").read_bytes()
    with pytest.raises(InputError, match="12 validation texts, but the model is already calibrated on"):
        capsulet.calibrate(old, valid=write_rows(tmp_path / "few.jsonl", made_up(12, 3)))
    assert stored(old) == stored(folder)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"texts": ["one"]}, r"texts: too few texts to test for drift \(1\), expected at least 20: collect more"),
        ({"texts": []}, r"too few texts to test for drift \(0\)"),
        ({}, "drift takes either files or texts"),
        ({"files": "a.csv", "texts": ["a"]}, "drift takes either files or texts"),
        ({"texts": "one"}, "drift got one str as texts"),
        ({"texts": ["one", 2]}, "text 1 is of type int"),
        ({"texts": ["a"], "false_alarm": 0}, "false_alarm is 0: expected a share from 0.001 to 0.5"),
        ({"texts": ["a"], "false_alarm": float("nan")}, "false_alarm is nan: expected a share"),
        ({"texts": ["a"], "false_alarm": True}, "false_alarm is True: expected a share"),
        ({"texts": ["a"], "window": 3}, "window is 3: expected at least 20 texts"),
    ],
)
def test_what_cannot_be_compared(classifier: capsulet.Classifier, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        capsulet.drift(classifier, **more)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("texts"),
        lambda found: found["length"].pop("usual"),
        lambda found: found["length"].update(counts=[1, 2]),
        lambda found: found["length"].update(counts=[-1, 101]),
        lambda found: found["classes"].update(counts=[50] * 4),
        lambda found: found["codes"].update(means=[1]),
        lambda found: found["codes"].update(spreads=[0] * len(found["codes"]["means"])),
        lambda found: [found.pop(part) for part in STORED_PARTS],
        lambda found: found.update(score=7),
        lambda found: found.update(texts=10**30),
        lambda found: found["codes"]["means"].__setitem__(0, float("nan")),
        lambda found: found["codes"].update(spreads=[[1]] * len(found["codes"]["means"])),
    ],
)
def test_damaged_histograms(folder: Path, change: Any) -> None:
    found = stored(folder)
    change(found)
    with pytest.raises(ModelError, match="m is damaged: the histograms of its validation texts cannot be read"):
        from_json(found, 3, False, "m")


def test_a_histogram_of_codes_that_the_model_does_not_have(folder: Path, rows: Path, tmp_path: Path) -> None:
    capsulet.train(rows, tmp_path / "plain", embedding="plain", **SMALL)
    config = stored_config(tmp_path / "plain")
    config["histograms"]["codes"] = stored(folder)["codes"]
    store_config(tmp_path / "plain", config)
    with pytest.raises(ModelError, match="it has a histogram of codes, but its embedding has no codes"):
        capsulet.drift(tmp_path / "plain", texts=texts_of(30, 1))


def made_up_traits(generator: np.random.Generator, number: int, num_classes: int = 6) -> Traits:
    """Texts of several topics, whose words share codes."""
    topics = np.random.default_rng(0).dirichlet(np.full(24, 0.4), num_classes)
    classes = generator.integers(0, num_classes, number)
    length = generator.geometric(0.05, number) + 3
    codes = np.stack(
        [generator.multinomial(words, topics[topic]) / words for words, topic in zip(length, classes, strict=True)]
    )
    unknown, probabilities = generator.binomial(length, 0.04) / length, 1 - generator.beta(1, 8, number)
    return Traits(unknown.tolist(), length.tolist(), Matrix(codes, 24, "d"), classes.tolist(), probabilities.tolist())


@pytest.mark.parametrize(("validation", "new"), [(60, 600), (400, 100)])
def test_the_false_alarm_rate_is_kept(validation: int, new: int) -> None:
    generator, rate, rounds = np.random.default_rng(1), 0.2, 60
    alarms, by_part = 0, dict.fromkeys(histograms.PARTS, 0)
    for _ in range(rounds):
        reference = fit(made_up_traits(generator, validation), 6, False)
        counts = reference.count(made_up_traits(generator, new))
        found = {part: compare(reference.counts[part], counts[part]).p_value for part in counts}
        alarms += min(holm(list(found.values()))) <= rate
        for part, p_value in found.items():
            by_part[part] += p_value <= rate
    error = 4 * np.sqrt(rate * (1 - rate) / rounds)
    assert alarms / rounds <= rate + error
    for part, number in by_part.items():
        assert number / rounds == pytest.approx(rate, abs=error), part


def test_bins_of_classes_and_codes() -> None:
    assert [class_bin(place, 6) for place in (0, 5, 6)] == [0, 5, 6]
    assert [class_bin(place, 1000) for place in (0, 1, 999, 1000)] == [0, 0, 199, 200]
    codes = [[0.5, 0.5], [0.2, 0.8], [math.nan, math.nan]]
    assert [standing_out(row, [0.4, 0.6], [0.1, 0.1]) for row in codes] == [0, 1, 2]
    few = made_up_traits(np.random.default_rng(0), FEWEST_TEXTS)
    found = fit(few, 6, True)
    assert "codes" not in found.counts and len(found.counts["classes"]) == 7


def test_many_codes_are_summed_with_their_neighbours() -> None:
    assert folded([0.25, 0.75]) == [0.25, 0.75]
    summed = folded([1.0] * 128)
    assert len(summed) == MOST_CODES and set(summed) == {2.0}
    uneven = folded([float(place) for place in range(100)])
    assert len(uneven) == MOST_CODES and sum(uneven) == sum(range(100)) and uneven[:3] == [0, 3, 3]
    assert all(map(math.isnan, folded([math.nan] * 100)))


def test_the_class_is_the_longest_of_those_that_are_given() -> None:
    assert longest_given([0.9, 0.4, 0.5], [0.95, 0.3, 0.5]) == 2
    assert longest_given([0.9, 0.4, 0.5], [0.95, 0.5, 0.6]) == 3


def test_histograms_by_hand() -> None:
    """Sixty texts that use two codewords: every third for means and spreads, the others in the bins."""
    rows = [[0.5, 0.5], [0.8, 0.2], [math.nan, math.nan]] * 10 + [[0.7, 0.3], [0.1, 0.9], [0.2, 0.8]] * 10
    traits = Traits([0.0] * 45 + [1.0] * 15, [2] * 30 + [4] * 30, Matrix.of_rows(rows, 2), [0, 1] * 30, [0.99] * 60)
    found = fit(traits, 2, False)
    assert found.usual == {"unknown": 0.25, "length": 3.0, "probability": 0.99}
    assert (found.means, found.spreads) == ([0.6, 0.4], [0.1, 0.1])
    assert found.counts["codes"] == [10, 20, 10]
    assert found.counts["classes"] == [30, 30] and found.counts["unknown"] == [45, *[0] * 13, 15]
    assert from_json(json.loads(json.dumps(found.as_json())), 2, False, "") == found


def test_more_classes_than_bins_share_them() -> None:
    class Many:
        labels = tuple(f"l{number:03}" for number in range(401))

    names = module.bin_names("classes", histograms.MOST_CLASSES + 1, Many())  # type: ignore[arg-type]
    own = [f"l{place:03}" for place in range(401) if class_bin(place, 401) == 1]
    assert names[0] == "l000 … l002" and names[-1] == "(no label)" and len(names) == 201
    assert names[1] == f"{own[0]} … {own[-1]}"
