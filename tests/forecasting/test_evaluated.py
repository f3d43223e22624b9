"""Calibration of a forecaster: its rows, its groups, its files."""

import warnings
from dataclasses import replace

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting, conformal
from kerastrans.forecasting.inference.rolling_origins import calibration_step

CONTEXT, HORIZON = 14, 7
NOISE = {"a": 1.0, "b": 4.0, "c": 30.0, "d": 30.0}
STATIC = pd.DataFrame({"unique_id": list(NOISE), "region": ["n", "n", "s", "s"]})


def series(name, length=900, start="2020-01-01", seed=0):
    """A wave of a week, which sets the scale of a window, and noise, which sets the errors."""
    rng = np.random.default_rng([seed, ord(name[0])])
    times = pd.date_range(start, periods=length, freq="D")
    wave = 400 * np.sin(2 * np.pi * np.arange(length) / 7)
    y = 100 + wave + NOISE.get(name, 1.0) * rng.normal(size=length)
    return pd.DataFrame({"unique_id": name, "ds": times, "y": y})


@pytest.fixture(scope="module")
def frame():
    return pd.concat([series(name) for name in NOISE], ignore_index=True)


def head_of(frame, rows):
    return frame.groupby("unique_id").head(rows)


def baseline(frame, scaler=None):
    return Forecaster("seasonal_naive", CONTEXT, HORIZON, season=7, scaler=scaler).fit(frame)


def covered(forecaster, frame, **kwargs):
    """Share by series of an 80 % interval, from origins after the calibration's."""
    backtest = forecaster.backtest(frame, windows=70, **kwargs)
    return backtesting.score(backtest, by="unique_id")["coverage-80"]


@pytest.mark.slow
def test_one_width_for_all_covers_in_the_mean_and_by_series_each(frame):
    forecaster, past = baseline(frame), head_of(frame, 400)
    forecaster.calibrate(past, windows=50, levels=(80,))
    together = covered(forecaster, frame)
    assert together["a"] == 1.0
    assert together["c"] < 0.75
    assert together.mean() == pytest.approx(0.8, abs=0.05)
    for options in ({"by": "unique_id"}, {"scale": "residuals"}):
        for method in ("split", "adaptive"):
            forecaster.calibrate(past, windows=50, levels=(80,), method=method, **options)
            alone = covered(forecaster, frame)
            np.testing.assert_allclose(alone, 0.8, atol=0.06)
    worst = conformal.coverage_by_series(forecaster.backtest(frame, windows=70))
    assert worst["coverage-80"].iloc[0] == alone.min()


def test_groups_of_a_static_column(frame):
    forecaster = baseline(frame)
    past = head_of(frame, 400)
    forecaster.calibrate(past, windows=50, levels=(80,), by="region", static=STATIC)
    assert list(forecaster.fitted.intervals.groups) == ["n", "s"]
    found = covered(forecaster, frame, static=STATIC)
    np.testing.assert_allclose(found[["c", "d"]], 0.8, atol=0.05)
    rows = forecaster.predict(frame, static=STATIC)
    rows["width"] = rows["seasonal_naive-hi-80"] - rows["seasonal_naive-lo-80"]
    width = rows.groupby("unique_id")["width"].mean()
    assert width["a"] == pytest.approx(width["b"], rel=0.05)
    assert width["c"] > 5 * width["b"]
    with pytest.raises(ValueError, match="by='region' requires static with the columns"):
        forecaster.predict(frame)
    with pytest.raises(ValueError, match="by='region' requires static with the columns"):
        forecaster.calibrate(past, windows=50, levels=(80,), by="region")


def test_a_series_that_did_not_calibrate_has_the_intervals_of_all(frame):
    forecaster, past = baseline(frame), head_of(frame, 400)
    forecaster.calibrate(past, windows=50, levels=(80,), by="unique_id")
    pooled = forecaster.fitted.intervals.offsets[80]
    with pytest.warns(UserWarning, match=r"1 of 2 series have no intervals by .*, 'new' is the"):
        rows = forecaster.predict(pd.concat([series("new"), past[past["unique_id"] == "a"]]))
    new = rows[rows["unique_id"] == "new"]
    widths = pooled[:, 0, 1] * series("new")["y"].tail(CONTEXT).std(ddof=0)
    np.testing.assert_allclose(new["seasonal_naive-hi-80"] - new["seasonal_naive"], widths)
    forecaster.calibrate(past, windows=50, levels=(80,), scale="residuals")
    with pytest.warns(UserWarning, match="1 of 1 series have no residuals, 'new'"):
        forecaster.predict(series("new"))


