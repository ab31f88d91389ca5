"""Embeddings: words to vectors, ids (B, T) -> (B, T, D).

- WeightedCodes (CWC): formula 2 of the paper, a softmax-weighted sum over the codewords of each codebook.
- ChosenCodes (CC): one codeword per codebook. The published code draws choices at random without a gradient, so its
  codes never learn. Here they are trained by straight-through Gumbel-softmax (Jang et al. 2017; Shu and Nakayama 2018),
  and evaluation takes the arg max.
- Table: one row per word.
- FixedCodes: one fixed codeword per codebook. Compression replaces every other embedding by this one.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.model.noise import Noise, derive, uniform

CHOICE = 102  # purpose of the random numbers of a choice


def straight_through(logits: Tensor, random: Tensor) -> Tensor:
    """Draw one of K by Gumbel noise, from random numbers in (0, 1): (…, K), (…, K) -> one-hot (…, K)."""
    soft = (logits - (-random.log()).log()).softmax(-1)
    # forward picks the arg max, backward sees the softmax
    return one_hot_of_largest(soft) + soft - soft.detach()


def one_hot_of_largest(logits: Tensor) -> Tensor:
    """1 at the largest of K and 0 elsewhere: (…, K) -> (…, K)."""
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


class Embedding(nn.Module):
    """Composes the vector of each distinct word of a batch once."""

    rows_name: str
    rowwise = False  # whether the gradient of `rows` is sparse: only the rows of the words in the batch

    @property
    def rows(self) -> nn.Parameter:
        """The parameter with one row per word; FixedCodes has none and returns the codewords."""
        return self.get_parameter(self.rows_name)

    def initialise(self, deviation: float, centred: bool) -> None:
        """Draw normal rows with this standard deviation; `centred` concerns codebooks."""
        nn.init.normal_(self.rows, std=deviation)

    def vectors(self, words: Tensor, noise: Noise | None) -> Tensor:
        """Vectors of words: (U,) -> (U, D)."""
        raise NotImplementedError

    def forward(self, ids: Tensor, noise: Noise | None = None) -> Tensor:
        words, places = torch.unique(ids, return_inverse=True)  # (U,), (B, T)
        return F.embedding(places, self.vectors(words, noise))  # (B, T, D)


class Codes(Embedding):
    """Codes of all words, and codebooks; subclasses turn codes into weights of codewords."""

    rows_name = "codes"

    def __init__(self, vocab_size: int, num_codebooks: int, num_codewords: int, embedding_size: int) -> None:
        super().__init__()
        self.codes = nn.Parameter(torch.empty(vocab_size, num_codebooks * num_codewords))
        self.codebooks = nn.Parameter(torch.empty(num_codebooks, num_codewords, embedding_size))

    def initialise(self, deviation: float, centred: bool) -> None:
        """Draw normal codes with this standard deviation and unit-normal codewords, centred in each codebook or not."""
        super().initialise(deviation, centred)
        nn.init.normal_(self.codebooks)
        if centred:
            # Equal weights then give the zero vector. Otherwise all words share the mean codeword, which is much larger
            # than their differences: the states of two texts differ by a fortieth at the start.
            self.codebooks.data -= self.codebooks.data.mean(1, keepdim=True)

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        """Weight of each codeword for each word (U,): (U, M, K) -> (U, M, K)."""
        raise NotImplementedError

    def vectors(self, words: Tensor, noise: Noise | None) -> Tensor:
        codes = F.embedding(words, self.codes, sparse=self.rowwise)
        codes = codes.view(len(words), len(self.codebooks), -1)  # (U, M, K)
        return self.weights(codes, words, noise).flatten(1) @ self.codebooks.flatten(0, 1)


class WeightedCodes(Codes):
    """Compositional weighted coding: the weights are a softmax over each codebook."""

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        return codes.softmax(-1)


class ChosenCodes(Codes):
    """Compositional coding: one codeword per codebook has weight 1."""

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        if noise is None:
            return one_hot_of_largest(codes)
        # the choice of a word is drawn once per step and does not depend on the other words of the batch
        return straight_through(codes, uniform(derive(noise.step, words), CHOICE, codes[0].numel()).view_as(codes))


class Table(Embedding):
    """The conventional embedding."""

    rows_name = "table"

    def __init__(self, vocab_size: int, embedding_size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, embedding_size))

    def vectors(self, words: Tensor, noise: Noise | None) -> Tensor:
        return F.embedding(words, self.table, sparse=self.rowwise)


class FixedCodes(Embedding):
    """One codeword per codebook; the choices (V, M) are fixed, the codewords (M, K, D) may learn."""

    rows_name = "codebooks"
    choices: Tensor

    def __init__(self, choices: Tensor, codebooks: Tensor) -> None:
        super().__init__()
        self.register_buffer("choices", choices)
        self.codebooks = nn.Parameter(codebooks)

    def vectors(self, words: Tensor, noise: Noise | None) -> Tensor:
        num_codebooks, num_codewords, size = self.codebooks.shape
        rows = self.choices[words] + num_codewords * torch.arange(num_codebooks)  # (U, M)
        return F.embedding_bag(rows, self.codebooks.view(-1, size), mode="sum")
