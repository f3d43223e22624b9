"""The factor of the spread that `fit` measures on what it held out."""

import contextlib
import re
import types
import warnings

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.forecasting.training import spread
from kerastrans.forecasting.training.defaults import held_out_steps, rows_needed
from kerastrans.forecasting.training.spread import best_factor, shrink_factor


def normal_parameters(head, std, shape=(2000, 3, 1)):
    """Parameters of forecasts of 0 with this standard deviation."""
    if isinstance(head, heads.QuantileHead):
        from scipy.stats import norm

        return np.broadcast_to(std * norm.ppf(head.levels), (*shape, head.size))
    return np.broadcast_to([0.0, std], (*shape, 2))


@pytest.mark.parametrize("name", ["normal", "quantiles"])
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_factor_makes_the_spread_that_of_the_outcomes(name, factor):
    head = heads.get(name)
    rng = np.random.default_rng(0)
    scale = rng.uniform(1, 100, (2000, 1, 1))
    parameters = normal_parameters(head, 2.0) * scale[..., None]
    targets = rng.normal(0, 2.0 * factor, (2000, 3, 1)) * scale
    targets[::7] = np.nan
    assert best_factor(head, parameters, targets, scale) == pytest.approx(factor, rel=0.03)


def test_nothing_is_measured_without_a_known_outcome():
    head = heads.get("normal")
    parameters = normal_parameters(head, 1.0, (4, 3, 1))
    assert best_factor(head, parameters, np.full((4, 3, 1), np.nan), np.ones((4, 1, 1))) == 1


@pytest.mark.parametrize("name", ["quantiles", "normal", "student_t", "mixture"])
def test_a_head_scales_its_spread_and_keeps_it_in_its_config(name):
    head = heads.get(name)
    raw = np.random.default_rng(0).normal(size=(2, 4 * head.size, 1)).astype("float32")
    before = np.asarray(head(raw, prediction_length=4), "float64")
    head.spread = 2.0
    again = type(head).from_config(head.get_config())
    after = np.asarray(again(raw, prediction_length=4), "float64")
    if name == "quantiles":
        middle = before[..., 3:4]
        np.testing.assert_allclose(after, middle + 2 * (before - middle), rtol=1e-5, atol=1e-5)
    else:
        k = head.num_locations
        np.testing.assert_allclose(after[..., k : 2 * k], 2 * before[..., k : 2 * k], rtol=1e-5)
        np.testing.assert_array_equal(after[..., :k], before[..., :k])


def noisy(length=90, seed=0):
    """Few rows without a pattern: a large network remembers them."""
    y = 50 + np.random.default_rng(seed).normal(size=length)
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    return pd.DataFrame({"unique_id": "s", "ds": times, "y": y})


@pytest.fixture(scope="module")
def trained():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kerastrans.forecasting.training.loop.MAX_EPOCHS", 1)
        return Forecaster("nlinear", 12, 6, seed=1).fit(noisy(), verbose=0)


@pytest.mark.parametrize(
    ("series", "dates", "wider", "narrower"),
    [
        ([0], [0], 2 ** (1 / 2), 0.5 ** (1 / 11)),
        (range(30), [7] * 30, 2 ** (30 / 31), 0.5 ** (1 / 11)),  # they err together
        ([0] * 30, range(30), 2 ** (30 / 31), 0.5 ** (30 / 40)),
        ([0] * 30, [3, 4] * 15, 2 ** (2 / 3), 0.5 ** (2 / 12)),  # they overlap
    ],
)
def test_few_forecasts_count_less_and_narrow_by_their_dates_alone(series, dates, wider, narrower):
    assert shrink_factor(2.0, np.array(series), np.array(dates)) == pytest.approx(wider)
    assert shrink_factor(0.5, np.array(series), np.array(dates)) == pytest.approx(narrower)


def test_fit_measures_the_spread_and_every_way_out_has_it(trained, tmp_path):
    spread = heads.of(trained.model).spread
    assert spread != 1
    trained.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert heads.of(loaded.model).spread == spread
    pd.testing.assert_frame_equal(loaded.predict(noisy()), trained.predict(noisy()))
    assert heads.of(trained.clone().fit(noisy(), epochs=1, verbose=0).model).spread == 1


