"""The training script resumes where it was interrupted, and keeps the best model."""

import runpy
from pathlib import Path

import keras
import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[2] / "examples/training_script.py"


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
