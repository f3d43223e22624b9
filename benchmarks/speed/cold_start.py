"""What `kerastrans forecast` of a new process costs, with and without a compilation cache.

python -m benchmarks.speed.cold_start                     # results/cold_start.csv
python -m benchmarks.speed.cold_start --package ../before --label before --backends jax
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS, append_row, names

OUTPUT = RESULTS / "cold_start.csv"
SIZES = {"1 x 100": (1, 100), "1,000 x 200": (1000, 200)}  # series x rows
COLUMNS = ("label", "backend", "series", "cache", "cpu", "wall", "megabytes", "repeats", "load")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--backends", type=names, default=("jax", "tensorflow"))
    parser.add_argument("--package", type=Path, default=Path(), help="checkout to measure")
    parser.add_argument("--label", default="after")
    options = parser.parse_args()
    cases = [(backend, size) for backend in options.backends for size in SIZES]
    rows = {}
    for _ in range(options.repeats):  # by turns
        for backend, size in cases:
            with tempfile.TemporaryDirectory() as folder:
                data = Path(folder, "series.csv")
                _series(*SIZES[size]).to_csv(data, index=False)
                for cache in ("empty", "filled"):
                    measured = _forecast(options.package.resolve(), backend, data, cache)
                    rows.setdefault((backend, size, cache), []).append(measured)
    load = round(os.getloadavg()[1], 1)
    for key, values in rows.items():
        medians = (round(statistics.median(column), 2) for column in zip(*values, strict=True))
        row = (options.label, *key, *medians, options.repeats, load)
        append_row(OUTPUT, COLUMNS, dict(zip(COLUMNS, row, strict=True)))
    print(OUTPUT.read_text())


def _series(count, length):
    """Daily series with a weekly season and noise, in long form."""
    rng, time_steps = np.random.default_rng(0), np.arange(length)
    values = 10 + np.sin(2 * np.pi * time_steps / 7 + np.arange(count)[:, None])
    values += rng.normal(0, 0.2, values.shape)
    ds = pd.date_range("2024-01-01", periods=length, freq="D")
    ids = np.repeat([f"s{number}" for number in range(count)], length)
    return pd.DataFrame({"unique_id": ids, "ds": np.tile(ds, count), "y": values.ravel()})


def _forecast(package, backend, data, cache):
    """Return CPU seconds, wall seconds and megabytes of one command."""
    command = [sys.executable, "-m", "kerastrans.cli.main", "forecast", str(data)]
    folders = {"PYTHONPATH": str(package), "KERASTRANS_CACHE_DIR": str(data.parent / "cache")}
    variables = {**os.environ, "KERAS_BACKEND": backend, **folders}
    output = str(data.with_name(f"{cache}.csv"))
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--output", output],
        env=variables,
        cwd=data.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed on {backend} in {package}.")
    seconds = time.perf_counter() - started
    return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
