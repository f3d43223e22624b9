"""Forecasts of more and fewer steps than a model was trained for."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster

SIZE = 14, 6
LONGER = {"prediction_length": 8}


def frame_of(names="ab", length=90, columns=False):
    parts = []
    for number, name in enumerate(names):
        random = np.random.default_rng(number)
        dates = pd.date_range("2024-01-01", periods=length)
        price = random.uniform(size=length)
        wave = 3 * np.sin(2 * np.pi * np.arange(length) / 7)
        values = 20 + wave + 4 * price + random.normal(size=length)
        part = {"unique_id": name, "ds": dates, "y": values}
        parts.append(pd.DataFrame({**part, "price": price} if columns else part))
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()


def walk(length=600, seed=0):
    values = np.random.default_rng(seed).normal(size=length).cumsum()
    dates = pd.date_range("2024-01-01", periods=length)
    return pd.DataFrame({"unique_id": "w", "ds": dates, "y": values})


@pytest.fixture(scope="module")
def points():
    return Forecaster("seasonal_naive", *SIZE, season=7).fit(FRAME)


def test_fewer_steps_are_the_first_ones(points):
    rows = points.predict(FRAME)
    first = rows[rows.groupby("unique_id").cumcount() < 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(points.predict(FRAME, prediction_length=2), first)
    backtest = points.backtest(FRAME, windows=2, prediction_length=2)
    assert backtest["ds"].max() == FRAME["ds"].max()
    assert len(backtest) == 2 * 2 * 2


def test_points_are_fed_back(points):
    """Six steps of the last period, repeated: the seasonal naive forecast of any horizon."""
    rows = points.predict(FRAME, prediction_length=20)
    for name, part in rows.groupby("unique_id"):
        period = FRAME[FRAME["unique_id"] == name]["y"].to_numpy()[-7:]
        np.testing.assert_allclose(part["seasonal_naive"], np.resize(period, 20), rtol=1e-6)
    with pytest.raises(ValueError, match="a point forecast has no distribution"):
        points.simulate(FRAME, prediction_length=20)


def test_intervals_of_a_random_walk_grow():
    """Repeated offsets of 4 steps give the intervals of the sums of shocks."""
    frame = walk()
    forecaster = Forecaster("last_value", 100, 4, num_samples=400).fit(frame)
    forecaster.calibrate(frame, windows=120, step=4, levels=(50, 80))
    rows = forecaster.predict(frame, prediction_length=16)
    width = (rows["last_value-hi-80"] - rows["last_value-lo-80"]).to_numpy()
    pd.testing.assert_frame_equal(rows[:4], forecaster.predict(frame), rtol=1e-6)
    assert width[15] / width[3] == pytest.approx(2, rel=0.2)
    backtest = forecaster.backtest(frame, windows=6, step=40, prediction_length=16)
    assert list(backtest.groupby("cutoff").size()) == 6 * [16]
    paths = forecaster.simulate(frame, num_paths=400, prediction_length=16)
    last = paths.groupby("path")["last_value"].last()
    assert last.quantile(0.9) - last.quantile(0.1) == pytest.approx(width[15], rel=0.1)


def test_values_after_an_origin_are_not_read():
    frame = walk()
    forecaster = Forecaster("last_value", 100, 4).fit(frame)
    forecaster.calibrate(frame[:400], windows=60, step=4, levels=(80,))
    other = frame.assign(y=np.where(np.arange(600) < 560, frame["y"], 1e4))
    rows, others = (
        forecaster.backtest(x, windows=1, prediction_length=40).drop(columns="y")
        for x in (frame, other)
    )
    pd.testing.assert_frame_equal(rows, others)


@pytest.mark.filterwarnings("ignore:80 % requires 4 calibration origins")
def test_intervals_for_a_horizon_and_their_limits(points):
    forecaster = Forecaster("seasonal_naive", *SIZE, season=7).fit(FRAME)
    forecaster.calibrate(FRAME, windows=8, step=2, levels=(80,), prediction_length=15)
    assert forecaster.fitted.intervals.prediction_length == 15
    assert len(forecaster.predict(FRAME, prediction_length=10)) == 20
    assert len(forecaster.predict(FRAME)) == 12
    paths = forecaster.simulate(FRAME, num_paths=200, prediction_length=10)
    low = paths.groupby(["unique_id", "ds"])["seasonal_naive"].quantile(0.1).to_numpy()
    rows = forecaster.predict(FRAME, prediction_length=10)
    widths = rows["seasonal_naive-hi-80"] - rows["seasonal_naive-lo-80"]
    assert (abs(low - rows["seasonal_naive-lo-80"]) < 0.05 * widths).all()
    with pytest.raises(ValueError, match=r"calibrated for 15 steps, asked for 16: call calibrate"):
        forecaster.predict(FRAME, prediction_length=16)
    forecaster.calibrate(FRAME, windows=8, step=2, levels=(80,), prediction_length=3)
    with pytest.raises(ValueError, match="calibrated for 3 steps, asked for 6"):
        forecaster.predict(FRAME)


def test_invalid_horizons(points):
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="prediction_length must be an integer of at least 1"):
            points.predict(FRAME, prediction_length=wrong)
    with pytest.raises(ValueError, match="refit=True and prediction_length=9 cannot be combined"):
        points.backtest(FRAME, refit=True, prediction_length=9)


@pytest.mark.slow
def test_a_short_series_and_a_gap(points):
    short = FRAME.groupby("unique_id").head(5)
    assert np.isfinite(points.predict(short, prediction_length=20)["seasonal_naive"]).all()
    gap = FRAME.assign(y=FRAME["y"].where(np.arange(len(FRAME)) % 90 != 88))
    assert np.isfinite(points.predict(gap, prediction_length=20)["seasonal_naive"]).all()


@pytest.mark.slow
def test_covariates_calendar_and_bounds_of_later_steps():
    frame = frame_of(columns=True)
    known = frame[frame.groupby("unique_id").cumcount() < 60]
    future = frame[frame.groupby("unique_id").cumcount() >= 60].drop(columns="y")
    options = {"future": ["price"], "calendar": True, "bounds": (18, None)}
    forecaster = Forecaster("nlinear", *SIZE, num_samples=50, **options)
    clipped = known.assign(y=known["y"].clip(18))
    forecaster.fit(clipped, epochs=2, verbose=0)
    rows = forecaster.predict(clipped, future=future, prediction_length=24)
    assert rows["nlinear-lo-95"].min() >= 18
    dear = future.assign(price=future["price"].where(future["ds"] != "2024-03-20", 100.0))
    others = forecaster.predict(clipped, future=dear, prediction_length=24)
    is_changed = ~np.isclose(rows["nlinear"], others["nlinear"], rtol=1e-4)
    assert rows["ds"][is_changed].min() == pd.Timestamp("2024-03-20")  # in the fourth forecast
    few = future[future.groupby("unique_id").cumcount() < 10]
    with pytest.raises(ValueError, match="no future covariates for 2024-03-11"):
        forecaster.predict(clipped, future=few, prediction_length=24)
    # All covariates of the model's own steps are needed for fewer steps, too.
    assert len(forecaster.predict(clipped, future=few, prediction_length=2)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("head", ["point", "quantiles"])
def test_the_last_of_several_forecasts_may_be_longer_than_needed(head):
    frame = frame_of(columns=True).assign(cap=40.0)
    known = frame[frame.groupby("unique_id").cumcount() < 60]
    future = frame[frame.groupby("unique_id").cumcount().between(60, 67)].drop(columns="y")
    options = {"future": ["price"], "bounds": (None, "cap"), "head": head, "num_samples": 20}
    forecaster = Forecaster("nlinear", *SIZE, **options).fit(known, epochs=1, verbose=0)
    rows = forecaster.predict(known, future=future, prediction_length=8)
    assert rows.groupby("unique_id").size().tolist() == [8, 8]
    assert rows.notna().all(axis=None)
    for name, part in rows.groupby("unique_id"):  # the steps of other series have no effect
        alone = known[known["unique_id"] == name]
        single = forecaster.predict(alone, future=future[future["unique_id"] == name], **LONGER)
        if head == "point":
            np.testing.assert_allclose(part["nlinear"], single["nlinear"], rtol=1e-5)
        else:
            np.testing.assert_allclose(part["nlinear"][:6], single["nlinear"][:6], rtol=1e-5)


@pytest.mark.slow
def test_past_covariates_are_not_known_later():
    frame = frame_of(columns=True)
    forecaster = Forecaster("nlinear", *SIZE, past=["price"]).fit(frame, epochs=1, verbose=0)
    assert len(forecaster.predict(frame, prediction_length=3)) == 6
    with pytest.raises(ValueError, match=r"exceeds the model's 6 steps.*\['price'\] are not known"):
        forecaster.predict(frame, prediction_length=7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("deepar", "decoder_transformer"),
        pytest.param("time_series_transformer", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("columns", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_autoregressive_models_decode_on(name, columns):
    frame = frame_of(columns=True)
    options = {"units": 4} if name == "deepar" else {"d_model": 16, "num_heads": 2}
    options |= {"future": ["price"], "calendar": True} if columns else {}
    known = frame[frame.groupby("unique_id").cumcount() < 60]
    future = frame[frame.groupby("unique_id").cumcount() >= 60].drop(columns="y")
    future = future if columns else None
    forecaster = Forecaster(name, *SIZE, head="normal", num_samples=20, **options)
    forecaster.fit(known, epochs=1, verbose=0)
    rows = forecaster.predict(known, future=future)
    longer = forecaster.predict(known, future=future, prediction_length=13)
    assert len(longer) == 26
    np.testing.assert_allclose(
        forecaster.predict(known, future=future, prediction_length=2).groupby("unique_id").size(), 2
    )
    assert np.isfinite(longer.iloc[:, 2:]).all(axis=None)
    assert len(rows) == 12
    assert len(forecaster.simulate(known, future=future, prediction_length=13)) == 2 * 13 * 100


@pytest.mark.slow
def test_wide_frames_counts_and_files(tmp_path):
    wide = FRAME.pivot(index="ds", columns="unique_id", values="y").round()
    forecaster = Forecaster("nhits", *SIZE, head="negative_binomial", scaler=None, num_samples=20)
    forecaster.fit(wide, epochs=1, verbose=0)
    rows = forecaster.predict(wide, prediction_length=15)
    assert rows["unique_id"].tolist() == 15 * ["a"] + 15 * ["b"]
    paths = forecaster.simulate(wide, prediction_length=15, num_paths=10)
    np.testing.assert_array_equal(paths["nhits"], np.rint(paths["nhits"]))
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(wide, prediction_length=15), rows)


@pytest.mark.slow
def test_a_horizon_does_not_change_the_forecaster():
    forecaster = Forecaster("nlinear", *SIZE, num_samples=10).fit(FRAME, epochs=1, verbose=0)
    rows = forecaster.predict(FRAME)
    forecaster.predict(FRAME, prediction_length=20)
    assert forecaster.prediction_length == 6
    pd.testing.assert_frame_equal(forecaster.predict(FRAME), rows)


@pytest.mark.tensorflow
def test_the_horizon_of_a_file_is_fixed(points, tmp_path):
    with pytest.raises(ValueError, match="was built for prediction_length=6, got 20"):
        points.export(tmp_path / "model.onnx", prediction_length=20)
    few = Forecaster("seasonal_naive", *SIZE, season=7).fit(FRAME)
    few.calibrate(FRAME, windows=8, step=2, levels=(80,), prediction_length=3)
    with pytest.raises(ValueError, match="calibrated for 3 steps, a file forecasts 6"):
        few.export(tmp_path / "model.onnx")
