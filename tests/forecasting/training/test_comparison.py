"""Which weights `fit` keeps of a forecaster that began with published ones."""

import dataclasses

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.forecasting.training.comparison import _error_of_sum

STEPS, CARD = 6, {"name": "someone/model"}
WAVE = np.sin(np.arange(300) * 2 * np.pi / 12)


def frame(length=300):
    times = pd.date_range("2024-01-01", periods=length)
    noise = np.random.default_rng(0).normal(0, 0.1, (2, length))
    wide = {name: 10 + WAVE[:length] + noise[i] for i, name in enumerate("ab")}
    return pd.DataFrame(wide, times)


def published(epochs, **options):
    """A forecaster whose weights count as published."""
    forecaster = Forecaster("nlinear", 24, STEPS, alias="m", **options)
    forecaster.fit(frame()[:200], epochs=epochs, validation_size=2 * STEPS, verbose=0)
    forecaster.fitted = dataclasses.replace(forecaster.fitted, card=CARD, trained={})
    return forecaster


@pytest.mark.slow
def test_weights_that_held_out_windows_favour_are_kept(capsys, tmp_path):
    forecaster = published(0).fit(frame(), epochs=2, verbose=2)
    verdict = forecaster.fine_tuning
    assert verdict["kept"] == "trained"
    assert verdict["loss_change"] < -verdict["standard_error"] < 0
    assert verdict["windows"] == 5 * STEPS - STEPS + 1  # of both columns, for five forecasts
    assert set(forecaster.fitted.trained) == {"a"}  # the first of a wide frame's columns
    assert (
        f"fit kept the trained weights of someone/model: on {verdict['windows']} held-out windows, "
        "the quantile loss of the trained weights differs from that of someone/model by -"
        in capsys.readouterr().out
    )
    forecaster.save(tmp_path / "saved")
    assert Forecaster.load(tmp_path / "saved").fine_tuning == verdict


@pytest.mark.slow
def test_other_weights_are_not(capsys, tmp_path):
    forecaster = published(20)
    before, rows = forecaster.model.get_weights(), forecaster.predict(frame())
    forecaster.calibrate(frame(), windows=9, levels=[80])  # which moves the medians
    forecaster.model.optimizer.learning_rate = 0.5
    forecaster.fit(frame(), epochs=1, verbose=2)
    assert forecaster.fine_tuning["kept"] == "published"
    assert forecaster.fine_tuning["loss_change"] > 0
    assert "fit kept the published weights" in capsys.readouterr().out
    np.testing.assert_equal(forecaster.model.get_weights(), before)
    pd.testing.assert_series_equal(forecaster.predict(frame())["m"], rows["m"])
    assert forecaster.fitted.trained == {}  # rows that did not train
    assert forecaster.fitted.intervals is None
    assert forecaster.history.epoch == [0]
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame()), forecaster.predict(frame()))
    clone = loaded.clone()  # which a training that was kept would not allow
    assert clone.fine_tuning is None
    pd.testing.assert_frame_equal(clone.predict(frame()), forecaster.predict(frame()))


def test_series_that_are_too_short_to_judge_are_not_trained_on(capsys):
    forecaster = published(0)
    before = forecaster.model.get_weights()
    forecaster.fit(frame(40), epochs=2)
    found = forecaster.fine_tuning
    assert (found["kept"], found["loss_change"], found["windows"]) == ("published", None, 0)
    assert found["reason"].startswith("no held-out windows of several series or times")
    np.testing.assert_equal(forecaster.model.get_weights(), before)
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.slow
def test_the_guard_can_be_left_out_and_concerns_published_weights_only():
    forecaster = published(20)
    before = forecaster.model.get_weights()
    forecaster.model.optimizer.learning_rate = 0.5
    forecaster.fit(frame(), epochs=1, validation_size=STEPS, verbose=0, restore_published=False)
    assert forecaster.fine_tuning is None
    assert not np.array_equal(forecaster.model.get_weights()[0], before[0])
    other = Forecaster("nlinear", 24, STEPS).fit(frame(), epochs=1, verbose=0)
    assert other.fine_tuning is None


@pytest.mark.slow
def test_a_given_validation_frame_judges():
    forecaster = published(0, optimizer=keras.optimizers.Adam(1e-2))
    forecaster.fit(frame()[:200], validation=frame()[200:], epochs=1, verbose=0)
    assert forecaster.fine_tuning["windows"] == 100 - STEPS + 1


def test_the_error_of_a_sum_is_that_of_independent_clusters():
    residuals = np.array([1.0, -2.0, 0.5, 0.5])
    found = _error_of_sum(residuals, np.arange(4))
    expected = 4 * np.std(residuals, ddof=1) / 2  # of the sum of four, whose mean is 0
    np.testing.assert_allclose(found, expected)
    clusters = np.array([0, 1, 2, 2])  # whose sums are 1, -2 and 1
    np.testing.assert_allclose(_error_of_sum(residuals, clusters), np.sqrt(3 / 2 * 6))
    assert _error_of_sum(residuals, np.zeros(4, int)) == 0
