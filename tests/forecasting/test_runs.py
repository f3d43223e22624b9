import json
from dataclasses import replace

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import evaluation, metrics
from kerastrans.data import chronological_split, sliding_windows
from kerastrans.forecasting import runs
from kerastrans.forecasting.settings import Settings

pytestmark = pytest.mark.tensorflow

SMALL = Settings(
    data="air_passengers",
    context_length=24,
    prediction_length=6,
    d_model=8,
    num_heads=1,
    key_dim=8,
    ff_dim=16,
    batch_size=16,
    epochs=3,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    runs.train(SMALL, path)
    return path


def test_folder_holds_all_there_is_to_know(folder):
    names = {path.name for path in folder.iterdir()}
    assert {"settings.json", "model.keras", "history.csv", "report.json", "report.txt"} <= names
    assert (folder / "forecast.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((folder / "report.json").read_text())
    assert report["settings"]["season"] == 12  # the dataset's own
    assert report["data"]["rows"] == {"train": 100, "validation": 16, "test": 28}
    assert set(report["metrics"]) == {"Transformer", "seasonal naive (12)", "last value"}
    assert report["environment"]["keras"] == keras.__version__


def test_reported_errors_are_those_of_the_test_windows(folder):
    report = json.loads((folder / "report.json").read_text())
    values = runs.load_series("air_passengers").to_numpy("float64")
    train, _, test = chronological_split(values, (0.7, 0.1, 0.2), 24)
    contexts, targets = sliding_windows(test, 24, 6)
    naive = evaluation.seasonal_naive(contexts, 6, 12)
    assert report["metrics"]["seasonal naive (12)"]["MAE"] == pytest.approx(
        metrics.mae(targets, naive)
    )
    run = runs.load_run(folder)
    np.testing.assert_allclose(run.scaler.mean, train.mean(axis=0))  # training rows alone
    forecasts = evaluation.forecast_windows(run.model, contexts, 6, run.scaler)
    assert report["metrics"]["Transformer"]["MAE"] == pytest.approx(
        metrics.mae(targets, forecasts), rel=1e-4
    )


def test_best_epoch_is_the_one_kept(folder):
    history = pd.read_csv(folder / "history.csv")
    report = json.loads((folder / "report.json").read_text())
    assert report["best_epoch"] == history["val_forecast_mae"].argmin() + 1
    values = runs.load_series("air_passengers").to_numpy("float64")
    _, validation, _ = chronological_split(values, (0.7, 0.1, 0.2), 24)
    run = runs.load_run(folder)
    contexts, targets = sliding_windows(run.scaler.transform(validation), 24, 6)
    error = metrics.mae(targets, evaluation.forecast_windows(run.model, contexts, 6))
    assert error == pytest.approx(history["val_forecast_mae"].min(), rel=1e-4)


def test_test_rows_do_not_reach_the_training(folder, tmp_path):
    """A spike planted in the test rows moves neither scaler nor weights."""
    series = runs.load_series("air_passengers")
    series.iloc[116:] += 1000
    series.to_csv(tmp_path / "spiked.csv")
    spiked = runs.train(replace(SMALL, data=str(tmp_path / "spiked.csv")), tmp_path / "run")
    plain = runs.load_run(folder)
    np.testing.assert_array_equal(spiked.scaler.mean, plain.scaler.mean)
    for a, b in zip(spiked.model.get_weights(), plain.model.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


class Interrupted(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


def test_interrupted_run_resumes_and_keeps_its_best(tmp_path, monkeypatch):
    path = tmp_path / "run"
    log = keras.callbacks.CSVLogger
    monkeypatch.setattr(
        keras.callbacks,
        "CSVLogger",
        lambda *a, **k: keras.callbacks.CallbackList([log(*a, **k), Interrupted()]),
    )
    with pytest.raises(KeyboardInterrupt):
        runs.train(SMALL, path)
    monkeypatch.undo()
    assert not (path / "report.json").exists()
    with pytest.raises(FileNotFoundError, match="holds no finished run"):
        runs.load_run(path)
    with pytest.raises(ValueError, match="its settings differ from those given"):
        runs.train(replace(SMALL, seed=1), path, resume=True)
    best = pd.read_csv(path / "history.csv")["val_forecast_mae"].min()
    runs.train(SMALL, path, resume=True)
    history = pd.read_csv(path / "history.csv")
    assert history["epoch"].tolist() == [0, 1, 2]  # went on, did not start again
    assert history["val_forecast_mae"].min() <= best
    with pytest.raises(FileExistsError, match="is finished"):
        runs.train(SMALL, path, resume=True)


def test_nothing_to_resume_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no settings\.json"):
        runs.train(SMALL, tmp_path, resume=True)


def test_forecast_stands_behind_the_frame(folder):
    run = runs.load_run(folder)
    frame = runs.load_series("air_passengers")
    future = runs.forecast(run, frame)
    assert [str(date.date()) for date in future.index[[0, -1]]] == ["1961-01-01", "1961-06-01"]
    assert list(future.columns) == ["passengers"]
    pd.testing.assert_frame_equal(future, runs.forecast(run, frame.iloc[-24:]))


@pytest.mark.parametrize(("freq", "season"), [("h", 24), ("MS", 12), ("W-TUE", 52), ("7h", 24)])
def test_season_follows_the_frequency(freq, season):
    frame = pd.DataFrame({"x": 0.0}, pd.date_range("2020-01-01", periods=9, freq=freq))
    assert runs._complete(replace(SMALL, data="x.csv"), frame).season == season
