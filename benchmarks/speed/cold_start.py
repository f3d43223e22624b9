"""What the first forecast of a new process costs, and of it the imports.

The command, with and without a compilation cache; published weights; a preset.

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
PROGRAMS = {
    "imports": "import keras, kerastrans; keras.ops.zeros(1)",
    "from_pretrained, 1 x 100": """
import keras, kerastrans, pandas as pd, sys
frame = pd.read_csv(sys.argv[1], parse_dates=["ds"])
kerastrans.from_pretrained("kerastrans_zero_2", 24).predict(frame)
""",
    "preset, 1 x 144": """
import keras, kerastrans
frame = kerastrans.datasets.load("air_passengers")
kerastrans.zoo.from_preset("nhits_air_passengers_12").predict(frame)
""",
}
COLUMNS = ("label", "backend", "series", "cache", "cpu", "wall", "megabytes", "repeats", "load")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--backends", type=names, default=("jax", "tensorflow", "torch"))
    parser.add_argument("--package", type=Path, default=Path(), help="checkout to measure")
    parser.add_argument("--label", default="after")
    options = parser.parse_args()
    package, rows = options.package.resolve(), {}
    for _ in range(options.repeats):  # by turns
        for backend in options.backends:
            for size in SIZES:
                with tempfile.TemporaryDirectory() as folder:
                    data = Path(folder, "series.csv")
                    _series(*SIZES[size]).to_csv(data, index=False)
                    for cache in ("empty", "filled"):
                        command = ["-m", "kerastrans.cli.main", "forecast", data]
                        command += ["--output", data.with_name(f"{cache}.csv")]
                        measured = _run(package, backend, data.parent, command)
                        rows.setdefault((backend, size, cache), []).append(measured)
                    for name, code in PROGRAMS.items() if size == "1 x 100" else ():
                        measured = _run(package, backend, data.parent, ["-c", code, data])
                        rows.setdefault((backend, name, "none"), []).append(measured)
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


def _run(package, backend, folder, arguments):
    """Return CPU seconds, wall seconds and megabytes of one process."""
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    folders = {"PYTHONPATH": os.pathsep.join(paths), "KERASTRANS_CACHE_DIR": str(folder / "cache")}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "KERAS_BACKEND": backend, **folders},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args} failed on {backend} in {package}.")
    seconds = time.perf_counter() - started
    return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
