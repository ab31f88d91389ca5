"""Contributions of tokens, primary capsules and codewords to a class, and occlusion, from outputs of the graph."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.model import outputs
from capsulet.results import CapsuleShare, CodewordShare, Contrast, Explanation, TokenContribution
from capsulet.runtime.attribution import Layer, word_contributions
from capsulet.runtime.session import Session
from capsulet.text.batch import pad
from capsulet.text.tokens import encodings

MOST_CODEWORDS, WORDS_EACH = 8, 3
LARGEST_BATCH = 64 * 512  # tokens at once
ALWAYS = outputs.LENGTHS, outputs.NORMS, outputs.COUPLING, outputs.SHARES, outputs.DIRECTIONS, outputs.EMBEDDED


def explain(
    session: Session, layers: Sequence[Layer], text: str, label: str | None, contrast: str | None
) -> Explanation:
    """Explain a label of a text (default: the predicted one), optionally in contrast to another label."""
    labels, (encoding,) = session.config.labels, encodings(session.tokenizer, [text])
    ids, counts = pad(session.encode([text]))
    names = [*ALWAYS, *filter(session.has, (outputs.CODES, outputs.NGRAMS))]
    values = dict(zip(names, session.run(names, ids, counts), strict=True))
    lengths, norms = values[outputs.LENGTHS][0], values[outputs.NORMS][0]
    places = encoding.offsets or [(0, 0)]  # a text without tokens is read as one unknown word
    read_as = session.read_as(ids[0])

    def tokens(contributions: NDArray[np.float64]) -> tuple[TokenContribution, ...]:
        return tuple(
            TokenContribution(text[start:end], start, end, float(contribution), known)
            for (start, end), contribution, known in zip(places, contributions, read_as, strict=True)
        )

    chosen = int(lengths.argmax()) if label is None else labels.index(label)
    against = chosen if contrast is None else labels.index(contrast)
    if contrast is not None and against == chosen:  # the contrast is the label itself: take the next best
        against = int(np.argsort(-lengths, kind="stable")[1])
    pair, pooling = [chosen, against], session.config.options.model.pooling
    (parts,) = word_contributions(values[outputs.EMBEDDED], layers, pooling, values[outputs.DIRECTIONS][:, :, pair])
    ngrams = values[outputs.NGRAMS][0][:, pair] if outputs.NGRAMS in values else None  # (T, 2)
    if ngrams is not None:
        parts += ngrams
    contributions, difference = tokens(parts[:, 0]), tokens(parts[:, 0] - parts[:, 1])
    coupling, shares = values[outputs.COUPLING][0, :, chosen], values[outputs.SHARES][0, :, chosen]  # (N,)
    largest_first = np.argsort(-np.abs(shares), kind="stable")
    other = Contrast(labels[against], float(lengths[against]), float(norms[against]), difference)
    return Explanation(
        labels[chosen], float(lengths[chosen]), float(norms[chosen]), contributions,
        contrast=None if contrast is None else other,
        capsules=tuple(CapsuleShare(int(row), float(coupling[row]), float(shares[row])) for row in largest_first),
        ngrams=0.0 if ngrams is None else float(ngrams[:, 0].sum()),
        codewords=codeword_shares(values[outputs.CODES][0], contributions) if outputs.CODES in values else (),
    )  # fmt: skip


def codeword_shares(codes: NDArray[np.float32], tokens: Sequence[TokenContribution]) -> tuple[CodewordShare, ...]:
    """Codewords that contributed most: codes (T, M, K) have weights that sum to one per codebook."""
    parts = np.array([token.contribution for token in tokens])[:, None, None] * codes / codes.shape[1]  # (T, M, K)
    totals = parts.sum(0)
    order = np.argsort(-np.abs(totals), axis=None, kind="stable")[:MOST_CODEWORDS]
    shares = []
    for place in order:
        codebook, codeword = divmod(int(place), totals.shape[1])
        ranked = np.argsort(-np.abs(parts[:, codebook, codeword]), kind="stable")
        words = dict.fromkeys(tokens[row].text for row in ranked if tokens[row].text)
        shares.append(CodewordShare(codebook, codeword, float(totals[codebook, codeword]), tuple(words)[:WORDS_EACH]))
    return tuple(shares)


def occlusion(session: Session, text: str, place: int, norm: float) -> tuple[float, ...]:
    """How much shorter a class capsule of length `norm` before squash is without each token."""
    (ids,) = session.encode([text])
    # a single token leaves an empty text, which is read as one unknown word
    variants = [np.delete(ids, token) for token in range(len(ids))] if len(ids) > 1 else session.encode([""])
    size = max(1, LARGEST_BATCH // len(ids))
    norms = [
        session.run([outputs.NORMS], *pad(variants[start : start + size]))[0][:, place]
        for start in range(0, len(variants), size)
    ]
    return tuple(float(norm - without) for without in np.concatenate(norms))
