"""Combination of several trained forecasters."""

import warnings

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from kerastrans.data import WindowScaler
from tests.helpers.frames import long_frame
from tests.helpers.runtimes import RUNTIMES

FRAME = long_frame([40, 30, 9]).assign(y=lambda x: 100 + 5 * x["y"], price=lambda x: x.index % 3)
OPTIONS = (
    {"context_length": 6, "loss": "smape", "scaler": "mean_abs"},
    {"context_length": 12, "loss": "mape", "scaler": "mean_abs"},
    {"context_length": 9, "loss": "mase", "scaler": WindowScaler("mase", 2)},
)


def trained(name="nlinear", epochs=0, **options):
    """Return a forecaster, by default with its initial weights."""
    options = {"prediction_length": 3, **options}
    return Forecaster(name, **options).fit(FRAME, epochs=epochs, verbose=0)


@pytest.fixture(scope="module")
def points():
    return [trained(head="point", seed=i, **options) for i, options in enumerate(OPTIONS)]


@pytest.fixture(scope="module")
def quantiles():
    return [trained(context_length=n) for n in (6, 12)]


@pytest.mark.parametrize(("how", "function"), [("median", np.median), ("mean", np.mean)])
def test_combine_forecasts_the_median_or_the_mean_of_its_members(points, how, function):
    combined = kerastrans.combine(points, how)
    separate = [x.predict(FRAME)["nlinear"] for x in points]
    found = combined.predict(FRAME)["ensemble"]
    np.testing.assert_allclose(found, function(separate, axis=0), rtol=1e-5)
    assert combined.context_length == 12


def test_each_quantile_is_combined_separately_and_quantiles_do_not_cross(quantiles):
    columns = ["nlinear-lo-95", "nlinear-lo-80", "nlinear", "nlinear-hi-80", "nlinear-hi-95"]
    separate = [x.predict(FRAME)[columns].to_numpy() for x in (*quantiles, quantiles[0])]
    combined = kerastrans.combine([*quantiles, quantiles[0]], alias="nlinear")
    found = combined.predict(FRAME)[columns].to_numpy()
    np.testing.assert_allclose(found, np.median(separate, axis=0), rtol=1e-4)
    assert (np.diff(found, axis=1) >= 0).all()


def test_a_combined_forecaster_is_saved_and_warns_about_backtests_on_training_rows(
    points, tmp_path
):
    combined = kerastrans.combine([*points, trained(epochs=1, head="point", context_length=3)])
    rows = combined.predict(FRAME)
    combined.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(FRAME), rows)
    with pytest.warns(UserWarning, match="trained"):
        loaded.backtest(FRAME, windows=1)
    for each in (combined, loaded):
        with pytest.raises(ValueError, match=r"made by kerastrans\.combine, whose members"):
            each.clone()
        with pytest.raises(ValueError, match=r"made by kerastrans\.combine, whose members"):
            each.backtest(FRAME, windows=1, refit=True, epochs=1, verbose=0)


@pytest.mark.slow
def test_calibrating_and_fitting_a_combination_does_not_change_its_members(points):
    separate = points[0].predict(FRAME)
    combined = kerastrans.combine(points).calibrate(FRAME, windows=5, levels=[80])
    assert "ensemble-lo-80" in combined.predict(FRAME)
    before = combined.predict(FRAME)["ensemble"]
    after = combined.fit(FRAME, epochs=1, verbose=0).predict(FRAME)
    assert (np.abs(after["ensemble"] - before) > 0).any()
    assert "ensemble-lo-80" not in after
    pd.testing.assert_frame_equal(points[0].predict(FRAME), separate)


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_combination_is_exported_as_one_file(points, tmp_path, runtime):
    combined = kerastrans.combine(points)
    suffix, run = RUNTIMES[runtime]
    combined.export(tmp_path / f"exported{suffix}")
    history = np.full((1, 12, 1), np.nan, "float32")
    history[0, -9:, 0] = FRAME["y"].to_numpy()[-9:]
    found = run(tmp_path / f"exported{suffix}", history)["forecast"]
    expected = combined.predict(FRAME).query("unique_id == 's2'")["ensemble"]
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nhits", "nlinear"])
def test_an_ensemble_of_one_equals_it_where_covariates_are_missing_and_is_trained(name):
    """ "s2" has 9 steps: those before it have no covariates either."""
    frame = FRAME.assign(price=FRAME["price"].where(FRAME.index != len(FRAME) - 2))
    static = pd.DataFrame({"unique_id": ["s0", "s1", "s2"], "size": [1.0, 2.0, np.nan]})
    member = Forecaster(name, 12, 3, past=["price"])
    member.fit(FRAME, static=static.fillna(3.0), epochs=1, verbose=0)
    combined = kerastrans.combine([member], alias=name)
    found, expected = (x.predict(frame, static=static) for x in (combined, member))
    np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    combined.fit(FRAME, static=static, epochs=1, verbose=0)
    assert np.isfinite(combined.history.history["loss"]).all()