def test_a_further_fit_trains_the_network_with_its_spread(trained, tmp_path):
    trained.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    x = np.random.default_rng(0).normal(size=(8, 12, 1)).astype("float32")
    y = np.zeros((8, 6, 1), "float32")
    wanted = float(loaded.model.loss(y, loaded.model(x)))
    assert loaded.model.evaluate(x, y, verbose=0) == pytest.approx(wanted, rel=1e-4)
    assert trained.model.evaluate(x, y, verbose=0) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
def test_points_and_counts_have_no_spread():
    frame = noisy()
    point = Forecaster("nlinear", 12, 6, head="point").fit(frame, verbose=0)
    assert heads.of(point.model).spread == 1
    counts = frame.assign(y=np.random.default_rng(0).poisson(3, len(frame)).astype(float))
    options = {"head": "negative_binomial", "scaler": None}
    counted = Forecaster("nlinear", 12, 6, **options).fit(counts, verbose=0)
    assert heads.of(counted.model).spread == 1


def test_a_forecast_without_spread_has_no_factor():
    samples = np.repeat(np.arange(4.0).reshape(4, 1, 1, 1), 3, axis=-1)
    factor = best_factor(heads.Samples(), samples, np.ones((4, 1, 1)), np.ones((4, 1, 1)))
    assert factor == 1


