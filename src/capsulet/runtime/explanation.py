"""What tokens, primary capsules and codewords gave to a class, from the graph's own arithmetic; and occlusion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capsulet.results import CapsuleShare, CodewordShare, Contrast, Explanation, TokenContribution
from capsulet.runtime.attribution import Layer, word_contributions
from capsulet.runtime.session import Session
from capsulet.storage.model_config import pooling_of
from capsulet.text.batch import pad
from capsulet.text.tokens import encodings

MOST_CODEWORDS, WORDS_EACH = 8, 3
LARGEST_BATCH = 64 * 512  # tokens at once


def explain(
    session: Session,
    layers: Sequence[Layer],
    text: str,
    labels: Sequence[str],
    label: str | None,
    contrast: str | None,
) -> Explanation:
    """Why a text gets a label (default: the predicted one), and why not another."""
    (encoding,) = encodings(session.tokenizer, [text])
    ids, counts = pad(session.encode([text]))
    more = [name for name in ("shares", "codes", "directions", "embedded", "ngrams") if session.has(name)]
    names = ["lengths", "norms", "contributions", "coupling", *more]
    found = dict(zip(names, session.run(names, ids, counts), strict=True))
    lengths, norms, contributions = (found[name][0] for name in names[:3])
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
        if other == chosen:  # the predicted label: what speaks against the next best
            other = int(np.argsort(-lengths, kind="stable")[1])
    if layers:
        directions = found["directions"][:, :, [chosen, other]]
        (parts,) = word_contributions(found["embedded"], layers, pooling_of(session.config), directions)  # (T, 2)
        if "ngrams" in found:
            parts += found["ngrams"][0][:, [chosen, other]]
    else:  # a graph from before: shares of the states
        parts = contributions[:, [chosen, other]].astype(np.float64)
    if contrast is not None:
        against = Contrast(labels[other], float(lengths[other]), float(norms[other]), tokens(parts[:, 0] - parts[:, 1]))
    given = tokens(parts[:, 0])
    return Explanation(
        labels[chosen],
        float(lengths[chosen]),
        float(norms[chosen]),
        given,
        contrast=against,
        capsules=capsule_shares(found["coupling"][0, :, chosen], found["shares"][0, :, chosen])
        if "shares" in found
        else (),
        ngrams=float(found["ngrams"][0, :, chosen].sum()) if "ngrams" in found else 0.0,
        codewords=codeword_shares(found["codes"][0], given) if "codes" in found else (),
    )


def encoder_layers(session: Session) -> list[Layer]:
    """The weights of the encoder, which the graph gives as outputs; a graph from before gives none."""
    names = sorted(node.name for node in session.graph.get_outputs() if node.name.startswith("gru"))
    if not names:
        return []
    one_word = np.zeros((1, 1), np.int64), np.ones(1, np.int64)
    found = dict(zip(names, session.run(names, *one_word), strict=True))
    return [
        Layer(*(found[f"gru{number}_{kind}"] for kind in ("input", "recurrent", "bias")))
        for number in range(len(names) // 3)
    ]


def capsule_shares(coupling: NDArray[np.float32], shares: NDArray[np.float32]) -> tuple[CapsuleShare, ...]:
    """Each primary capsule's part, the largest first: (N,), (N,)."""
    order = np.argsort(-np.abs(shares), kind="stable")
    return tuple(CapsuleShare(int(place), float(coupling[place]), float(shares[place])) for place in order)


def codeword_shares(codes: NDArray[np.float32], tokens: Sequence[TokenContribution]) -> tuple[CodewordShare, ...]:
    """The codewords that carried most: codes (T, M, K), whose weights add up to one in each of M codebooks."""
    given = np.array([token.contribution for token in tokens])[:, None, None] * codes / codes.shape[1]  # (T, M, K)
    totals = given.sum(0)
    order = np.argsort(-np.abs(totals), axis=None, kind="stable")[:MOST_CODEWORDS]
    found = []
    for place in order:
        codebook, codeword = divmod(int(place), totals.shape[1])
        ranked = np.argsort(-np.abs(given[:, codebook, codeword]), kind="stable")
        words = dict.fromkeys(tokens[row].text for row in ranked if tokens[row].text)
        found.append(CodewordShare(codebook, codeword, float(totals[codebook, codeword]), tuple(words)[:WORDS_EACH]))
    return tuple(found)


def occlusion(session: Session, text: str, place: int, norm: float) -> tuple[float, ...]:
    """How much shorter the capsule of a class is, before squash, without each of the tokens."""
    (ids,) = session.encode([text])
    # if nothing is left: a text without words is read as one unknown word
    variants = [np.delete(ids, token) for token in range(len(ids))] if len(ids) > 1 else session.encode([""])
    size = max(1, LARGEST_BATCH // len(ids))
    norms = [
        session.run(["norms"], *pad(variants[start : start + size]))[0][:, place]
        for start in range(0, len(variants), size)
    ]
    return tuple(float(norm - without) for without in np.concatenate(norms))
