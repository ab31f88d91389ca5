"""Words to vectors: embeddings with one interface, ids (B, T) -> (B, T, D).

- WeightedCodes (CWC): formula 2 of the paper, a softmax-weighted sum over the codewords of each codebook.
- ChosenCodes (CC): one codeword a codebook. The published code draws its choices at random without a gradient, so its
  codes never learn and its evaluation is stochastic; here they are trained by straight-through Gumbel-softmax (Jang et
  al. 2017; Shu and Nakayama 2018) and evaluation takes the arg max.
- Table: a row a word.
- FixedCodes: one codeword a codebook, chosen once and for all: what compression makes of each of the others.

Each distinct word of a batch is looked up and composed once. With `rowwise` the gradient of codes and table is sparse:
it holds the rows that the batch has touched and nothing else.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.model.noise import Noise, derive, uniform

CHOICE = 102  # what the random numbers of a choice are for


def compose(weights: Tensor, codebooks: Tensor) -> Tensor:
    """Sum over codebooks and codewords of weight times codeword: (U, M, K), (M, K, D) -> (U, D)."""
    return weights.flatten(1) @ codebooks.flatten(0, 1)


def straight_through(logits: Tensor, random: Tensor) -> Tensor:
    """One choice in K, drawn by Gumbel noise from random numbers in (0, 1): (…, K), (…, K) -> one-hot (…, K)."""
    soft = (logits - (-random.log()).log()).softmax(-1)
    # forward picks the arg max, backward sees the softmax
    return one_hot_of_largest(soft) + soft - soft.detach()


def one_hot_of_largest(logits: Tensor) -> Tensor:
    """1 at the largest of K and 0 elsewhere: (…, K) -> (…, K)."""
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


class Codes(nn.Module):
    """Codes of every word and the codebooks they weigh; subclasses say how codes become weights."""

    def __init__(self, vocab_size: int, num_codebooks: int, num_codewords: int, embedding_size: int) -> None:
        super().__init__()
        self.num_codebooks = num_codebooks
        self.rowwise = False
        self.codes = nn.Parameter(torch.empty(vocab_size, num_codebooks * num_codewords))
        self.codebooks = nn.Parameter(torch.empty(num_codebooks, num_codewords, embedding_size))

    @property
    def rows(self) -> nn.Parameter:
        """The parameter with a row a word."""
        return self.codes

    def initialise(self, deviation: float, centred: bool) -> None:
        """Normal codes of this deviation, unit-normal codewords; centred, their mean is zero in each codebook."""
        nn.init.normal_(self.codes, std=deviation)
        nn.init.normal_(self.codebooks)
        if centred:
            # Equal weights then make the zero vector. Otherwise the mean codeword is in every word and drowns what they
            # differ by: the states of two texts start out equal in all but a fortieth part.
            self.codebooks.data -= self.codebooks.data.mean(1, keepdim=True)

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        """What each codeword counts for these words (U,): (U, M, K) -> (U, M, K)."""
        raise NotImplementedError  # of a class that is never built itself

    def forward(self, ids: Tensor, noise: Noise | None = None) -> Tensor:
        words, places = torch.unique(ids, return_inverse=True)  # (U,), (B, T)
        codes = F.embedding(words, self.codes, sparse=self.rowwise)
        codes = codes.view(len(words), self.num_codebooks, -1)  # (U, M, K)
        vectors = compose(self.weights(codes, words, noise), self.codebooks)  # (U, D)
        return F.embedding(places, vectors)  # (B, T, D)


class WeightedCodes(Codes):
    """Compositional weighted coding: every codeword counts, by a softmax over its codebook."""

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        return codes.softmax(-1)


class ChosenCodes(Codes):
    """Compositional coding: one codeword a codebook counts."""

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        if noise is None:
            return one_hot_of_largest(codes)
        # a word's choice is drawn once a step, whatever other words the batch has
        return straight_through(codes, uniform(derive(noise.step, words), CHOICE, codes[0].numel()).view_as(codes))


class Table(nn.Module):
    """The conventional embedding."""

    def __init__(self, vocab_size: int, embedding_size: int) -> None:
        super().__init__()
        self.rowwise = False
        self.table = nn.Parameter(torch.empty(vocab_size, embedding_size))

    @property
    def rows(self) -> nn.Parameter:
        """The parameter with a row a word."""
        return self.table

    def initialise(self, deviation: float, centred: bool) -> None:
        """Normal rows of this standard deviation, which are centred as they are."""
        nn.init.normal_(self.table, std=deviation)

    def forward(self, ids: Tensor, noise: Noise | None = None) -> Tensor:
        words, places = torch.unique(ids, return_inverse=True)
        return F.embedding(places, F.embedding(words, self.table, sparse=self.rowwise))


class FixedCodes(nn.Module):
    """One codeword a codebook; the choices (V, M) stay as they are, the codewords may learn."""

    choices: Tensor

    def __init__(self, choices: Tensor, codebooks: Tensor) -> None:
        super().__init__()
        self.rowwise = False
        self.register_buffer("choices", choices)
        self.codebooks = nn.Parameter(codebooks)  # (M, K, D)

    @property
    def rows(self) -> nn.Parameter:
        """There is no parameter with a row a word; the codewords stand in for it."""
        return self.codebooks

    def initialise(self, deviation: float, centred: bool) -> None:
        """Nothing: it is made from what another embedding has learned."""

    def forward(self, ids: Tensor, noise: Noise | None = None) -> Tensor:
        words, places = torch.unique(ids, return_inverse=True)
        num_codebooks, num_codewords, size = self.codebooks.shape
        rows = self.choices[words] + num_codewords * torch.arange(num_codebooks)  # (U, M)
        vectors = F.embedding_bag(rows, self.codebooks.view(-1, size), mode="sum")  # (U, D)
        return F.embedding(places, vectors)


Embedding = WeightedCodes | ChosenCodes | Table | FixedCodes
