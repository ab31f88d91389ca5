"""Groups of texts that contain one another, such as a sentence and its phrases.

If the training texts have the sentence, its phrases are easy for the model, and as validation texts they would make the
measured accuracy too high. So texts of a group belong to the same part of a split.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORTEST, LONGEST = 4, 16  # tokens of a text that is searched in others; shorter texts are in many others by chance
MOST_OWNERS = 50  # texts that contain a text; one that is in more of them is a common phrase
MATERIAL = 0.2  # groups are used if at least this share of the texts is in groups of several texts
LARGEST_GROUP = 0.1  # and if no group has a larger share of the texts: it could not be split
MOST_TOKENS = 20_000_000  # of all texts; larger data are not searched
FEW_ROWS = 20  # a class with fewer rows must not lose a whole group to validation
SEED = 0  # of the split, as in split.py
MULTIPLIER, MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # of the hashes of token sequences

Rows = NDArray[np.int64]


def groups_of(ids: NDArray[np.int32], starts: Rows) -> Rows | None:
    """Group of each text, as the index of one text of the group: (n,). None: few texts contain others.

    Text i has the tokens ids[starts[i]:starts[i + 1]].
    """
    if not SHORTEST < len(ids) <= MOST_TOKENS:
        return None
    groups = joined(len(starts) - 1, *containments(ids, starts))
    sizes = np.bincount(groups, minlength=len(groups))[groups]
    several = (sizes > 1).mean() >= MATERIAL and sizes.max() <= LARGEST_GROUP * len(groups)
    return groups if several else None


def containments(ids: NDArray[np.int32], starts: Rows) -> tuple[Rows, Rows]:
    """Return pairs of texts as two arrays: a text, and a text of 4 to 16 tokens that it contains."""
    lengths, outer, inner = np.diff(starts), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * MIXER
    mixed ^= mixed >> np.uint64(32)
    hashes = mixed.copy()  # of the next `size` tokens from each place on; `size` grows in the loop
    for size in range(2, min(LONGEST, len(ids)) + 1):
        hashes = hashes[:-1] * MULTIPLIER + mixed[size - 1 :]
        texts = np.flatnonzero(lengths == size)
        if size < SHORTEST or not len(texts):
            continue
        keys, numbers = np.unique(hashes[starts[texts]], return_inverse=True)
        places = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
        matches = np.flatnonzero(keys[places] == hashes)  # where the tokens of a text of this size begin
        owners = np.searchsorted(starts, matches, side="right") - 1  # the text that a match begins in
        inside = (matches + size <= starts[owners + 1]) & (lengths[owners] > size)
        owners, contained = owners[inside], places[matches[inside]]  # `contained` are indices of keys
        counts = np.bincount(contained, minlength=len(keys))
        first = np.zeros(len(keys), np.int64)
        first[numbers[::-1]] = texts[::-1]  # one of the texts that are equal
        rare = counts[contained] <= MOST_OWNERS
        # equal texts are linked through the first one
        linked = (counts[numbers] > 0) & (counts[numbers] <= MOST_OWNERS)
        outer += [owners[rare], texts[linked]]
        inner += [first[contained[rare]], first[numbers[linked]]]
    return np.concatenate(outer), np.concatenate(inner)


def joined(texts: int, left: Rows, right: Rows) -> Rows:
    """Group of each text (n,): the smallest index of the texts that pairs link it to, directly or indirectly."""
    groups = np.arange(texts, dtype=np.int64)
    while True:
        before = groups.copy()
        np.minimum.at(groups, left, before[right])
        np.minimum.at(groups, right, before[left])
        groups = groups[groups]
        if np.array_equal(groups, before):
            return groups


def grouped_split(groups: Rows, targets: NDArray[np.integer[Any]], fraction: float) -> tuple[Rows, Rows]:
    """Return the rows for training and for validation, both ascending.

    Validation gets whole groups, without any row of a rare class.
    """
    rare = np.bincount(targets)[targets] < FEW_ROWS
    sizes = np.bincount(groups, minlength=len(groups))
    sizes[groups[rare]] = 0
    order = np.random.default_rng(SEED).permutation(np.flatnonzero(sizes))
    chosen = order[np.cumsum(sizes[order]) <= round(fraction * len(groups))]
    valid = np.isin(groups, chosen)
    return np.flatnonzero(~valid), np.flatnonzero(valid)
