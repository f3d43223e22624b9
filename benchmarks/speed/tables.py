"""Seconds to read tables with `read_table`, compared with `pandas.read_csv(parse_dates=...)`.

    python -m benchmarks.speed.tables

Writes benchmarks/results/tables.csv: the median over rounds by turns, and the ratio of both.
"""

import argparse
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS
from kerastrans.data import read_table


def long_table(rows, **options):
    """Return the text of `rows` rows of 1,000 series."""
    count, length = 1000, rows // 1000
    times = pd.date_range("2020-01-01", periods=length, freq="h")
    values = np.random.default_rng(0).normal(50, 10, rows).round(3)
    ids = np.repeat([f"s{i:04}" for i in range(count)], length)
    frame = pd.DataFrame({"unique_id": ids, "ds": np.tile(times, count), "y": values})
    return frame.to_csv(index=False, **options)


def wide_table(rows, columns):
    """Return the text of a table with this number of channels."""
    times = pd.date_range("2020-01-01", periods=rows, freq="h", name="date")
    values = np.random.default_rng(0).normal(50, 10, (rows, columns)).round(3)
    return pd.DataFrame(values, times, [f"x{i}" for i in range(columns)]).to_csv()


def tables(size):
    """Return a dict of title -> text and the options with which pandas reads it."""
    german = {"sep": ";", "decimal": ",", "date_format": "%d.%m.%Y %H:%M"}
    long, wide = 1_000_000 // size, 10_000 // size
    return {
        f"long, {long:,} rows": (long_table(long), {"parse_dates": ["ds"]}),
        f"long, {long:,} rows, decimal commas, days first": (
            long_table(long, **german),
            {"parse_dates": ["ds"], **german},
        ),
        f"wide, {wide:,} columns, 1,000 rows": (
            wide_table(1000, wide),
            {"parse_dates": ["date"], "index_col": "date"},
        ),
        f"wide, {wide:,} columns, 28 rows": (
            wide_table(28, wide),
            {"parse_dates": ["date"], "index_col": "date"},
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=1, help="divides the sizes, for a trial")
    options = parser.parse_args()
    results = []
    for title, (text, arguments) in tables(options.size).items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.csv")
            path.write_text(text)
            seconds = {"pandas": [], "kerastrans": []}
            readers = {
                "pandas": lambda path=path, arguments=arguments: pd.read_csv(path, **arguments),
                "kerastrans": lambda path=path: read_table(path),
            }
            for _ in range(options.rounds):
                for name, read in readers.items():
                    begin = time.process_time()
                    read()
                    seconds[name].append(time.process_time() - begin)
        medians = {name: statistics.median(x) for name, x in seconds.items()}
        ratio = medians["kerastrans"] / medians["pandas"]
        results.append({"table": title, "MB": len(text) / 1e6, **medians, "ratio": ratio})
        print(results[-1], flush=True)
    frame = pd.DataFrame(results).round(2)
    machine = f"{os.cpu_count()} cores of {platform.machine()}"
    versions = f"Python {platform.python_version()}, pandas {pd.__version__}"
    frame["measured"] = f"CPU seconds, median of {options.rounds}, {machine}, {versions}"
    if options.size == 1:
        frame.to_csv(RESULTS / "tables.csv", index=False)


if __name__ == "__main__":
    main()