@pytest.mark.parametrize("fill", [None, "last", "zero"])
def test_an_ensemble_of_one_ends_where_it_does(fill):
    frame = FRAME.assign(y=FRAME["y"].where(FRAME.index < len(FRAME) - 2))
    member = trained(context_length=6, head="point", fill=fill)
    combined = kerastrans.combine([member], alias="nlinear")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, expected = (x.predict(frame)["nlinear"] for x in (combined, member))
    told = ["1 of 3 series end with missing values" in str(x.message) for x in caught]
    assert told == ([] if fill == "zero" else [True, True])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.slow
def test_members_that_read_missing_covariates_apart_are_combined():
    frame = FRAME.assign(price=FRAME["price"].where(FRAME.index % 5 > 0))
    members = [trained(x, context_length=12, past=["price"]) for x in ("nhits", "tft")]
    combined = kerastrans.combine(members, "mean")
    separate = [x.predict(frame)[x.alias] for x in members]
    np.testing.assert_allclose(
        combined.predict(frame)["ensemble"], np.mean(separate, axis=0), rtol=1e-4
    )


@pytest.mark.slow
def test_members_with_different_covariates_and_calendar_are_combined():
    future = FRAME.groupby("unique_id").tail(3).drop(columns="y")
    future["ds"] += pd.Timedelta(days=3)
    members = [
        trained(context_length=6, future=["price"]),
        trained(context_length=8, future=["price"], calendar=True),
        trained(context_length=9),
    ]
    combined = kerastrans.combine(members, "mean", alias="nlinear")
    separate = [x.predict(FRAME, future=future)["nlinear"] for x in members]
    found = combined.predict(FRAME, future=future)["nlinear"]
    np.testing.assert_allclose(found, np.mean(separate, axis=0), rtol=1e-4)
    with pytest.raises(ValueError, match="with future covariates must have the same ones"):
        kerastrans.combine([members[0], trained(context_length=6, calendar=True)])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_samplers_are_combined_by_the_quantiles_of_their_samples(quantiles, tmp_path):
    small = {"d_model": 8, "num_heads": 2, "ff_dim": 8, "context_length": 12, "num_samples": 500}
    sampler = trained("decoder_transformer", 1, **small)
    columns = ["lo-95", "lo-80", "", "hi-80", "hi-95"]

    def rows_of(forecaster, median):
        rows = forecaster.predict(FRAME)
        names = [f"{forecaster.alias}-{x}" if x else median for x in columns]
        return rows[names].to_numpy()

    drawn = rows_of(sampler, "decoder_transformer-median")
    width = (drawn[:, 4] - drawn[:, 0]).mean()
    only = kerastrans.combine([sampler, sampler], "mean")
    assert np.abs(rows_of(only, "ensemble") - drawn).mean() < 0.05 * width
    for members in ([sampler, quantiles[0]], [quantiles[0], sampler]):
        combined = kerastrans.combine(members, "mean")
        expected = (drawn + rows_of(quantiles[0], "nlinear")) / 2
        assert np.abs(rows_of(combined, "ensemble") - expected).mean() < 0.05 * width
    combined.save(tmp_path / "saved")
    pd.testing.assert_frame_equal(
        Forecaster.load(tmp_path / "saved").predict(FRAME), combined.predict(FRAME)
    )
    one = combined.predict(FRAME[FRAME["unique_id"] == "s0"])
    every = combined.predict(FRAME).query("unique_id == 's0'")
    np.testing.assert_allclose(one["ensemble"], every["ensemble"], rtol=1e-6)
    before = rows_of(combined, "ensemble")
    assert (rows_of(combined.fit(FRAME, epochs=1, verbose=0), "ensemble") != before).any()
    with pytest.raises(ValueError, match="has quantiles samples, the first one has None"):
        kerastrans.combine([trained(head="point", context_length=6), sampler])


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.exhaustive
def test_a_combination_with_a_sampler_is_exported_as_one_file(quantiles, tmp_path):
    small = {"d_model": 8, "num_heads": 2, "ff_dim": 8, "context_length": 12}
    combined = kerastrans.combine([trained("decoder_transformer", **small), quantiles[0]], "mean")
    suffix, run = RUNTIMES["ONNX"]
    combined.export(tmp_path / f"exported{suffix}")
    history = np.full((1, 12, 1), np.nan, "float32")
    history[0, -9:, 0] = FRAME["y"].to_numpy()[-9:]
    found = run(tmp_path / f"exported{suffix}", history)["forecast"]
    expected = combined.predict(FRAME).query("unique_id == 's2'")["ensemble"]
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"prediction_length": 2},
            r"forecasters\[1\] \(nlinear\) has prediction_length 2, the fir",
        ),
        ({"head": "point"}, "has quantiles None, the first one has"),
        ({"head": "normal"}, "has a NormalHead: only points, quantiles or samples can"),
        ({"name": "cyclenet", "cycle_length": 7}, r"its model takes \['position'\]"),
    ],
)
def test_forecasters_with_different_settings_are_refused(quantiles, change, message):
    other = trained(**{"context_length": 6, **change})
    with pytest.raises(ValueError, match=message.replace("(nlinear)", ".*")) as error:
        kerastrans.combine([quantiles[0], other])
    assert "\n" not in str(error.value)


