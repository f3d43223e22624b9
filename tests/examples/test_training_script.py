"""The training script resumes where it was interrupted, and keeps the best model."""

import ast
import runpy
from pathlib import Path

import keras
import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[2] / "examples/training_script.py"


def test_it_has_at_most_forty_lines_of_code():
    source = SCRIPT.read_text("utf-8")
    texts = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            texts.update(range(node.lineno - 1, node.end_lineno))
    lines = enumerate(source.splitlines())
    assert len([line for number, line in lines if line.strip() and number not in texts]) <= 40


@pytest.mark.slow
@pytest.mark.tensorflow
def test_it_resumes_after_the_last_complete_epoch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERASTRANS_EXAMPLES", "small")
    ends = keras.callbacks.BackupAndRestore.on_epoch_end

    def interrupted(self, epoch, logs=None):
        ends(self, epoch, logs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(keras.callbacks.BackupAndRestore, "on_epoch_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runpy.run_path(str(SCRIPT))
    folder = Path("training")
    assert (folder / "backup").exists()
    # As if the first epoch had been very good: the resumed run must not overwrite its model.
    history = pd.read_csv(folder / "history.csv").assign(val_loss=0.0)
    history.to_csv(folder / "history.csv", index=False)
    best = (folder / "best.keras").read_bytes()

    names = runpy.run_path(str(SCRIPT))
    assert names["resumed"]
    assert pd.read_csv(folder / "history.csv")["epoch"].tolist() == [0, 1]
    assert int(names["model"].optimizer.iterations) == 2 * len(names["train_windows"])
    assert (folder / "best.keras").read_bytes() == best
    assert not (folder / "backup").exists()
