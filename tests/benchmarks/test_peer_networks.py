"""Region embeddings against loops, and networks against their own padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmarks.peers import dpcnn, region, ulmfit
from benchmarks.peers.awd_lstm import WeightDropLSTM, locked_dropout

TEXTS, PLACES, REGION, SIZE = 3, 7, 5, 4
LENGTHS = torch.tensor([7, 1, 4])


def slow_regions(kind: str, embedded: Tensor, units: Tensor) -> Tensor:
    """The paper's formulas, number by number."""
    found = torch.zeros(TEXTS, PLACES, SIZE)
    around = REGION // 2
    for text in range(TEXTS):
        length = int(LENGTHS[text])
        for middle in range(length):
            for dimension in range(SIZE):
                values = []
                for shift in range(-around, around + 1):
                    other = middle + shift
                    if not 0 <= other < length:
                        continue
                    if kind == "word-context":  # K_{w_i, t} of the middle word, e of the other
                        value = units[text, middle, around + shift, dimension] * embedded[text, other, dimension]
                    else:  # K_{w_{i+t}, -t} of the other word, e of the middle
                        value = units[text, other, around - shift, dimension] * embedded[text, middle, dimension]
                    values.append(float(value))
                found[text, middle, dimension] = max(values)
    return found


@pytest.mark.parametrize("kind", region.KINDS)
def test_regions_are_those_of_the_loop(kind: str) -> None:
    torch.manual_seed(1)
    embedded, units = torch.randn(TEXTS, PLACES, SIZE), torch.randn(TEXTS, PLACES, REGION, SIZE)
    products = region.word_context if kind == "word-context" else region.context_word
    found = region.regions(products(embedded, units), LENGTHS)
    torch.testing.assert_close(found, slow_regions(kind, embedded, units))


def test_the_two_kinds_differ() -> None:
    embedded, units = torch.randn(TEXTS, PLACES, SIZE), torch.randn(TEXTS, PLACES, REGION, SIZE)
    assert not torch.allclose(region.word_context(embedded, units), region.context_word(embedded, units))


@pytest.mark.parametrize(
    "network",
    [
        region.RegionEmbedding(20, 3, "word-context", 8, 5, 0.5),
        region.RegionEmbedding(20, 3, "context-word", 8, 5, 0.5),
        dpcnn.DPCNN(20, 3, 8, 4, 0.5),
        ulmfit.Classifier(20, 3, 8, 12, 3),
    ],
    ids=["word-context", "context-word", "dpcnn", "ulmfit"],
)
def test_padding_changes_nothing(network: torch.nn.Module) -> None:
    network.eval()
    ids = torch.randint(2, 20, (1, 6))
    padded = torch.nn.functional.pad(ids, (0, 11), value=7)  # any word at all behind the end
    with torch.no_grad():
        alone, beside = network(ids, torch.tensor([6])), network(padded, torch.tensor([6]))
    torch.testing.assert_close(alone, beside)


def test_pooling_halves_and_looks_at_three_places() -> None:
    states = torch.tensor([[[1.0, 5.0, 2.0, 0.0, 9.0, 3.0]]])  # (1, 1, 6)
    pooled, lengths = dpcnn.halve(states, torch.tensor([6]))
    assert pooled.tolist() == [[[5.0, 9.0, 9.0]]]
    assert lengths.tolist() == [3]
    pooled, lengths = dpcnn.halve(-states, torch.tensor([3]))  # what lies behind the third place does not count
    assert pooled.tolist() == [[[-1.0, -2.0, 0.0]]]
    assert lengths.tolist() == [2]


def test_concat_pooling_takes_last_maximum_and_mean() -> None:
    states = torch.tensor([[[1.0], [4.0], [3.0], [99.0]]])
    assert ulmfit.concat_pool(states, torch.tensor([3])).tolist() == [[3.0, 4.0, pytest.approx(8 / 3)]]


def test_slanted_triangle_rises_briefly_and_falls_long() -> None:
    rates = [ulmfit.slanted_triangle(step, 100) for step in range(101)]
    assert rates[0] == rates[100] == pytest.approx(1 / ulmfit.RATIO)
    assert max(rates) == rates[10] == 1.0
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_weight_drop_drops_recurrent_weights_in_training_only() -> None:
    torch.manual_seed(1)
    layer = WeightDropLSTM(3, 4)
    inputs = torch.randn(2, 5, 3)
    layer.eval()
    still = layer(inputs, None, 0.5)[0]
    torch.testing.assert_close(still, layer(inputs, None, 0.0)[0])
    layer.train()
    assert not torch.allclose(still, layer(inputs, None, 0.5)[0])
    torch.testing.assert_close(still[:, 0], layer(inputs, None, 0.5)[0][:, 0])  # the first place has no past
    assert {name for name, _ in layer.named_parameters()} == {
        "recurrent", "lstm.weight_ih_l0", "lstm.bias_ih_l0", "lstm.bias_hh_l0",
    }  # fmt: skip
    layer(inputs, None, 0.5)[0].sum().backward()
    assert layer.recurrent.grad is not None


def test_locked_dropout_drops_the_same_at_every_place() -> None:
    dropped = locked_dropout(torch.ones(4, 6, 50), 0.5, training=True)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(locked_dropout(dropped, 0.5, training=False), dropped)


def test_the_language_model_reads_every_word_once() -> None:
    import numpy as np

    from capsulet.text.corpus import Corpus

    corpus = Corpus(np.arange(2, 32, dtype=np.int32), np.array([0, 10, 13, 30]), np.zeros(3, np.int64))
    seen: list[int] = []
    for ids, targets in ulmfit.windows(corpus, 2, 5, np.random.default_rng(1)):
        assert ids.shape == targets.shape
        assert torch.equal(ids[:, 1:], targets[:, :-1])  # the target of a word is the next
        seen += ids.flatten().tolist()
    assert len(seen) == 32  # 30 words and 3 ends, less what does not fill two streams
    assert len(set(seen) - {ulmfit.END_ID}) >= 29
