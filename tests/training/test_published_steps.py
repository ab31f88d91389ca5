"""Training steps of the recipe `published` against the computation of the paper's public code, in plain torch.

The texts are equally long, so padding plays no part, and nothing is dropped.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.config import build_options
from capsulet.model.losses import Variants
from capsulet.model.network import Network, build_network, initialise
from capsulet.model.noise import step_noise
from capsulet.text.batch import Batch
from capsulet.training.loop import Objective, backward
from capsulet.training.optimiser import Optimiser, learning_rate_factor

WORDS, CLASSES, TEXTS, TOKENS, STEPS = 30, 4, 6, 7, 10
SMALL = {"hidden_size": 16, "embedding_size": 6, "num_codebooks": 2, "primary_length": 4, "class_length": 5}


def squashed(capsules: Tensor) -> Tensor:
    length = capsules.norm(dim=-1, keepdim=True)
    return capsules * length / (1 + length**2)


def routed(votes: Tensor, kind: str) -> Tensor:
    """Class capsules (B, C, L) of votes (B, C, N, L), three iterations."""
    if kind == "kmeans":
        centre = votes.sum(2, keepdim=True) / CLASSES
        for _ in range(3):
            agreement = (votes * F.normalize(centre, dim=-1)).sum(-1, keepdim=True)
            centre = (agreement.softmax(1) * votes).sum(2, keepdim=True)
        return squashed(centre).squeeze(2)
    logits = torch.zeros_like(votes)
    for iteration in range(3):
        capsules = (logits.softmax(1) * votes).sum(2, keepdim=True)
        if iteration < 2:
            logits = logits + (votes * squashed(capsules)).sum(-1, keepdim=True)
    return squashed(capsules).squeeze(2)


class Code:
    """The network with its loss and optimiser; it starts from the parameters of ours."""

    def __init__(self, network: Network, embedding: str, head: str, routing: str) -> None:
        self.kind, self.routing = head, routing
        self.embedding = [one.detach().clone().requires_grad_() for one in network.embedding.parameters()]
        self.gru = nn.GRU(6, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.gru.load_state_dict(network.encoder.gru.state_dict())
        (weight,) = (one.detach().clone() for one in network.head.parameters())
        if head == "capsule":
            weight = weight.permute(2, 0, 3, 1).contiguous()  # (N, P, C, L) -> (C, N, L, P)
        self.head = weight.requires_grad_()
        slow = [*self.embedding, *self.gru.parameters()]
        self.adam = torch.optim.Adam([{"params": slow, "lr": 0.001}, {"params": [self.head], "lr": 0.0001}])
        self.falls = torch.optim.lr_scheduler.MultiStepLR(self.adam, [5, 7], 0.1)

    def scores(self, ids: Tensor) -> Tensor:
        if len(self.embedding) == 1:
            words = F.embedding(ids, self.embedding[0])
        else:
            codes, books = self.embedding
            shares = codes[ids].unflatten(-1, (2, -1)).softmax(-1)  # (B, T, M, K)
            words = torch.einsum("btmk,mkd->btd", shares, books)
        states, _ = self.gru(words)
        pooled = (states[..., :16] + states[..., 16:]).mean(1)
        if self.kind == "linear":
            return pooled @ self.head.T
        votes = torch.einsum("cnlp,bnp->bcnl", self.head, pooled.unflatten(1, (4, 4)))
        return routed(votes, self.routing).norm(dim=-1)

    def step(self, ids: Tensor, targets: Tensor) -> float:
        scores, present = self.scores(ids), F.one_hot(targets, CLASSES)
        short, long = F.relu(0.9 - scores) ** 2, F.relu(scores - 0.1) ** 2
        margin = (present * short + 0.5 * (1 - present) * long).sum(-1).mean()
        log_share = F.log_softmax(scores, -1).gather(-1, targets.unsqueeze(1))
        focal = (-0.25 * (1 - log_share.exp()) ** 2 * log_share).mean()
        self.adam.zero_grad()
        (margin + focal).backward()
        self.adam.step()
        self.falls.step()  # an epoch is one step here
        return (margin + focal).item()


@pytest.mark.parametrize(
    ("embedding", "head", "routing"),
    [("plain", "linear", "kmeans"), ("cwc", "capsule", "kmeans"), ("cwc", "capsule", "dynamic")],
)
def test_ten_steps_end_at_the_same_parameters(embedding: str, head: str, routing: str) -> None:
    options = build_options("published", embedding=embedding, head=head, routing=routing, **SMALL)
    training = options.training
    network = build_network(options.model, WORDS, CLASSES, dropout=0.0)
    initialise(
        network, 3, training.code_deviation, training.transform_scale, training.centre_codebooks, training.transforms
    )
    code, optimiser = Code(network, embedding, head, routing), Optimiser(network, training)
    variants = Variants(training.sum_margin, training.focal, training.linear_margin)
    objective, dice = Objective(training.loss, variants, None, 0.0), np.random.default_rng(1)
    for step in range(STEPS):
        ids, targets = dice.integers(2, WORDS, (TEXTS, TOKENS)), dice.integers(0, CLASSES, TEXTS)
        batch = Batch(ids, np.full(TEXTS, TOKENS), targets)
        optimiser.zero()
        loss = backward(network, batch, step_noise(1, step, torch.arange(TEXTS)), objective, 1.0)
        optimiser.clip()
        optimiser.step(learning_rate_factor(training.schedule, training.warmup, step, STEPS))
        assert loss == pytest.approx(code.step(torch.from_numpy(ids), torch.from_numpy(targets)), rel=1e-5)
    for ours, theirs in zip(network.embedding.parameters(), code.embedding, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)
    for ours, theirs in zip(network.encoder.gru.parameters(), code.gru.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)
    weight = next(network.head.parameters())
    weight = weight.permute(2, 0, 3, 1) if head == "capsule" else weight
    torch.testing.assert_close(weight, code.head, atol=2e-5, rtol=1e-4)
