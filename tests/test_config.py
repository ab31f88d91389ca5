"""Options: one field is one flag, one argument, one JSON key; wrong values end in words."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

import pytest

from capsulet.automatic import DataSize, resolve, smallest_num_codewords
from capsulet.cli.options import READING_FLAGS, given_values, reading_options
from capsulet.cli.parser import build_parser
from capsulet.config import (
    BASIC_OPTIONS,
    LOSS_SUMS,
    RECIPES,
    ModelOptions,
    Options,
    TextOptions,
    TrainingOptions,
    build_options,
    explicit_values,
)
from capsulet.errors import InputError
from capsulet.text.preparation import LabelledFiles
from capsulet.text.rows import ReadOptions
from capsulet.training.command import command_line

KINDS = (ModelOptions, TextOptions, TrainingOptions)
FIELDS = [(kind, spec) for kind in KINDS for spec in dataclasses.fields(kind)]


@pytest.fixture(scope="module")
def train_help() -> str:
    parser = build_parser()
    verbs = next(action for action in parser._actions if action.dest == "verb")
    return " ".join(verbs.choices["train"].format_help().split())


@pytest.mark.parametrize(("kind", "spec"), FIELDS, ids=[spec.name for _, spec in FIELDS])
def test_every_field_is_a_flag(kind: type, spec: dataclasses.Field[Any], train_help: str) -> None:
    flag = "--" + spec.name.replace("_", "-")
    assert f" {flag} " in train_help.replace(",", " ")
    assert spec.metadata["help"] in train_help
    default = "auto" if spec.default is None else spec.default
    assert f"(default: {default})" in train_help
    words = ["train", "x", "--out", "y", flag]
    if isinstance(spec.default, bool):
        words[-1] = words[-1] if not spec.default else f"--no-{flag[2:]}"
        value: Any = not spec.default
    else:
        choices = [choice for choice in spec.metadata["choices"] if choice != spec.default]
        value = choices[0] if choices else spec.default
        words.append("auto" if value is None else str(value))
    parsed = build_parser().parse_args(words)
    assert given_values(parsed, *KINDS) == {spec.name: value}
    assert getattr(build_options(**{spec.name: value}), OPTION_GROUP[kind])


def test_basic_options_come_first(train_help: str) -> None:
    assert {spec.name for _, spec in FIELDS} >= BASIC_OPTIONS
    basic, research = train_help.split(" research options: ")
    for _, spec in FIELDS:
        assert (spec.metadata["help"] in basic) is (spec.name in BASIC_OPTIONS)
        assert (spec.metadata["help"] in research) is (spec.name not in BASIC_OPTIONS)


def test_reading_flags_have_the_help_of_their_fields(train_help: str) -> None:
    for spec in dataclasses.fields(ReadOptions):
        assert (spec.name in READING_FLAGS) is (spec.name not in ("multi_label", "remembered"))
        assert spec.metadata.get("help", "") in train_help or spec.name == "multi_label"


OPTION_GROUP = {ModelOptions: "model", TextOptions: "text", TrainingOptions: "training"}


def test_defaults_are_valid_and_complete() -> None:
    assert build_options() == Options()
    assert len({spec.name for _, spec in FIELDS}) == len(FIELDS), "two groups share a name"


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_are_built_of_known_options(recipe: str) -> None:
    values = {}
    for group in dataclasses.asdict(build_options(recipe)).values():
        values.update(group)
    assert {name: values[name] for name in RECIPES[recipe]} == dict(RECIPES[recipe])


def test_the_paper_recipe_is_the_papers() -> None:
    options = build_options("paper")
    training = options.training
    assert (training.learning_rate, training.code_learning_rate, training.code_deviation) == (0.001, 0.001, 1.0)
    assert (training.batch_size, training.epochs, training.schedule) == (32, 10, "constant")
    assert not options.model.scale_coupling


def test_the_published_recipe_is_what_the_code_of_the_paper_computes() -> None:
    printed, options = build_options("paper"), build_options("published")
    training = options.training
    assert (options.model.agreement, training.focal, training.linear_margin) == ("dot", "softmax", "logits")
    assert (training.sum_margin, training.schedule, training.transforms) == (True, "steps", "xavier")
    assert (training.learning_rate, training.code_learning_rate, training.head_learning_rate) == (0.001, 0.001, 0.0001)
    differences = {"agreement", "sum_margin", "focal", "linear_margin", "head_learning_rate", "schedule", "transforms"}
    assert explicit_values(options, "paper").keys() == differences
    assert options.text == printed.text


def test_what_is_said_explicitly_beats_the_recipe() -> None:
    assert build_options("paper", epochs=3).training.epochs == 3
    assert explicit_values(build_options("paper", epochs=3), "paper") == {"epochs": 3}


WRONG = {
    "recipe": ({"recipe": "papr"}, "recipe 'papr' is unknown: expected one of default, paper, published"),
    "near": ({"epoch": 3}, "option 'epoch' is unknown; did you mean 'epochs'?"),
    "far": ({"zzz": 3}, "option 'zzz' is unknown; docs/reference/options.md lists all options"),
    "choice": ({"embedding": "glove"}, "--embedding is 'glove': expected one of cwc, cc, plain"),
    "loss": ({"loss": "hinge"}, "--loss is 'hinge': expected one of margin, focal"),
    "loss twice": ({"loss": "focal+focal"}, "--loss is 'focal+focal': expected one of"),
    "type": ({"epochs": "3"}, "--epochs is '3': expected a value of type int or None"),
    "bool for int": ({"epochs": True}, "--epochs is True: expected a value of type int"),
    "float for int": ({"epochs": 3.0}, "--epochs is 3.0: expected a value of type int"),
    "none": ({"loss": None}, "--loss is None: expected a value of type str"),
    "low": ({"epochs": 0}, "--epochs is 0: expected 1 to 10000 or auto"),
    "high": ({"dropout": 1.0}, "--dropout is 1.0: expected 0 to 0.99"),
    "open end": ({"clip": -0.5}, "--clip is -0.5: expected at least 0"),
    "nan": ({"learning_rate": float("nan")}, "--learning-rate is nan: expected a finite number"),
    "infinite": ({"learning_rate": float("inf")}, "--learning-rate is inf: expected a finite number"),
    "beyond the tokenizer": ({"max_words": 10**30}, "--max-words is 1000000000000000000000000000000: expected 1 to"),
    "competing labels": ({"multi_label": True, "focal": "softmax"}, "--focal is softmax, in which classes compete"),
    "indivisible": ({"hidden_size": 100}, "--hidden-size 100 is not a multiple of --primary-length 8"),
}


@pytest.mark.parametrize(("values", "message"), WRONG.values(), ids=WRONG)
def test_wrong_values_end_in_words(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build_options(**values)
    assert caught.value.message.startswith(message)
    assert caught.value.status == 2


def test_a_linear_head_has_no_capsules_to_divide_into() -> None:
    assert build_options(head="linear", hidden_size=100).model.hidden_size == 100


def test_an_integer_may_stand_for_a_float() -> None:
    assert build_options(dropout=0).training.dropout == 0.0
    assert type(build_options(dropout=0).training.dropout) is float


def test_losses_are_named_in_any_order() -> None:
    assert build_options(loss="focal + margin").training.loss == "margin+focal"
    assert build_options(loss="cross-entropy+focal+margin").training.loss == "margin+focal+cross-entropy"
    assert len(LOSS_SUMS) == len(set(LOSS_SUMS)) == 7


@pytest.mark.parametrize("num_codebooks", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("vocab_size", [1, 2, 3, 255, 256, 257, 6**8, 6**8 + 1, 62_535, 10**15 + 37, 10**30])
def test_smallest_number_of_codewords(vocab_size: int, num_codebooks: int) -> None:
    found = smallest_num_codewords(vocab_size, num_codebooks)
    assert found**num_codebooks >= vocab_size
    assert found == 1 or (found - 1) ** num_codebooks < vocab_size


COMMANDS = {
    "plain": ("default", ReadOptions(), {}),
    "values": (
        "default",
        ReadOptions(),
        {"epochs": 3, "learning_rate": 1e-5, "loss": "focal", "rowwise": False, "embedding": "cc"},
    ),
    "paper": ("paper", ReadOptions(), {"rowwise": True, "scale_coupling": True, "epochs": 2}),
    "columns": (
        "default",
        ReadOptions(
            text_columns=("a title", "body"), label_column="kind of 'it'", file_format="tsv", on_bad_row="skip"
        ),
        {},
    ),
    "no header": ("default", ReadOptions(header=False, file_format="csv"), {"seed": 7}),
}


@pytest.mark.parametrize(("recipe", "reading", "values"), COMMANDS.values(), ids=COMMANDS)
def test_the_stored_command_trains_the_same_model(recipe: str, reading: ReadOptions, values: dict[str, Any]) -> None:
    options = build_options(recipe, **values)
    files, valid = ["a b.csv", "it's.csv"], ["dev.csv"]
    program, *words = shlex.split(command_line(LabelledFiles(files, valid, reading), recipe, options))
    assert program == "capsulet"
    parsed = build_parser().parse_args([*words, "--out", "model"])
    assert (parsed.verb, parsed.files, parsed.valid) == ("train", files, valid)
    assert build_options(parsed.recipe, **given_values(parsed, *KINDS)) == options
    assert reading_options(parsed) == reading


def test_a_command_is_text_even_when_a_file_name_is_not() -> None:
    command = command_line(LabelledFiles(["caf\udce9.csv"], [], ReadOptions()), "default", Options())
    assert command.encode() == rb"capsulet train 'caf\udce9.csv' --out MODEL"


@pytest.mark.parametrize("values", [{"ngram_features": 0}, {"recipe": "paper"}])
def test_a_linear_model_needs_n_gram_features(values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="linear_only=True has only n-gram features, and ngram_features is 0"):
        build_options(linear_only=True, **values)


@pytest.mark.parametrize(
    ("texts", "tokens", "classes", "size"),
    [
        (19_999, 10, 2, "small"), (20_000, 10, 2, "base"), (20_000, 20, 2, "base"), (20_000, 21, 2, "small"),
        (5_000, 50, 29, "small"), (5_000, 50, 30, "base"), (4_999, 50, 30, "small"),
    ],
)  # fmt: skip
def test_many_classes_and_many_short_texts_get_the_larger_network(
    texts: int, tokens: int, classes: int, size: str
) -> None:
    data = DataSize(texts, texts * tokens, 1000, classes)
    assert resolve(Options(), data).model.size == size
    assert resolve(build_options(size="tiny"), data).model.size == "tiny"
