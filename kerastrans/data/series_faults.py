"""Why a series of a frame is left out."""

import numpy as np

SPARSE = 100  # steps for each row: a series with longer gaps is a mistake in its time stamps


def series_faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid):
    """Dict of the number of a series -> its fault, of rows sorted by series and time.

    Args:
        clock: `Clock`.
        times: DatetimeIndex `(rows,)`.
        codes: ints `(rows,)`, numbers of the series.
        numbers: ints `(rows,)`, the clock's.
        values: `(rows, num_channels)`.
        begins: `(series,)`, first row of each series.
        ends: `(series,)`, the one after its last.
        stamped: bools `(rows,)`, whether a time stamp can be counted.
        on_grid: bools `(rows,)`, whether it is one of the clock's.
    """
    faults = {}

    def blame(at_fault, why):
        """The first such row of each series that has no fault yet."""
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
    blame(twice, lambda row: f"duplicate time stamp {times[row]}")
    blame(np.isinf(values).any(axis=1), lambda row: f"an infinite value at {times[row]}")
    rows, spans = ends - begins, numbers[ends - 1] - numbers[begins] + 1
    seen = np.add.reduceat(np.isfinite(values).any(axis=1), begins)
    for i in np.flatnonzero((seen == 0) | (spans > SPARSE * rows + 10_000)):
        why = f"{rows[i]} rows over {spans[i]} steps" if seen[i] else "no value at all"
        faults.setdefault(int(codes[begins[i]]), why)
    return faults
