"""Convert rows to batches of word ids for the networks among the peers; tokens are those of capsulet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from capsulet.text.batch import Batch, Plan, gather
from capsulet.text.corpus import Corpus
from capsulet.text.numbering import Words
from capsulet.text.tokens import TOKEN
from capsulet.text.vocabulary import PADDING, UNKNOWN, UNKNOWN_ID


def count_words(texts: Sequence[str], min_count: int, max_words: int) -> list[str]:
    """Words that occur at least `min_count` times, most frequent first, ties by spelling."""
    words = Words()
    counts = np.bincount(words.scan(texts, limit=10**9)[0], minlength=1)
    counts[0] = 0  # texts without a word
    ranked = [(-int(counts[number]), words.spelling(number)) for number in np.flatnonzero(counts >= min_count).tolist()]
    return [word for _, word in sorted(ranked)[:max_words]]


def build_tokenizer(words: Sequence[str], max_tokens: int) -> Tokenizer:
    """Build a tokenizer that knows `words` and splits texts as capsulet does."""
    vocabulary = {word: index for index, word in enumerate([PADDING, UNKNOWN, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(Regex(TOKEN), behavior="removed", invert=True)  # inverted: keep what matches
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[NDArray[np.int32]]:
    """Ids of each text; a text without tokens is one unknown word."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [np.array(encoding.ids or [UNKNOWN_ID], np.int32) for encoding in encodings]


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
