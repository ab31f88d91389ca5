"""An order of classes in which classes that are confused with each other are neighbours."""

from collections.abc import Iterable, Sequence
from operator import mul

from capsulet.evaluation.metrics import Confusions

MOST_STEPS = 100
GROUND = 1e-9  # added to the diagonal, relative to the mean degree: makes the matrix positive definite
SETTLED = 1e-10  # smallest change of a step
GOLDEN = 0.6180339887498949

Numbers = list[float]


def similar_order(confusions: Confusions) -> list[int]:
    """Order classes by the second eigenvector of the Laplacian of their graph of confusions (Fiedler 1973).

    Groups of classes that are not confused with other groups are ordered one by one, the largest first.
    """
    links: list[dict[int, int]] = [{} for _ in confusions]  # texts confused between two classes, in either direction
    for truth, row in enumerate(confusions):
        for given, count in row.items():
            if given != truth and count:
                links[truth][given] = links[truth].get(given, 0) + count
                links[given][truth] = links[given].get(truth, 0) + count
    groups = sorted(connected(links), key=len, reverse=True)
    return [place for group in groups for place in ordered(group, links)]


def connected(links: Sequence[dict[int, int]]) -> list[list[int]]:
    """Return the groups of classes that are linked, directly or through others."""
    groups, seen = [], set[int]()
    for start in range(len(links)):
        if start in seen:
            continue
        group, seen = [start], seen | {start}
        for place in group:
            new = links[place].keys() - seen
            group += new
            seen |= new
        groups.append(sorted(group))
    return groups


def ordered(group: Sequence[int], links: Sequence[dict[int, int]]) -> list[int]:
    """Order linked classes by the eigenvector, in the direction that puts the first class into the first half."""
    if len(group) < 3:
        return list(group)
    rows = [[-float(links[place].get(other, 0)) for other in group] for place in group]
    for number, row in enumerate(rows):
        row[number] = -sum(row)
    ground = GROUND * sum(row[number] for number, row in enumerate(rows)) / len(rows)
    for number, row in enumerate(rows):
        row[number] += ground
    vector = second_eigenvector(rows)
    sign = -1 if vector[0] > 0 else 1
    return [group[number] for number in sorted(range(len(group)), key=lambda number: sign * vector[number])]


def second_eigenvector(matrix: Sequence[Numbers]) -> Numbers:
    """Return the eigenvector with the smallest eigenvalue, orthogonal to the constant vector, by inverse iteration."""
    lower = cholesky(matrix)
    upper = [list(column) for column in zip(*lower, strict=True)]
    vector = normalised((number * GOLDEN) % 1 for number in range(1, len(matrix) + 1))
    for _ in range(MOST_STEPS):
        before, vector = vector, normalised(solved(lower, upper, vector))
        if abs(1 - abs(sum(map(mul, before, vector)))) < SETTLED:
            break
    return vector


def normalised(values: Iterable[float]) -> Numbers:
    """Return values with mean 0 and length 1."""
    values = list(values)
    mean = sum(values) / len(values)
    centred = [value - mean for value in values]
    length = sum(map(mul, centred, centred)) ** 0.5
    return [value / length for value in centred]


def cholesky(matrix: Sequence[Numbers]) -> list[Numbers]:
    """Return the lower triangle L, with L Lᵀ = matrix, of a positive definite matrix; the upper part is 0."""
    lower: list[Numbers] = []
    for row, values in enumerate(matrix):
        new: Numbers = []
        for column in range(row):
            other = lower[column]
            new.append((values[column] - sum(map(mul, new, other))) / other[column])
        new.append((values[row] - sum(map(mul, new, new))) ** 0.5)
        lower.append(new)
    return [row + [0.0] * (len(matrix) - len(row)) for row in lower]


def solved(lower: Sequence[Numbers], upper: Sequence[Numbers], wanted: Sequence[float]) -> Numbers:
    """Return x with L Lᵀ x = wanted."""
    first: Numbers = []
    for row, value in zip(lower, wanted, strict=True):
        first.append((value - sum(map(mul, first, row))) / row[len(first)])
    last: Numbers = []  # from the end
    for place in range(len(first) - 1, -1, -1):
        row = upper[place]
        last.append((first[place] - sum(map(mul, last, reversed(row)))) / row[place])
    return last[::-1]
