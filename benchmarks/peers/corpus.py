"""Convert rows to batches of word ids for the networks among the peers; tokens are those of capsulet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer

from capsulet.text.batch import Batch, Plan, gather
from capsulet.text.corpus import Corpus
from capsulet.text.numbering import Words
from capsulet.text.tokens import encode


def count_words(texts: Sequence[str], min_count: int, max_words: int) -> list[str]:
    """Words that occur at least `min_count` times, most frequent first, ties by spelling."""
    words = Words()
    counts = np.bincount(words.scan(texts, limit=10**9)[0], minlength=1)
    counts[0] = 0  # texts without a word
    ranked = [(-int(counts[number]), words.spelling(number)) for number in np.flatnonzero(counts >= min_count).tolist()]
    return [word for _, word in sorted(ranked)[:max_words]]


def build_corpus(tokenizer: Tokenizer, texts: Sequence[str], targets: Sequence[int]) -> Corpus:
    """Tokenise texts and return them as a corpus with their classes."""
    encoded = encode(tokenizer, texts)
    starts = np.concatenate([[0], np.cumsum([len(ids) for ids in encoded], dtype=np.int64)])
    return Corpus(np.concatenate([np.zeros(0, np.int32), *encoded]), starts, np.asarray(targets, np.int32))


def training_batches(corpus: Corpus, batch_size: int, generator: np.random.Generator) -> Iterator[Batch]:
    """Yield every text once, in random batches of similar length."""
    plan = Plan(corpus, batch_size, generator)
    for step in range(len(plan)):
        yield gather(corpus, plan[step])