def test_empty_lists_and_untrained_forecasters_are_refused(quantiles):
    for none in ([], quantiles[0]):
        with pytest.raises(ValueError, match="must be a list of trained forecasters, got"):
            kerastrans.combine(none)
    with pytest.raises(ValueError, match=r"forecasters\[0\] must be a Forecaster, got 'nhits'"):
        kerastrans.combine(["nhits"])
    with pytest.raises(RuntimeError, match="not trained"):
        kerastrans.combine([Forecaster("nlinear", 6, 3)])
    with pytest.raises(ValueError, match="how must be one of 'median', 'mean', got 'mode'"):
        kerastrans.combine(quantiles, "mode")


def odd_series():
    """Return series that float32, or the scale of a single window, cannot represent."""
    rng = np.random.default_rng(0)
    steps = np.arange(90)
    live = 10 + 3 * np.sin(2 * np.pi * steps / 7) + rng.normal(0, 0.5, 90)
    stuck = np.where(steps < 50, live, live[50])
    burst = np.where(steps % 45 < 3, 20.0, 0.0)
    values = {"live": live, "stuck": stuck, "burst": burst, "flat": np.full(90, 7.5)}
    values |= {f"level {level:.0e}": level + live for level in (1e6, 1e7, 1e8, 1e9)}
    values |= {"small": 1e-8 * live, "large": 1e12 * live}
    dates = pd.date_range("2024-01-01", periods=90)
    frames = [pd.DataFrame({"unique_id": x, "ds": dates, "y": y}) for x, y in values.items()]
    return pd.concat(frames, ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["mean", "median"])
def test_a_combination_of_extreme_series_equals_the_mean_or_median_of_its_members(how):
    options = [{}, {"name": "rlinear", "context_length": 14}, {"fill": "last"}]
    options.append({"scaler": "mase", "name": "dlinear", "moving_average": 5})
    members = [trained(**{"context_length": 8, **x}) for x in options]
    combined = kerastrans.combine(members, how, alias="x")
    frame = odd_series()
    found = combined.predict(frame).drop(columns="ds").set_index("unique_id")
    separate = [x.predict(frame).iloc[:, 2:].to_numpy() for x in members]
    expected = getattr(np, how)(separate, axis=0)
    # Medians of quantiles may cross; a frame of forecasts has its bounds sorted.
    size = frame.groupby("unique_id")["y"].std().clip(lower=1e-6 * 7.5)
    error = np.abs(found - expected).max(axis=1).groupby(level=0).max() / size
    assert (error < 1e-5).all(), error