def test_a_group_with_too_few_windows_is_refused_by_name(frame):
    forecaster = baseline(frame)
    before = forecaster.fitted
    short = pd.concat([head_of(frame, 200), series("short", 10)])
    with pytest.raises(ValueError, match=r"group 'short' of by='unique_id': .*80 % .* 4 .* got 3"):
        forecaster.calibrate(short, windows=20, step=1, levels=(80,), by="unique_id")
    assert forecaster.fitted is before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"windows": 3}, r"80 % requires at least 4 calibration windows at every step, got 3"),
        ({"windows": 8, "symmetric": False}, r"asymmetric .* 80 % requires at least 9 .* 8"),
        ({"windows": 9, "method": "online"}, "method must be one of 'split', 'adaptive'"),
        ({"windows": 9, "scale": "series"}, "scale must be one of 'window', 'residuals'"),
        ({"windows": 9, "symmetric": "two"}, "symmetric must be one of None, True, False"),
        ({"windows": 9, "levels": ()}, "levels must name at least one percent to calibrate"),
        ({"windows": 9, "step": 0}, "step must be an integer of at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options, message, frame):
    forecaster, alone = baseline(frame), frame[frame["unique_id"] == "a"]
    with pytest.raises(ValueError, match=message) as caught:
        forecaster.calibrate(alone, **{"levels": (80,)} | options)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["split", "adaptive"])
@pytest.mark.parametrize("options", [{"by": "region"}, {"by": "unique_id", "scale": "residuals"}])
def test_calibrated_by_groups_it_is_saved_and_loaded(options, method, frame, tmp_path):
    forecaster = baseline(frame)
    forecaster.calibrate(
        head_of(frame, 400), windows=50, static=STATIC, levels=(80,), method=method, **options
    )
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    data = {"frame": frame, "static": STATIC}
    pd.testing.assert_frame_equal(loaded.predict(**data), forecaster.predict(**data))
    pd.testing.assert_frame_equal(
        loaded.backtest(**data, windows=20), forecaster.backtest(**data, windows=20)
    )


def test_the_default_step_spreads_the_origins_over_rows_not_seen(frame):
    forecaster = baseline(frame)
    panel = forecaster.reader.panel(head_of(frame, 200))

    def step(windows, trained=None, chosen_by=None):
        ends = dict.fromkeys(NOISE, panel.first[0] + trained) if trained else {}
        chosen = {"b": panel.first[0] + chosen_by} if chosen_by else {}
        fitted = replace(forecaster.fitted, trained=ends, chosen_by=chosen)
        return calibration_step(fitted, panel, windows)

    room = 200 - CONTEXT - HORIZON
    assert step(10) == HORIZON
    assert step(1 + room // 5) == 5
    assert step(1 + room) == 1
    assert step(2 + room) == 1
    assert step(1) == HORIZON
    room = 200 - 100 - HORIZON
    assert step(1 + room // 3, trained=100) == 3
    assert step(1 + room // 3, trained=90) == 3
    assert step(1 + (room - 30) // 3, trained=100, chosen_by=130) == 3
    assert step(50, trained=250) == 1
    assert step(1, trained=250) == 1
    panel = forecaster.reader.panel(pd.concat([head_of(frame, 200), series("e", 30)]))
    assert step(11) == HORIZON  # the short series has no room for them at any step
    assert step(3) == (30 - CONTEXT - HORIZON) // 2


def test_origins_that_overlap_are_not_enough_and_are_told(frame):
    forecaster = baseline(frame)
    past = head_of(frame, 400)
    with pytest.warns(UserWarning, match=r"95 % requires 19 .* that do not overlap, got 3:"):
        forecaster.calibrate(past, windows=19, step=1)
    assert forecaster.fitted.intervals.effective_origins == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        forecaster.calibrate(past, windows=19)
    assert forecaster.fitted.intervals.effective_origins == 19


@pytest.mark.slow
def test_rows_that_ended_the_training_do_not_calibrate_without_a_word(frame, tmp_path):
    message = "28 of 40 windows calibrate by rows that early stopping monitored"
    past, stop = head_of(frame, 300), keras.callbacks.EarlyStopping(patience=1)
    options = {"validation_size": 50, "epochs": 1, "verbose": 0}
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON).fit(past, callbacks=[stop], **options)
    forecaster.save(tmp_path / "saved")
    for trained in (forecaster, Forecaster.load(tmp_path / "saved")):
        with pytest.warns(UserWarning, match=message):
            trained.calibrate(head_of(frame, 320), windows=10, step=5, levels=(80,))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        trained.calibrate(head_of(frame, 400), windows=10, levels=(80,))  # of rows after them
        fixed = Forecaster("nlinear", CONTEXT, HORIZON).fit(past, **options)  # chose nothing
        fixed.calibrate(past, windows=6, levels=(80,))
    fixed.fit(head_of(frame, 100), callbacks=[stop], **options)
    assert set(fixed.fitted.chosen_by.values()) == {fixed.reader.panel(frame).first[0] + 100}


@pytest.mark.slow
def test_rows_of_the_default_hold_out_end_the_training(frame):
    given = keras.optimizers.Adam()  # it keeps its rate, and what is held out does not train
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON, optimizer=given).fit(
        head_of(frame, 60), verbose=0, steps_per_epoch=1
    )
    first = forecaster.reader.panel(frame).first[0]
    assert set(forecaster.fitted.trained.values()) == {first + 60 - HORIZON}
    assert set(forecaster.fitted.chosen_by.values()) == {first + 60}
    with pytest.warns(UserWarning, match="4 of 16 windows calibrate by rows that early stopping"):
        forecaster.calibrate(head_of(frame, 81), windows=4, step=7, levels=(80,))
    assert baseline(frame).fitted.chosen_by == {}
