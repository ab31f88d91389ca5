"""Contributions of tokens, primary capsules and codewords to a class, from the graph's own outputs; and occlusion."""

from __future__ import annotations

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
ALWAYS = (
    outputs.LENGTHS, outputs.NORMS, outputs.COUPLING, outputs.SHARES, outputs.DIRECTIONS, outputs.EMBEDDED,
)  # fmt: skip


def explain(
    session: Session,
    layers: Sequence[Layer],
    text: str,
    labels: Sequence[str],
    label: str | None,
    contrast: str | None,
) -> Explanation:
    """Explain a label of a text (default: the predicted one), optionally in contrast to another label."""
    (encoding,) = encodings(session.tokenizer, [text])
    ids, counts = pad(session.encode([text]))
    names = [*ALWAYS, *(name for name in (outputs.CODES, outputs.NGRAMS) if session.has(name))]
    values = dict(zip(names, session.run(names, ids, counts), strict=True))
    lengths, norms = values[outputs.LENGTHS][0], values[outputs.NORMS][0]
    ngrams = values[outputs.NGRAMS][0] if outputs.NGRAMS in values else None  # (T, C)
    chosen = int(lengths.argmax()) if label is None else labels.index(label)
    places = encoding.offsets or [(0, 0)]  # a text without tokens is read as one unknown word

    read_as = session.read_as(ids[0])

    def tokens(values: NDArray[np.float64]) -> tuple[TokenContribution, ...]:
        return tuple(
            TokenContribution(text[start:end], start, end, float(share), known)
            for (start, end), share, known in zip(places, values, read_as, strict=True)
        )

    against, other = None, chosen
    if contrast is not None:
        other = labels.index(contrast)
        if other == chosen:  # the contrast is the label itself: take the next best
            other = int(np.argsort(-lengths, kind="stable")[1])
    directions = values[outputs.DIRECTIONS][:, :, [chosen, other]]
    (parts,) = word_contributions(
        values[outputs.EMBEDDED], layers, session.config.options.model.pooling, directions
    )  # (T, 2)
    if ngrams is not None:
        parts += ngrams[:, [chosen, other]]
    if contrast is not None:
        against = Contrast(labels[other], float(lengths[other]), float(norms[other]), tokens(parts[:, 0] - parts[:, 1]))
    given = tokens(parts[:, 0])
    return Explanation(
        labels[chosen],
        float(lengths[chosen]),
        float(norms[chosen]),
        given,
        contrast=against,
        capsules=capsule_shares(values[outputs.COUPLING][0, :, chosen], values[outputs.SHARES][0, :, chosen]),
        ngrams=0.0 if ngrams is None else float(ngrams[:, chosen].sum()),
        codewords=codeword_shares(values[outputs.CODES][0], given) if outputs.CODES in values else (),
    )


def encoder_layers(session: Session) -> list[Layer]:
    """Weights of the encoder, which are outputs of the graph."""
    one_word = np.zeros((1, 1), np.int64), np.ones(1, np.int64)
    layers: list[Layer] = []
    while session.has(outputs.encoder_output(len(layers), outputs.ENCODER_KINDS[0])):
        names = [outputs.encoder_output(len(layers), kind) for kind in outputs.ENCODER_KINDS]
        layers.append(Layer(*session.run(names, *one_word)))
    return layers


def capsule_shares(coupling: NDArray[np.float32], shares: NDArray[np.float32]) -> tuple[CapsuleShare, ...]:
    """Contribution of each primary capsule, largest first: coupling (N,), shares (N,)."""
    order = np.argsort(-np.abs(shares), kind="stable")
    return tuple(CapsuleShare(int(place), float(coupling[place]), float(shares[place])) for place in order)


def codeword_shares(codes: NDArray[np.float32], tokens: Sequence[TokenContribution]) -> tuple[CodewordShare, ...]:
    """Codewords that contributed most: codes (T, M, K) have weights that sum to one per codebook."""
    given = np.array([token.contribution for token in tokens])[:, None, None] * codes / codes.shape[1]  # (T, M, K)
    totals = given.sum(0)
    order = np.argsort(-np.abs(totals), axis=None, kind="stable")[:MOST_CODEWORDS]
    shares = []
    for place in order:
        codebook, codeword = divmod(int(place), totals.shape[1])
        ranked = np.argsort(-np.abs(given[:, codebook, codeword]), kind="stable")
        words = dict.fromkeys(tokens[row].text for row in ranked if tokens[row].text)
        shares.append(CodewordShare(codebook, codeword, float(totals[codebook, codeword]), tuple(words)[:WORDS_EACH]))
    return tuple(shares)


def occlusion(session: Session, text: str, place: int, norm: float) -> tuple[float, ...]:
    """Loss of the length of a class capsule before squash without each token."""
    (ids,) = session.encode([text])
    # a single token leaves an empty text, which is read as one unknown word
    variants = [np.delete(ids, token) for token in range(len(ids))] if len(ids) > 1 else session.encode([""])
    size = max(1, LARGEST_BATCH // len(ids))
    norms = [
        session.run([outputs.NORMS], *pad(variants[start : start + size]))[0][:, place]
        for start in range(0, len(variants), size)
    ]
    return tuple(float(norm - without) for without in np.concatenate(norms))
