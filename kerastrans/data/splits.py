"""Chronological splits of a series into training, validation and test rows."""

from numbers import Integral


def chronological_split(values, sizes=(0.7, 0.1, 0.2), context_length=0):
    """Split a series into training, validation and test rows, in the order of time.

    Args:
        values: `(time, ...)` array or DataFrame; the parts are views, not copies.
        sizes: Three fractions that add up to at most 1, or three row counts. With fractions the
            training and the test part are rounded down and validation gets the remaining rows, as
            in the benchmarks that follow Autoformer. Rows after the third part are not used.
        context_length: int, number of rows of the previous part that validation and test begin
            with, so that the first row of each is forecast too and no window is dropped.

    Returns:
        `(train, validation, test)`.

    Raises:
        ValueError: If `sizes` are not three fractions or counts.
        ValueError: If `sizes` require more rows than the series has.

    Example:
        >>> import numpy as np
        >>> [len(part) for part in chronological_split(np.zeros((10, 1)), context_length=2)]
        [7, 3, 4]
    """
    total = len(values)
    train, validation, test = _row_counts(sizes, total)
    if context_length > train:
        raise ValueError(
            f"validation cannot reach back context_length={context_length} rows: the training "
            f"part has {train}."
        )
    test_start = train + validation
    return (
        values[:train],
        values[train - context_length : test_start],
        values[test_start - context_length : test_start + test],
    )


def _row_counts(sizes, total):
    if len(sizes) != 3 or any(size <= 0 for size in sizes):
        raise ValueError(f"sizes must be three positive fractions or row counts, got {sizes!r}.")
    if all(isinstance(size, Integral) for size in sizes):
        counts = tuple(int(size) for size in sizes)
    elif sum(sizes) <= 1 + 1e-9:
        train, test = int(sizes[0] * total), int(sizes[2] * total)
        counts = train, round(sum(sizes) * total) - train - test, test
    else:
        raise ValueError(f"fractions must add up to at most 1, got {sizes!r}.")
    if sum(counts) > total or min(counts) < 1:
        raise ValueError(
            f"sizes {sizes!r} require {counts} rows of a series that has {total}; each part "
            "needs at least one row."
        )
    return counts