def test_an_interrupted_measurement_leaves_the_spread(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(spread, "forecast_windows", interrupt)
    monkeypatch.setattr(spread, "mean_distance", lambda *_: 1.0)
    monkeypatch.setattr(spread, "best_factor", lambda *_: 2.0)
    model = zoo.build("nlinear", 8, 2, 1, head="quantiles")
    state = types.SimpleNamespace(model=model, head=heads.of(model), decodes=True)
    parts = dict.fromkeys(("windows", "parameters", "targets", "scale"))
    with pytest.raises(KeyboardInterrupt):
        spread.SpreadCorrection(state, types.SimpleNamespace(**parts))
    assert heads.of(model).spread == 1


@pytest.mark.parametrize(("later", "expected"), [(4.0, 1.5), (2.0, 1.5), (1.0, 3.0), (0.1, 7.5)])
def test_a_forecast_is_never_narrower_after_its_windows_have_trained(later, expected, monkeypatch):
    """The spread is 1.5 by the measurement, and more by as much as the forecast has narrowed."""
    width = object.__new__(spread.SpreadCorrection)
    width.factor, width.distance, width.windows = 1.5, 2.0, None
    monkeypatch.setattr(spread, "forecast_windows", lambda *_: None)
    monkeypatch.setattr(spread, "mean_distance", lambda *_: later)
    model = zoo.build("nlinear", 8, 2, 1, head="quantiles")
    state = types.SimpleNamespace(model=model, head=heads.of(model))
    width.apply(state, is_trained_on=True)
    assert heads.of(model).spread == pytest.approx(expected)


TOO_SHORT = (
    r"the median series has {} rows, and {} are needed .* intervals of {} steps .*"
    r"from_pretrained\(.kerastrans_zero., {}\) needs no training"
)


@pytest.fixture
def stopped(monkeypatch):
    """A fit takes no step, and stops before it measures anything."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    fit = "kerastrans.forecasting.training.fit"
    monkeypatch.setattr(f"{fit}.fit_model", lambda *_, **__: None)
    monkeypatch.setattr(f"{fit}.finish", interrupt)


def spread_warnings(forecaster, frame, **options):
    """Messages of a fit about the spread."""
    with warnings.catch_warnings(record=True) as caught, contextlib.suppress(KeyboardInterrupt):
        warnings.simplefilter("always")
        forecaster.fit(frame, **options)
    kind = spread.UnmeasuredSpreadWarning
    caught = [warning for warning in caught if issubclass(warning.category, kind)]
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught]


def test_a_number_of_epochs_without_held_out_rows_is_told_once(stopped):
    (message,) = spread_warnings(Forecaster("nlinear", 12, 6), noisy(), epochs=1, verbose=0)
    assert message.startswith("epochs=1 holds out no rows: intervals are in-sample")
    assert "validation_size" in message
    assert "calibrate" in message


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"head": "point"}, {"epochs": 1}),  # no intervals
        ({}, {"epochs": 0}),  # nothing is trained
        ({}, {"epochs": 1, "validation_size": 24}),
        ({}, {"epochs": 1, "validation": noisy(130)[90:]}),
    ],
)
def test_nothing_is_told_where_the_spread_is_measured_or_there_is_none(options, arguments, stopped):
    forecaster = Forecaster("nlinear", 12, 6, **options)
    assert spread_warnings(forecaster, noisy(), verbose=0, **arguments) == []


@pytest.mark.slow
def test_epochs_measure_the_spread_on_the_rows_given_for_validation(tmp_path):
    options = {"epochs": 2, "validation_size": 30, "verbose": 0}
    forecaster = Forecaster("nlinear", 12, 6, seed=1).fit(noisy(), **options)
    bare = Forecaster("nlinear", 12, 6, seed=1).fit(noisy()[:-30], epochs=2, verbose=0)
    for weights, same in zip(forecaster.model.weights, bare.model.weights, strict=True):
        np.testing.assert_allclose(weights, same, rtol=1e-5, atol=1e-6)  # they train nothing
    factor = heads.of(forecaster.model).spread
    assert heads.of(bare.model).spread == 1
    assert factor > 1.1
    narrow, wide = (x.predict(noisy(), levels=[80]) for x in (bare, forecaster))
    ratio = wide["nlinear-hi-80"] - wide["nlinear-lo-80"]
    ratio /= narrow["nlinear-hi-80"] - narrow["nlinear-lo-80"]
    np.testing.assert_allclose(ratio, factor, rtol=1e-3)
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert heads.of(loaded.model).spread == factor
    again = [x.fit(noisy(seed=1), **options) for x in (forecaster, loaded)]
    spreads = [heads.of(x.model).spread for x in again]
    assert spreads[0] == pytest.approx(spreads[1], rel=1e-5)
    assert spreads[0] != factor


def test_a_failed_fit_with_validation_rows_keeps_the_spread(trained, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = heads.of(trained.model).spread
    monkeypatch.setattr("kerastrans.forecasting.training.fit.finish", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trained.fit(noisy(seed=1), epochs=1, validation_size=24, verbose=0)
    assert heads.of(trained.model).spread == before


@pytest.mark.parametrize(
    ("num_series", "length", "needed"), [(1, 11, 240), (1, 239, 240), (2, 119, 120), (9, 12, 13)]
)
def test_too_few_rows_are_told_once_with_how_many_are_needed(num_series, length, needed, stopped):
    frames = [noisy(length, seed).assign(unique_id=str(seed)) for seed in range(num_series)]
    (message,) = spread_warnings(Forecaster("nlinear", 5, 6), pd.concat(frames))
    assert re.match(TOO_SHORT.format(length, needed, 6, 6), message)


@pytest.mark.slow
def test_auto_tells_it_once_in_a_whole_fit():
    options = {"time_limit": 1e-6, "verbose": 0}
    forecaster = Forecaster(prediction_length=12)
    (message,) = spread_warnings(forecaster, noisy(22), **options)
    assert forecaster.alias == "tide"
    assert re.match(TOO_SHORT.format(22, 480, 12, 12), message)


@pytest.mark.parametrize(("num_series", "length"), [(1, 240), (2, 120), (9, 13), (60, 9)])
def test_enough_rows_are_not_told(num_series, length, stopped):
    frames = [noisy(length, seed).assign(unique_id=str(seed)) for seed in range(num_series)]
    assert spread_warnings(Forecaster("nlinear", 5, 6), pd.concat(frames)) == []


def test_a_long_series_whose_end_is_missing_is_told(stopped):
    frame = noisy(300)
    frame.loc[frame.index >= 250, "y"] = np.nan
    (message,) = spread_warnings(Forecaster("nlinear", 5, 6), frame)
    assert message.startswith("the median series has 300 rows with missing values, and 240 are")


def test_a_series_as_long_as_the_context_is_told_what_it_needs(stopped):
    forecaster = Forecaster("nlinear", 300, 6, short="refuse")
    (message,) = spread_warnings(forecaster, noisy(308))
    assert message.startswith("the median series has 308 rows, and 312 are needed")


@pytest.mark.parametrize("num_series", [1, 2, 3, 4, 49])
@pytest.mark.parametrize("steps", [1, 7, 24, 30])
def test_the_rows_needed_are_the_fewest_that_hold_out_four_forecasts(num_series, steps):
    def forecasts(rows):
        return num_series * held_out_steps([rows] * num_series, steps) // steps

    needed = rows_needed(num_series, steps)
    assert forecasts(needed) >= 4 > forecasts(needed - 1)
