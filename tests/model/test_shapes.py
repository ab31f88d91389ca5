"""The paper's parameter table, all 48 cells, counted without allocating and by building the networks."""

from __future__ import annotations

import json

import pytest
import torch

from capsulet.automatic import resolve_model, smallest_num_codewords
from capsulet.cli.main import main
from capsulet.config import ModelOptions, build_options
from capsulet.model.network import build_network
from capsulet.model.shapes import num_parameters, parameter_shapes

# data set: (classes, words), from the paper's table of data sets
DATA_SETS = {
    "AG": (4, 62_535), "DBP": (14, 548_338), "Yah.A": (10, 771_820), "Sogou": (5, 106_385),
    "Yelp.P": (2, 200_790), "Yelp.F": (5, 216_985), "Amz.P": (2, 931_271), "Amz.F": (5, 835_818),
}  # fmt: skip
# millions of parameters, from the paper's table "Ablation studies for the components", columns in the order above
MILLIONS = {
    ("plain", "linear"): (4.45, 35.54, 49.84, 7.25, 13.30, 14.33, 60.05, 53.94),
    ("cc", "linear"): (2.45, 26.77, 37.50, 4.70, 8.48, 9.13, 45.15, 40.57),
    ("cwc", "linear"): (2.45, 26.77, 37.50, 4.70, 8.48, 9.13, 45.15, 40.57),
    ("plain", "capsule"): (4.46, 35.57, 49.86, 7.26, 13.30, 14.34, 60.05, 53.95),
    ("cc", "capsule"): (2.46, 26.80, 37.52, 4.71, 8.48, 9.14, 45.15, 40.58),
    ("cwc", "capsule"): (2.46, 26.80, 37.52, 4.71, 8.48, 9.14, 45.15, 40.58),
}
CELLS = [
    (embedding, head, name, millions)
    for (embedding, head), row in MILLIONS.items()
    for name, millions in zip(DATA_SETS, row, strict=True)
]


def test_there_are_48_cells() -> None:
    assert len(CELLS) == 48


@pytest.mark.parametrize(("embedding", "head", "name", "millions"), CELLS)
def test_the_papers_cell(embedding, head, name, millions) -> None:
    num_classes, vocab_size = DATA_SETS[name]
    options = build_options("paper", embedding=embedding, head=head).model
    counted = num_parameters(parameter_shapes(options, vocab_size, num_classes))
    assert f"{counted / 1e6:.2f}" == f"{millions:.2f}"
    with torch.device("meta"):  # parameters without memory
        network = build_network(options, vocab_size, num_classes)
    assert sum(parameter.numel() for parameter in network.parameters()) == counted


def test_info_prints_the_exact_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--vocab-size", "62535", "--classes", "4", "--json"]) == 0
    # 62535 words x 8 codebooks x 4 codewords, 8 x 4 x 64 codebooks, the GRU, 16 x 8 x 4 x 16 transforms
    assert json.loads(capsys.readouterr().out)["parameters"] == 2_001_120 + 2_048 + 445_440 + 8_192


@pytest.mark.parametrize("embedding", ["cwc", "cc", "plain"])
@pytest.mark.parametrize("head", ["capsule", "linear"])
def test_shapes_are_those_of_the_network(embedding, head) -> None:
    options = ModelOptions(embedding=embedding, head=head, num_layers=3, hidden_size=24, num_codewords=7)
    network = build_network(options, 50, 6)
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    assert shapes == parameter_shapes(options, 50, 6)


@pytest.mark.parametrize("codebooks", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("base", [1, 2, 3, 4, 5, 6, 7, 10])
def test_codewords_at_exact_powers(base, codebooks) -> None:
    power = base**codebooks
    assert smallest_num_codewords(power, codebooks) == base
    assert smallest_num_codewords(power + 1, codebooks) == base + 1


def test_codewords_asked_for_win() -> None:
    assert resolve_model(ModelOptions(num_codewords=32), 62_535, 4).num_codewords == 32
    assert resolve_model(ModelOptions(num_codewords=None), 62_535, 4).num_codewords == 4
