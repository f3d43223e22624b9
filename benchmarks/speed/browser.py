"""How long kerastrans-zero takes in a web page, in a headless Chromium.

    make browser
    python -m benchmarks.speed.browser        # results/browser.json

Each repeat starts a browser and opens the explorer's page at the part of kerastrans-zero, from a
server on this machine. "page" is the time from the request to the first forecast that is shown,
that of the example: the page, the runtime of WebAssembly and the weights are read before it. "file"
is the time from the choice of a CSV file of 1,024 rows to its forecast of 24 steps.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.common import RESULTS
from kerastrans.utils.environment import environment
from tools.checks import chromium
from tools.site.explorer.page import write_page

OUTPUT = RESULTS / "browser.json"
ROWS, STEPS = 1024, 24


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        folder, path = Path(parent, "explorer"), Path(parent, "series.csv")
        write_page(folder)
        steps = np.arange(ROWS)
        values = 50 + 10 * np.sin(steps / 4) + np.random.default_rng(0).normal(size=ROWS)
        path.write_text("y\n" + "\n".join(f"{value:.2f}" for value in values))
        with chromium.serve_folder(folder.parent) as address:
            found = [
                measure(f"{address}explorer/#zero-model", path) for _ in range(options.repeats)
            ]
            with chromium.launch() as browser:
                version = browser.version
    names = ("page", "file")
    seconds = {name: [x[i] for x in found] for i, name in enumerate(names)}
    result = {
        "median": {name: round(statistics.median(x), 2) for name, x in seconds.items()},
        "largest": {name: round(max(x), 2) for name, x in seconds.items()},
        "repeats": options.repeats,
        "chromium": version,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    OUTPUT.write_text(json.dumps({**result, "environment": environment()}, indent=2) + "\n")
    print(OUTPUT.read_text())


def measure(address, path):
    """Seconds until the first forecast of the page, and of a file."""
    with chromium.launch() as browser:
        tab = browser.new_page()
        started = time.perf_counter()
        tab.goto(address)
        part = tab.locator("#zero-model")
        part.get_by_text("air_passengers.csv: 144 values, 12 steps forecast").wait_for()
        page = time.perf_counter() - started
        part.get_by_label("Steps to forecast").fill(str(STEPS))
        tab.keyboard.press("Tab")
        part.get_by_text(f"144 values, {STEPS} steps forecast").wait_for()
        started = time.perf_counter()
        part.get_by_label("CSV file").set_input_files(path)
        part.get_by_text(f"{path.name}: {ROWS} values, {STEPS} steps forecast").wait_for()
        return page, time.perf_counter() - started


if __name__ == "__main__":
    main()
