"""Embeddings: words to vectors, ids (B, T) -> (B, T, D).

- WeightedCodes (CWC): formula 2 of the paper, a softmax-weighted sum over the codewords of each codebook.
- ChosenCodes (CC): one codeword per codebook. The published code takes the largest of the mean of 10 to 50 draws,
  without a gradient, so its codes never learn. Here they are trained by straight-through Gumbel-softmax (Jang et al.
  2017; Shu and Nakayama 2018), and evaluation takes the arg max.
- Table: one row per word.
- FixedCodes: one fixed codeword per codebook. Compression replaces every other embedding by this one.

The row of a word may be its own row plus the mean of the rows of its pieces, the hashed character n-grams of the word
(Bojanowski et al. 2017, arXiv:1607.04606). A word that is not in the vocabulary then has the mean of its pieces.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from capsulet.model.noise import Noise, derive, uniform
from capsulet.model.rows import WordRows, composed_rows, torch_composed_rows
from capsulet.native import core_module
from capsulet.text.corpus import Spellings
from capsulet.text.vocabulary import UNKNOWN_ID

# purposes of random numbers: the choice of codewords, and the choice of words that are read by their pieces only
CHOICE, OWN_ROW = 102, 103
WITHOUT_OWN_ROW = 0.2  # share of the words of a batch that are read by their pieces only, as unknown words are


def straight_through(logits: Tensor, random: Tensor) -> Tensor:
    """Draw one of K by Gumbel noise, from random numbers in (0, 1): (…, K), (…, K) -> one-hot (…, K)."""
    soft = (logits - (-random.log()).log()).softmax(-1)
    # forward picks the arg max, backward sees the softmax
    return one_hot_of_largest(soft) + soft - soft.detach()


def largest_of_draws(logits: Tensor, random: Tensor) -> Tensor:
    """Choose the largest of the mean of R soft draws, without a gradient: (…, K), (R, …, K) -> one-hot (…, K)."""
    with torch.no_grad():
        return one_hot_of_largest((logits - (-random.log()).log()).softmax(-1).mean(0))


def one_hot_of_largest(logits: Tensor) -> Tensor:
    """1 at the largest of K and 0 elsewhere: (…, K) -> (…, K)."""
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)


class Pieces(NamedTuple):
    """Where the rows of pieces are in a table: `rows` of them, behind the rows of the V words."""

    vocab_size: int
    rows: int
    longest: int  # characters of the longest piece
    spellings: Spellings  # of the words of the corpora


class Embedding(nn.Module):
    """Composes the vector of each distinct word of a batch once."""

    rows_name: str
    rowwise = False  # whether the gradient of `rows` is sparse: only the rows of the words in the batch
    pieces: Pieces | None = None

    @property
    def rows(self) -> nn.Parameter:
        """The parameter with one row per word; FixedCodes has none and returns the codewords."""
        return self.get_parameter(self.rows_name)

    def rows_of(self, words: Tensor, noise: Noise | None) -> Tensor:
        """Rows of words: (U,) -> (U, W)."""
        places = self.places_of(words, noise)
        if self.rowwise:
            return composed_rows(self.rows, places)
        return torch_composed_rows(self.rows, places, sparse=False)

    def places_of(self, words: Tensor, noise: Noise | None) -> WordRows:
        """Which rows of the table words (U,) read; in training, some words are read by their pieces only."""
        if self.pieces is None:
            none = words.new_zeros(len(words) + 1)
            return WordRows(words, torch.ones_like(words, dtype=torch.bool), none, none[:0])
        starts, rows = (part.to(words.device) for part in piece_rows(self.pieces, words))
        known = words < self.pieces.vocab_size
        own = words.where(known, UNKNOWN_ID)
        if noise is not None:
            known &= uniform(derive(noise.step, words), OWN_ROW, 1)[:, 0] >= WITHOUT_OWN_ROW
        known |= starts.diff() == 0  # without pieces, such as padding: the own row, or that of the unknown word
        return WordRows(own, known, starts, rows)

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
        codes = self.rows_of(words, noise)
        codes = codes.view(len(words), len(self.codebooks), -1)  # (U, M, K)
        return self.weights(codes, words, noise).flatten(1) @ self.codebooks.flatten(0, 1)


class WeightedCodes(Codes):
    """Compositional weighted coding: the weights are a softmax over each codebook."""

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        return codes.softmax(-1)


class ChosenCodes(Codes):
    """Compositional coding: one codeword per codebook has weight 1."""

    draws = 1  # of a choice in training; with two or more, no gradient reaches the codes

    def weights(self, codes: Tensor, words: Tensor, noise: Noise | None) -> Tensor:
        if noise is None:
            return one_hot_of_largest(codes)
        # the choice of a word is drawn once per step and does not depend on the other words of the batch
        random = uniform(derive(noise.step, words), CHOICE, self.draws * codes[0].numel())  # (U, R M K)
        if self.draws > 1:
            return largest_of_draws(codes, random.view(len(codes), self.draws, *codes.shape[1:]).transpose(0, 1))
        return straight_through(codes, random.view_as(codes))


class Table(Embedding):
    """The conventional embedding: one row per word."""

    rows_name = "table"

    def __init__(self, vocab_size: int, embedding_size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, embedding_size))

    def vectors(self, words: Tensor, noise: Noise | None) -> Tensor:
        return self.rows_of(words, noise)


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


def piece_rows(pieces: Pieces, words: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the pieces of words (U,), one word after the other, and where each word starts among them (U + 1,)."""
    numbers, spellings = np.ascontiguousarray(words.cpu().numpy()), pieces.spellings
    addresses = (array.ctypes.data for array in (spellings.letters, spellings.ends))
    starts, rows = core_module().piece_rows(numbers.ctypes.data, len(numbers), *addresses, pieces.longest, pieces.rows)
    return integers(starts), pieces.vocab_size + integers(rows)


def integers(data: bytes) -> Tensor:
    """Bytes as a tensor of 64-bit integers."""
    return torch.frombuffer(bytearray(data), dtype=torch.int64) if data else torch.zeros(0, dtype=torch.int64)


def folded(rows: NDArray[np.float32], pieces: Pieces) -> tuple[NDArray[np.float32], NDArray[np.float16]]:
    """Split rows of a table: rows of the words (V, W) with the mean of their pieces added, and rows of the pieces."""
    starts, places = piece_rows(pieces, torch.arange(pieces.vocab_size))
    summed = F.embedding_bag(places, torch.from_numpy(rows), starts[:-1], mode="sum")
    means = (summed / starts.diff().clamp(min=1).unsqueeze(1)).numpy()
    return rows[: pieces.vocab_size] + means, rows[pieces.vocab_size :].astype(np.float16)
