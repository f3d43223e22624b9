"""Exercises of lesson 1."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def encoding(length, dim, base):
    """Return the sinusoidal encodings (length, dim) for any base and even dim."""
    angles = np.arange(length)[:, None] / base ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


def lookup(table, length):
    """Return the first `length` rows of a learnt table; raise an error if there are fewer.

    ValueError, IndexError and a failed assert are accepted.
    """
    if length > len(table):
        raise ValueError(f"{len(table)} positions were learnt, got a sequence of {length}")
    return table[:length]


def shift_matrix(dim, steps):
    """Return M (dim, dim) with encoding[p] @ M = encoding[p + steps] for every p."""
    matrix = np.zeros((dim, dim))
    for column in range(0, dim, 2):
        angle = steps / 10000 ** (column / dim)
        cosine, sine = np.cos(angle), np.sin(angle)
        matrix[column : column + 2, column : column + 2] = [[cosine, -sine], [sine, cosine]]
    return matrix


def _halves(length, dim, base):
    pairs = encoding(length, dim, base)
    return np.concatenate([pairs[:, ::2], pairs[:, 1::2]], axis=1)


WRONG_TABLES = {
    "All sines come first: sine and cosine of one angle are neighbours.": _halves,
    "The exponent of column 2i is 2i / dim, not i / dim.": lambda length, dim, base: encoding(
        length, dim, base**0.5
    ),
    "The even numbers of np.arange(0, dim, 2) are 2i already: divide them by dim.": (
        lambda length, dim, base: encoding(length, dim, base**2)
    ),
    "The cosine comes first; the sine has the even columns.": lambda length, dim, base: (
        encoding(length, dim, base).reshape(length, -1, 2)[..., ::-1].reshape(length, dim)
    ),
    "Positions start at 1: the first is position 0, whose encoding is 0, 1, 0, 1.": (
        lambda length, dim, base: encoding(length + 1, dim, base)[1:]
    ),
}
TABLE = np.arange(12.0).reshape(6, 2)

EXERCISES = (
    Exercise(
        "1.1",
        encoding,
        {
            "The base is ignored: this is the encoding with 10000.": lambda length, dim, base: (
                encoding(length, dim, 10000)
            ),
            **WRONG_TABLES,
        },
        (
            "Compute one angle for each position and each pair of columns.",
            "The exponents are np.arange(0, dim, 2) / dim; the angles are (length, dim // 2).",
            "np.stack([np.sin(angles), np.cos(angles)], axis=-1), reshaped to (length, dim).",
        ),
        cases=((6, 4, 10000), (5, 8, 100)),
        why="With a base of 100 and a width of 32 the slowest pair turns once in 471 steps.",
    ),
    Exercise(
        "1.2",
        lookup,
        {
            "A slice past the end is silent: it returns fewer rows than the sequence has.": (
                lambda table, length: table[:length]
            ),
            "Positions past the end get the vectors of the first ones again.": (
                lambda table, length: table[np.arange(length) % len(table)]
            ),
            "Positions past the end all get the last vector.": (
                lambda table, length: table[np.minimum(np.arange(length), len(table) - 1)]
            ),
        },
        (
            "A table of six rows has nothing to say about a seventh position.",
            "Compare length with len(table) before the slice.",
            "Raise ValueError if length > len(table), otherwise return table[:length].",
        ),
        cases=((TABLE, 4), (TABLE, 6), (TABLE, 7)),
        why="The sinusoids are a formula, and have a value at every position.",
    ),
    Exercise(
        "1.3",
        shift_matrix,
        {
            "This matrix turns backwards: it leads to position p - steps.": lambda dim, steps: (
                shift_matrix(dim, -steps)
            ),
            "Each pair of columns has its own angle; this turns all by the same.": (
                lambda dim, steps: np.kron(np.eye(dim // 2), shift_matrix(2, steps))
            ),
            "This is always the shift by one step.": lambda dim, steps: shift_matrix(dim, 1),
        },
        (
            "Each pair (sin a, cos a) turns by its own angle b: write sin(a + b) and cos(a + b).",
            "M has blocks of 2 x 2 on its diagonal; the angle of the pair at columns 2i, 2i + 1 is "
            "steps / 10000 ** (2i / dim).",
            "The block is [[cos b, -sin b], [sin b, cos b]], as the rows multiply from the left.",
        ),
        cases=((8, 3), (6, 1), (2, 40)),
        why="Without the cosines there is no such matrix: sin(a + b) needs cos a.",
    ),
)
