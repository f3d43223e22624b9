"""The notebooks run from a clean kernel, and what is committed is what their texts say."""

import re
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

from tools.site import execute_notebooks

pytestmark = pytest.mark.tensorflow
# Asserts of seconds, which hold on a machine that does nothing else: the full run has them.
TIMED = re.compile(r"^assert .*# claim: (faster|compiled|cache|batch)$", re.MULTILINE)
TEXTS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))
LONG = ("answers", "02b", "03", "04b", "05b", "05c", "06", "07", "08", "09")  # `make contract`
# Compiling takes most of a small run. These lessons are about compiled and exported functions.
COMPILED = ("07_cached_decoding", "09_production", "answers", "answers_capstone")
# For the others: two batches per epoch, large batches to predict, and nothing is compiled.
SMALL = """
import functools
import keras
import tensorflow as tf

def with_defaults(method, **defaults):
    return functools.wraps(method)(lambda *args, **options: method(*args, **(defaults | options)))

keras.Model.fit = with_defaults(keras.Model.fit, steps_per_epoch=2)
keras.Model.predict = with_defaults(keras.Model.predict, batch_size=1000)
tf.config.run_functions_eagerly(True)
"""


def tier(path):
    """The marks of a notebook: the longest run in `make contract`, as in `make notebooks`."""
    return [
        pytest.mark.slow,
        *([pytest.mark.exhaustive] if path.stem.startswith(LONG) else []),
    ]


@pytest.mark.parametrize(
    "text", [pytest.param(path, marks=tier(path), id=path.stem) for path in TEXTS]
)
def test_notebook_runs_from_a_clean_kernel(text):
    notebook = jupytext.read(text)
    for cell in notebook.cells:  # two epochs, one seed: what is committed was trained in full
        cell.source = re.sub(r"(epochs=|^EPOCHS = )\d+", r"\g<1>2", cell.source, flags=re.MULTILINE)
        cell.source = re.sub(r"^SEEDS = \d+", "SEEDS = 1", cell.source, flags=re.MULTILINE)
        cell.source = re.sub(r"^STEPS = \d{3}", "STEPS = 2", cell.source, flags=re.MULTILINE)
        cell.source = TIMED.sub("", cell.source)
    if text.stem not in COMPILED:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(SMALL))
    NotebookClient(notebook, timeout=180).execute()  # raises what a cell raises
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_committed_notebook_is_its_text_executed(text):
    run = f"run python -m tools.site.execute_notebooks notebooks/{text.name}"
    written = jupytext.read(text.with_suffix(".ipynb"))
    assert [c.source for c in written.cells] == [c.source for c in jupytext.read(text).cells], run
    outputs = [output for cell in written.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    assert text.with_suffix(".ipynb").stat().st_size < 1_000_000
    assert written.metadata["executed"] == execute_notebooks.hash_of(written), run
