"""Contributions of tokens, primary capsules and codewords to a class, and occlusion."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from capsulet.results import CapsuleShare, CodewordShare, Contrast, Explanation, TokenContribution
from capsulet.runtime.session import Session

MOST_CODEWORDS, WORDS_EACH = 8, 3  # codewords that are listed, and words listed for each


def explain(session: Session, text: str, label: str | None, contrast: str | None, spelled: bool = False) -> Explanation:
    """Explain a label of a text (default: the predicted one), optionally in contrast to another label."""
    labels, tokens = session.config.labels, session.tokens(text, spelled)
    ids = [number for number, _, _ in tokens]
    lengths = session.classify([text], spelled)[0][0].tolist() if label is None or contrast is not None else []
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    chosen = by_length[0] if label is None else labels.index(label)
    against = chosen if contrast is None else labels.index(contrast)
    if contrast is not None and against == chosen:  # the contrast is the label itself: take the next best
        against = by_length[1]
    parts = session.explain(text, [chosen] if contrast is None else [chosen, against], spelled)

    known = read_as(session, ids)

    def described(contributions: Sequence[float]) -> tuple[TokenContribution, ...]:
        return tuple(
            TokenContribution(text[start:end], start, end, contribution, word)
            for (_, start, end), contribution, word in zip(tokens, contributions, known, strict=True)
        )

    rows, probabilities = parts.contributions.tolist(), session.probabilities(parts.lengths)
    contributions = described([row[0] for row in rows])
    other = None
    if contrast is not None:
        differences = described([row[0] - row[1] for row in rows])
        probability, length, norm = (part[0][against] for part in (probabilities, parts.lengths, parts.norms))
        other = Contrast(labels[against], probability, length, norm, differences)
    shares, coupling = ([row[0] for row in part.tolist()] for part in (parts.shares, parts.coupling))
    largest_first = sorted(range(len(shares)), key=lambda row: -abs(shares[row]))
    return Explanation(
        labels[chosen], probabilities[0][chosen], parts.lengths[0][chosen], parts.norms[0][chosen], contributions,
        contrast=other, text=text,
        capsules=tuple(CapsuleShare(row, coupling[row], shares[row]) for row in largest_first if session.has_network),
        ngrams=sum(row[0] for row in parts.ngrams.tolist()),
        codewords=codeword_shares(session, ids, contributions) if session.codes else (),
    )  # fmt: skip


def read_as(session: Session, ids: Sequence[int]) -> list[str | None]:
    """The known word that each unknown word is read as; None for every other id."""
    word_ids = session.word_ids
    return [session.word(word_ids.read_as(number)) if word_ids.is_similar(number) else None for number in ids]


def codeword_shares(
    session: Session, ids: Sequence[int], tokens: Sequence[TokenContribution]
) -> tuple[CodewordShare, ...]:
    """Codewords that contributed most; the weights of the codewords of a word sum to one per codebook."""
    weights = {number: session.code_weights(number).tolist() for number in set(ids)}
    factors = [token.contribution / session.codebooks for token in tokens]
    parts = [list(map(mul, factors, column)) for column in zip(*map(weights.__getitem__, ids), strict=True)]
    totals = list(map(sum, parts))
    order, shares = sorted(range(session.codes), key=lambda place: -abs(totals[place]))[:MOST_CODEWORDS], []
    for place in order:
        sizes = list(map(abs, parts[place]))
        ranked = sorted(range(len(ids)), key=sizes.__getitem__, reverse=True)
        words = dict.fromkeys(tokens[token].text for token in ranked if tokens[token].text)
        codebook, codeword = divmod(place, session.codes // session.codebooks)
        shares.append(CodewordShare(codebook, codeword, totals[place], tuple(words)[:WORDS_EACH]))
    return tuple(shares)


def occlusion(session: Session, text: str, place: int, norm: float) -> tuple[float, ...]:
    """Occlusion: how far the length before squash of a class falls below `norm` if each token is left out."""
    words = session.spell(text)
    variants = [" ".join(words[:token] + words[token + 1 :]) for token in range(len(words))]
    return tuple(norm - session.explain(variant, [], spelled=True).norms[0][place] for variant in variants or [""])
