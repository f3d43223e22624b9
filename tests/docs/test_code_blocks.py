"""Every block of Python in the guides and the README runs, page by page, from an empty folder."""

import importlib.util
import re
from pathlib import Path

import keras
import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What a reader waits minutes for, the tests have in seconds.
SHORTER = {
    r"epochs=\d+": "epochs=1",
    r"time_limit=\d+": "time_limit=0.1",
    r"\.fit\(flights\)": ".fit(flights, epochs=1)",
    r"\.fit\((flights|past|known|windows), ": r".fit(\1, steps_per_epoch=2, ",
    r"windows=(28|70)": "windows=4",
    r"windows=800": "windows=60",
}
# `fit` that chooses the model itself takes a small one for a short series.
SHORT = {"docs/guide/choose-a-model.md": {r'load\("nyc_departures"\)': r"\g<0>.tail(1500)"}}
ELSEWHERE = {"docs/pretrained.md"}  # needs a checkpoint: forecasting/presets/test_pretrained.py
LONG = {"docs/guide/train-your-own-transformer.md"}  # by `make contract`
ENGINES = {"duckdb", "dask", "pyspark"}  # which the project does not install
FIRST = {"README.md", "docs/index.md"}  # on each back end
BACKENDS = {"docs/guide/pytorch.md": "torch", "docs/guide/jax.md": "jax"}  # others: TensorFlow
QUICK = {"docs/architectures/index.md", "docs/how/heads.md", "docs/how/windows.md"}


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text("utf-8"))


def pages():
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [path.relative_to(ROOT).as_posix() for path in found]
    return [name for name in names if name not in ELSEWHERE and blocks(name)]


def marked(page):
    marks = [] if page in QUICK else [pytest.mark.slow]
    marks += [pytest.mark.exhaustive] if page in LONG else []
    if backend := BACKENDS.get(page):
        is_other = keras.backend.backend() != backend
        marks += [pytest.mark.skipif(is_other, reason=f"the page is for {backend}")]
    elif page not in FIRST:
        marks += [pytest.mark.tensorflow]
    return pytest.param(page, marks=marks)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("page", [marked(page) for page in pages()])
def test_code_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names = {}
    for number, block in enumerate(blocks(page), 1):
        imported = {*re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)}
        if any(importlib.util.find_spec(name) is None for name in imported & ENGINES):
            continue
        for pattern, short in {**SHORTER, **SHORT.get(page, {})}.items():
            block = re.sub(pattern, short, block)
        exec(compile(block, f"{page}, block {number}", "exec"), names)
