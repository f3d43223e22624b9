"""Checks of the series of a frame; invalid series are left out with a reason."""

import numpy as np

# Largest number of steps per row; a sparser series is taken for a mistake in the time stamps.
MAX_STEPS_PER_ROW = 100
# Number of steps between rows of a series, to say that its frequency differs from the clock's.
MIN_STEPS_TO_COMPARE = 5
MAX_RATIO = 1.12  # of the longest month to the shortest one


def series_faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid, is_past):
    """Return a dict of series code -> fault, for rows sorted by series and time.

    Args:
        clock: `Clock` of the series.
        times: DatetimeIndex `(rows,)`.
        codes: Ints `(rows,)`, codes of the series.
        numbers: Ints `(rows,)`, numbers of the time stamps on the clock.
        values: `(rows, num_channels)`.
        begins: `(series,)`, first row of each series.
        ends: `(series,)`, row after the last one of each series.
        stamped: Bools `(rows,)`, whether a time stamp is in the years that can be counted.
        on_grid: Bools `(rows,)`, whether a time stamp is on the grid of the clock.
        is_past: Bools `(rows,)`, whether a row is not one of the frame of future covariates.
    """
    faults = {}

    def blame(at_fault, why):
        """Set the fault of each series that has such a row and no fault yet, by its first one."""
        rows = np.flatnonzero(at_fault)
        for row in rows[np.unique(codes[rows], return_index=True)[1]]:
            faults.setdefault(int(codes[row]), why(row))

    blame(times.isna(), lambda row: "a row has no time stamp")
    blame(~stamped, lambda row: f"time stamp {times[row]} is not in the years 1678 to 2261")
    blame(
        ~on_grid,
        lambda row: f"time stamp {times[row]} is not on the grid of frequency {clock.freq!r}",
    )
    twice = np.append(False, (codes[1:] == codes[:-1]) & (np.diff(numbers) == 0))
    blame(
        twice,
        lambda row: (
            f"duplicate time stamp {times[row]}"
            + ("" if is_past[row] == is_past[row - 1] else ", which the future has too")
        ),
    )
    blame(np.isinf(values).any(axis=1), lambda row: f"an infinite value at {times[row]}")
    rows, spans = ends - begins, numbers[ends - 1] - numbers[begins] + 1
    num_known = np.add.reduceat(np.isfinite(values).any(axis=1), begins)
    for i in np.flatnonzero((num_known == 0) | (spans > MAX_STEPS_PER_ROW * rows + 10_000)):
        why = f"{rows[i]} rows over {spans[i]} steps" if num_known[i] else "no value at all"
        faults.setdefault(int(codes[begins[i]]), why)
    smallest = _distances(numbers, begins, rows)
    for i in np.flatnonzero(smallest > 1):
        why = f"rows {smallest[i]} or more steps of frequency {clock.freq!r} apart"
        faults.setdefault(int(codes[begins[i]]), why)
    return faults


def _distances(numbers, begins, rows):
    """Return the number of steps between rows, `(series,)`; 1 where rows are not regular.

    They are regular if three of four distances are about the smallest one, as those of monthly rows
    on a daily clock.
    """
    steps = np.diff(numbers, prepend=numbers[0])
    steps[begins] = np.iinfo(steps.dtype).max  # between two series
    smallest = np.minimum.reduceat(steps, begins)
    is_near = steps <= np.repeat(MAX_RATIO * smallest, rows)
    is_near[begins] = False
    count = np.add.reduceat(is_near.astype("int64"), begins)
    return np.where((rows > MIN_STEPS_TO_COMPARE) & (4 * count >= 3 * (rows - 1)), smallest, 1)
