"""Sequences that are decoded from the same history, and share its keys and values."""

from dataclasses import dataclass

from keras import ops


@dataclass(frozen=True)
class Copies:
    """Layout of the rows of a step: several sequences for each history.

    The queries of all sequences of a history become the queries of one row, so that its keys and
    values are in memory once.

    Attributes:
        count: int, number of sequences of each history.
        inner: int, number of rows of each sequence, such as its channels.

    Example:
        >>> from keras import ops
        >>> folded = Copies(count=3, inner=2).fold(ops.ones((6, 4, 1, 8)))
        >>> ops.shape(folded)
        (2, 4, 3, 8)
    """

    count: int = 1
    inner: int = 1

    def fold(self, x):
        """Return `(batch * count * inner, heads, query, width)` as rows of histories.

        Returns:
            `(batch * inner, heads, count * query, width)`.
        """
        if self.count == 1:
            return x
        heads, query, width = x.shape[1:]
        x = ops.reshape(x, (-1, self.count, self.inner * heads, query * width))
        x = ops.transpose(x, (0, 2, 1, 3))
        return ops.reshape(x, (-1, heads, self.count * query, width))

    def unfold(self, x):
        """Return rows of histories as rows of sequences, the inverse of `fold`."""
        if self.count == 1:
            return x
        heads, query, width = x.shape[1:]
        query = query // self.count
        x = ops.reshape(x, (-1, self.inner * heads, self.count, query * width))
        x = ops.transpose(x, (0, 2, 1, 3))
        return ops.reshape(x, (-1, heads, query, width))


NO_COPIES = Copies()
