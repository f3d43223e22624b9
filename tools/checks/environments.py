"""Install the package as its pages say, in environments of their own, and type what they show.

python -m tools.checks.environments pages    # the first pages, on each back end
python -m tools.checks.environments extras   # each extra alone
python -m tools.checks.environments extras onnx excel

Each environment is new and sees no other package; each page is read in an empty folder. The rows of
benchmarks/results/pages.csv and extras.csv are written one by one, and those that exist are kept.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
INSTALL = re.compile(r'pip install "?\.\[([\w,]+)\]')
BACKENDS = ("jax", "tensorflow", "torch")
PAGES = (
    "README.md",
    "docs/start.md",
    "docs/guide/models.md",
    "docs/guide/train-your-own-transformer.md",
)
FLIGHTS = 'import kerastrans\nflights = kerastrans.datasets.load("nyc_departures").tail(1000)\n'
TRAINED = f'{FLIGHTS}one = kerastrans.Forecaster("nlinear", 168, 24).fit(flights, epochs=1)\n'
# What each extra is for: the back end, pages, and a program.
USES = {
    "text": ("jax", ("docs/guide/train-your-own-transformer.md",), ""),
    "tune": (
        "jax",
        (),
        f"{FLIGHTS}from kerastrans.forecasting.selection.tuning import tune\n"
        'tune("nlinear", flights, 168, 24, validation_size=96, trials=2, epochs=1)',
    ),
    "baselines": (
        "jax",
        ("docs/guide/backtest.md",),
        f"{TRAINED}from kerastrans.evaluation.baselines import statistical\n"
        "rows = one.backtest(flights, windows=2)\nprint(list(statistical.statistical_backtests("
        "rows, flights)))",
    ),
    "serve": (
        "jax",
        (),
        "import json, subprocess, time, urllib.request\n"
        'command = ["kerastrans", "serve", "kerastrans_zero_2", "--port", "8765"]\n'
        "service = subprocess.Popen(command)\n"
        "for _ in range(90):\n"
        "    time.sleep(1)\n"
        "    try:\n"
        '        answer = urllib.request.urlopen("http://127.0.0.1:8765/openapi.json").read()\n'
        "        break\n"
        "    except OSError:\n"
        "        assert service.poll() is None\n"
        "service.terminate()\n"
        'print(json.loads(answer)["info"]["title"])',
    ),
    "scale": ("jax", ("docs/scale.md",), ""),
    "onnx": ("tensorflow", ("docs/guide/export.md",), ""),
    "litert": ("torch", (), f'{TRAINED}one.export("nlinear.tflite")'),
    "hub": ("jax", (), "import huggingface_hub\nimport kerastrans.models.pretrained.hub"),
    "excel": (
        "jax",
        (),
        f'{FLIGHTS}import subprocess\nflights.to_excel("flights.xlsx")\n'
        'command = ["kerastrans", "forecast", "flights.xlsx", "--prediction-length", "24"]\n'
        "subprocess.run(command, check=True)",
    ),
    "leaderboards": (
        "jax",
        (),
        "import pandas as pd, numpy as np\n"
        "from kerastrans.leaderboards import fev_model\n"
        "from kerastrans.leaderboards.gluonts_predictor import KerastransPredictor\n"
        'entries = [{"start": pd.Period("2024-01", "M"), "target": np.arange(60.0)}]\n'
        'predictor = KerastransPredictor.train("kerastrans_zero_2", entries, 12)\n'
        "print(next(predictor.predict(entries)).quantile(0.5))",
    ),
    "polars": (
        "jax",
        (),
        "import polars as pl, kerastrans\n"
        "flights = kerastrans.datasets.load('nyc_departures').tail(500).rename_axis('ds')\n"
        "frame = pl.from_pandas(flights.reset_index())\n"
        "print(kerastrans.from_pretrained('kerastrans_zero_2', 24).predict(frame))",
    ),
}


def main(kind, names):
    tasks = _pages() if kind == "pages" else _extras(names)
    path = RESULTS / f"{kind}.csv"
    done = set()
    if path.exists():
        with path.open(encoding="utf-8") as file:
            done = {row["environment"] for row in csv.DictReader(file)}
    for environment, extras, uses in tasks:
        if environment in done:
            continue
        with tempfile.TemporaryDirectory() as parent:
            rows = list(_type(environment, extras, uses, Path(parent)))
        is_new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)


def _pages():
    """Yield each page on each back end, with the extras that it names."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        named = {x for found in INSTALL.findall(text) for x in found.split(",")}
        for backend in BACKENDS:
            extras = [backend, *sorted(named.difference(BACKENDS, USES.keys() - {"text"}))]
            yield f"{page} on {backend}", extras, {page: _typed(page, backend)}


def _extras(names):
    """Yield each extra alone, beside one back end, with the pages and programs that use it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = set(project["optional-dependencies"]) - {"dev", "docs", "benchmarks", *BACKENDS}
    if known != set(USES):
        raise SystemExit(f"no use of the extras {known ^ set(USES)} is known")
    for name in names or sorted(known):
        backend, pages, program = USES[name]
        uses = {page: _typed(page, backend) for page in ("README.md", *pages)}
        yield name, [name, backend], uses | ({"its program": program} if program else {})


def _typed(page, backend):
    """The blocks of a page, without those that are said to be for another back end."""
    others = "|".join(name for name in BACKENDS if name != backend)
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    kept = [x for x in blocks if not re.search(rf"^import ({others})\b", x, re.MULTILINE)]
    return "\n".join(kept)


def _type(environment, extras, uses, parent):
    """Install a clone with some extras in a new environment; yield a row for each use."""
    clone, python = parent / "kerastrans", parent / "venv" / "bin" / "python"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    subprocess.run([sys.executable, "-m", "venv", parent / "venv"], check=True)
    start = time.perf_counter()
    install = [python, "-m", "pip", "install", "-q", f".[{','.join(extras)}]"]
    installed = subprocess.run(install, cwd=clone, capture_output=True, text=True, check=False)
    facts = {
        "environment": environment,
        "install": f".[{','.join(extras)}]",
        "install_s": round(time.perf_counter() - start),
        "megabytes": _megabytes(parent / "venv"),
    }
    if installed.returncode:
        uses = {"pip": f"raise SystemExit({installed.stderr[-300:]!r})"}
    variables = {x: y for x, y in os.environ.items() if x not in ("PYTHONPATH", "KERAS_BACKEND")}
    variables |= {"HOME": str(parent), "MPLBACKEND": "Agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
    variables["PATH"] = f"{python.parent}{os.pathsep}{variables['PATH']}"
    for number, (name, code) in enumerate(uses.items()):
        folder = parent / f"empty{number}"
        folder.mkdir()
        start = time.perf_counter()
        done = subprocess.run(
            [python, "-c", code], cwd=folder, env=variables, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        result = "runs" if not done.returncode else done.stderr.strip().splitlines()[-1][:200]
        seconds = round(time.perf_counter() - start)
        row = {**facts, "uses": name, "seconds": seconds, "result": result}
        print(row, flush=True)
        yield {**row, "commit": _commit(), "date": date.today().isoformat()}


def _megabytes(folder):
    return round(sum(x.stat().st_size for x in folder.rglob("*") if x.is_file()) / 1e6)


def _commit():
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
