"""The factor of the spread that `fit` measures on what it held out."""

import re
import types
import warnings

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.forecasting.training import spread
from kerastrans.forecasting.training.defaults import held_out_steps, rows_needed
from kerastrans.forecasting.training.spread import count_forecasts, inflation, solve_spread


def normal_parameters(head, std, shape=(2000, 3, 1)):
    """Parameters of forecasts of 0 with this standard deviation."""
    if isinstance(head, heads.QuantileHead):
        from scipy.stats import norm

        return np.broadcast_to(std * norm.ppf(head.levels), (*shape, head.size))
    return np.broadcast_to([0.0, std], (*shape, 2))


def forecasts_of(parameters, targets):
    return types.SimpleNamespace(parameters=parameters, targets=targets)


def state_of(model, **facts):
    """Stand-in for a `FittedState` that has compiled nothing."""
    head = heads.of(model)
    return types.SimpleNamespace(model=model, head=head, **facts)


@pytest.mark.parametrize("name", ["normal", "quantiles"])
@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_factor_makes_the_spread_that_of_the_outcomes(name, factor):
    head = heads.get(name)
    rng = np.random.default_rng(0)
    scale = rng.uniform(1, 100, (2000, 1, 1))
    parameters = normal_parameters(head, 2.0) * scale[..., None]
    targets = rng.normal(0, 2.0 * factor, (2000, 3, 1)) * scale
    targets[::7] = np.nan
    numbers = 3 * np.arange(2000)
    found, growth, count = solve_spread(head, forecasts_of(parameters, targets), numbers)
    assert found == pytest.approx(factor, rel=0.03)
    assert growth == pytest.approx(0, abs=0.05)
    assert count == pytest.approx(2000 * 6 / 7, rel=0.05)


@pytest.mark.parametrize("name", ["normal", "quantiles"])
def test_intervals_cover_at_each_step_and_level_where_errors_grow_faster_than_the_forecast(name):
    """The errors are those of a random walk, the forecast has the same spread at each step."""
    head = heads.get(name)
    rng = np.random.default_rng(0)
    shape, steps = (4000, 12, 1), np.arange(1, 13)
    parameters = normal_parameters(head, 1.0, shape)
    targets = np.cumsum(rng.normal(size=shape), axis=1)
    forecasts = forecasts_of(parameters, targets)
    factor, growth, _ = solve_spread(head, forecasts, 12 * np.arange(4000))
    assert growth == pytest.approx(0.5, abs=0.02)
    head.build(shape)
    head.spread.assign(factor)
    head.spread_growth.assign(growth)
    spreads = np.asarray(head.spread_factors(12)).ravel()
    np.testing.assert_allclose(spreads, np.sqrt(steps), rtol=0.04)


def test_a_heavy_tail_is_covered_though_the_quantile_loss_is_least_elsewhere():
    """A tenth of the errors are ten times larger: the factor is a compromise of the levels."""
    head = heads.get("normal")
    rng = np.random.default_rng(0)
    shape = (5000, 1, 1)
    errors = rng.normal(size=shape) * np.where(rng.random(shape) < 0.1, 10, 1)
    known = forecasts_of(normal_parameters(head, 1.0, shape), errors)
    found, _, _ = solve_spread(head, known, np.arange(5000))
    levels = ((50, 0.6745), (80, 1.2816), (95, 1.96))
    wanted = [np.quantile(np.abs(errors), level / 100) / z for level, z in levels]
    assert found == pytest.approx(np.prod(np.minimum(wanted, 5)) ** (1 / 3), rel=0.01)


def test_nothing_is_measured_without_a_known_outcome():
    head = heads.get("normal")
    parameters = normal_parameters(head, 1.0, (4, 3, 1))
    unknown = forecasts_of(parameters, np.full((4, 3, 1), np.nan))
    assert solve_spread(head, unknown, np.arange(4)) == (1, 0, 0)


def test_a_step_without_a_known_outcome_is_left_out():
    head, shape = heads.get("normal"), (500, 3, 1)
    targets = np.random.default_rng(0).normal(0, 2, shape)
    targets[:, 1] = np.nan
    known = forecasts_of(normal_parameters(head, 1.0, shape), targets)
    factor, growth, _ = solve_spread(head, known, 3 * np.arange(500))
    assert factor == pytest.approx(2, rel=0.05)
    assert growth == pytest.approx(0, abs=0.1)


def test_coverage_with_few_forecasts_is_what_the_interval_says():
    """Simulated: the spread of a normal forecast is measured on so many others, at one step."""
    head, rng = heads.get("normal"), np.random.default_rng(0)
    covered = []
    for _ in range(400):
        targets = rng.normal(size=(8, 1, 1))
        known = forecasts_of(normal_parameters(head, 0.5, (8, 1, 1)), targets)
        factor, _, _ = solve_spread(head, known, np.arange(8))
        covered.append(np.mean(np.abs(rng.normal(size=500)) < 1.2816 * 0.5 * factor))
    assert np.mean(covered) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("name", ["quantiles", "normal", "student_t", "mixture"])
def test_a_head_scales_its_spread(name):
    head = heads.get(name)
    raw = np.random.default_rng(0).normal(size=(2, 4 * head.size, 1)).astype("float32")
    before = np.asarray(head(raw, prediction_length=4), "float64")
    assert not head.trainable_weights
    head.spread.assign(2.0)
    after = np.asarray(head(raw, prediction_length=4), "float64")
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
        with pytest.warns(spread.UnmeasuredSpreadWarning, match="240 are needed to measure"):
            return Forecaster("nlinear", 12, 6, seed=1).fit(noisy(), verbose=0)


@pytest.mark.parametrize(
    ("times", "alike", "count"),
    [
        (np.zeros(30, int), False, 30),  # series at one date
        (np.zeros(30, int), True, 1),  # which err together
        (1000 * np.arange(30), False, 30),  # dates of one series
        (100 * np.arange(30), False, 3),  # whose forecasts overlap
        (1000 * np.repeat(np.arange(10), 3), True, 10),
    ],
)
def test_forecasts_count_by_their_dates_and_by_series_that_err_independently(times, alike, count):
    errors = np.random.default_rng(0).normal(size=(30, 1000, 1))
    if alike:
        errors = errors[np.unique(times, return_inverse=True)[1]]
    assert count_forecasts(errors, times) == pytest.approx(count, rel=0.15)


def test_few_dates_narrow_less_and_few_forecasts_grow_less():
    head = heads.get("normal")
    errors = np.random.default_rng(0).normal(0, 0.5, (400, 2, 1)) * np.array([[1.0], [2.0]])
    known = forecasts_of(normal_parameters(head, 2.0, (400, 2, 1)), errors)
    one, growth, count = solve_spread(head, known, np.zeros(400, int))
    many, _, _ = solve_spread(head, known, 2 * np.arange(400))
    assert np.log(one) == pytest.approx(np.log(many) * 410 / 400 / 11, rel=0.1)
    assert growth == pytest.approx(count / (count + 2), rel=0.1)
    assert inflation(count) < 1.01


def test_a_growth_is_in_the_file_the_copies_and_the_loss(trained, tmp_path):
    trained.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    head = heads.of(loaded.model)
    assert float(head.spread_growth) == float(heads.of(trained.model).spread_growth) != 0
    with_growth = trained.predict(noisy(), levels=[80])
    head.spread_growth.assign(0.0)
    without = loaded.predict(noisy(), levels=[80])
    widths = [x["nlinear-hi-80"] - x["nlinear-lo-80"] for x in (with_growth, without)]
    steps = np.log(np.arange(1, 7))
    expected = np.exp(float(heads.of(trained.model).spread_growth) * (steps - steps.mean()))
    np.testing.assert_allclose(widths[0] / widths[1], expected, rtol=1e-4)
    wide = noisy().pivot_table(index="ds", columns="unique_id", values="y")
    pd.testing.assert_frame_equal(trained.predict(wide, levels=[80]), with_growth)


def test_fit_measures_the_spread_and_every_way_out_has_it(trained, tmp_path):
    spread = float(heads.of(trained.model).spread)
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
    assert not heads.of(point.model).weights
    counts = frame.assign(y=np.random.default_rng(0).poisson(3, len(frame)).astype(float))
    options = {"head": "negative_binomial", "scaler": None}
    counted = Forecaster("nlinear", 12, 6, **options).fit(counts, verbose=0)
    assert not heads.of(counted.model).weights


def test_a_forecast_without_spread_has_no_factor():
    samples = np.repeat(np.arange(4.0).reshape(4, 1, 1, 1), 3, axis=-1)
    known = forecasts_of(samples, samples[..., 0])
    assert solve_spread(heads.Samples(), known, np.arange(4))[0] == 1


def test_an_interrupted_measurement_leaves_the_spread(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(spread, "forecast_windows", interrupt)
    monkeypatch.setattr(spread, "mean_distance", lambda *_: 1.0)
    monkeypatch.setattr(spread, "solve_spread", lambda *_: (2.0, 0.0, 9.0))
    model = zoo.build("nlinear", 8, 2, 1, head="quantiles")
    state = state_of(model, decodes=True)
    panel = types.SimpleNamespace(numbers=lambda *_: np.arange(4))
    windows = types.SimpleNamespace(panel=panel, series=None, cuts=None)
    with pytest.raises(KeyboardInterrupt):
        spread.SpreadCorrection(state, types.SimpleNamespace(windows=windows))
    assert heads.of(model).spread == 1


@pytest.mark.parametrize(("again", "expected"), [((1.0, 0.0, 0.0), 2.0), ((1.5, 0.3, 9.0), 2.802)])
def test_a_second_measurement_of_samples_adds_what_it_found_alone(again, expected, monkeypatch):
    """Not the inflation again, and nothing if no outcome is known."""
    found = iter([(2.0, 0.1, 9.0), again])
    monkeypatch.setattr(spread, "solve_spread", lambda *_: next(found))
    monkeypatch.setattr(spread, "forecast_windows", lambda *_: None)
    monkeypatch.setattr(spread, "mean_distance", lambda *_: 1.0)
    model = zoo.build("nlinear", 8, 2, 1, head="quantiles")
    state = state_of(model, decodes=True)
    panel = types.SimpleNamespace(numbers=lambda *_: np.arange(4))
    windows = types.SimpleNamespace(panel=panel, series=None, cuts=None)
    correction = spread.SpreadCorrection(state, types.SimpleNamespace(windows=windows))
    assert correction.factor == pytest.approx(expected, rel=1e-3)
    assert correction.growth == 0
    assert heads.of(model).spread == 1


@pytest.mark.slow
@pytest.mark.tensorflow
def test_a_growth_is_in_an_exported_file(trained, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(trained.export(tmp_path / "model.onnx")))
    inputs = {"history": noisy()["y"].to_numpy("float32")[-12:].reshape(1, 12, 1)}
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs), strict=True))
    expected = trained.forecast_histories(inputs)
    assert heads.of(trained.model).spread_growth != 0
    np.testing.assert_allclose(found["quantiles"], expected["quantiles"], rtol=1e-5)


@pytest.mark.parametrize(("later", "expected"), [(4.0, 1.5), (2.0, 1.5), (1.0, 3.0), (0.1, 7.5)])
def test_a_forecast_is_never_narrower_after_its_windows_have_trained(later, expected, monkeypatch):
    """The spread is 1.5 by the measurement, and more by as much as the forecast has narrowed."""
    width = object.__new__(spread.SpreadCorrection)
    width.factor, width.growth, width.distance, width.windows = 1.5, 0.25, 2.0, None
    monkeypatch.setattr(spread, "forecast_windows", lambda *_: None)
    monkeypatch.setattr(spread, "mean_distance", lambda *_: later)
    model = zoo.build("nlinear", 8, 2, 1, head="quantiles")
    state = state_of(model)
    width.apply(state, is_trained_on=True)
    assert float(heads.of(model).spread) == pytest.approx(expected)
    assert heads.of(model).spread_growth == 0.25


TOO_SHORT = (
    r"the median series has {} rows, and {} are needed .* intervals of {} steps .*"
    r"from_pretrained\(.kerastrans_zero_2., {}\) needs no training"
)


@pytest.fixture
def stopped(monkeypatch):
    """A fit takes no step, and is told that its forecasts were worth nine independent ones."""
    fit = "kerastrans.forecasting.training.fit"
    monkeypatch.setattr(f"{fit}.fit_model", lambda *_, **__: None)
    monkeypatch.setattr(f"{fit}.measure_errors", lambda *_: None)
    monkeypatch.setattr(f"{fit}.finish", lambda errors, windows, *_: (windows, None, 9.0))


def spread_warnings(forecaster, frame, **options):
    """Messages of a fit about the spread."""
    with warnings.catch_warnings(record=True) as caught:
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
    both = forecaster.model.trainable_weights, bare.model.trainable_weights
    for weights, same in zip(*both, strict=True):
        np.testing.assert_allclose(weights, same, rtol=1e-5, atol=1e-6)  # they train nothing
    factor = float(heads.of(forecaster.model).spread)
    assert heads.of(bare.model).spread == 1
    assert factor > 1.1
    narrow, wide = (x.predict(noisy(), levels=[80]) for x in (bare, forecaster))
    ratio = wide["nlinear-hi-80"] - wide["nlinear-lo-80"]
    ratio /= narrow["nlinear-hi-80"] - narrow["nlinear-lo-80"]
    assert np.exp(np.log(ratio).mean()) == pytest.approx(factor, rel=1e-3)  # over the steps
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert heads.of(loaded.model).spread == factor
    again = [x.fit(noisy(seed=1), **options) for x in (forecaster, loaded)]
    spreads = [float(heads.of(x.model).spread) for x in again]
    assert spreads[0] == pytest.approx(spreads[1], rel=1e-5)
    assert spreads[0] != factor


def test_a_failed_fit_with_validation_rows_keeps_the_spread(trained, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = float(heads.of(trained.model).spread)
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


@pytest.mark.parametrize(("num_series", "length"), [(1, 240), (2, 120), (9, 13), (60, 9)])
def test_enough_rows_are_not_told(num_series, length, stopped):
    frames = [noisy(length, seed).assign(unique_id=str(seed)) for seed in range(num_series)]
    assert spread_warnings(Forecaster("nlinear", 5, 6), pd.concat(frames)) == []


def test_series_that_err_together_are_told(stopped, monkeypatch):
    fit = "kerastrans.forecasting.training.fit"
    monkeypatch.setattr(f"{fit}.finish", lambda errors, windows, *_: (windows, None, 1.3))
    frames = [noisy(20, seed).assign(unique_id=str(seed)) for seed in range(9)]
    (message,) = spread_warnings(Forecaster("nlinear", 5, 6), pd.concat(frames))
    assert message.startswith(
        "the 9 series may move together: their held-out forecasts are worth 1.3"
    )


@pytest.mark.parametrize(("common", "is_told"), [(0.0, False), (0.9, True)])
def test_many_short_series_with_the_same_shocks_are_told(common, is_told, stopped):
    """Series are held out, and the others have trained on the shocks of the same dates."""
    rng = np.random.default_rng(0)
    shocks = common * rng.normal(size=20)
    frames = [noisy(20).assign(unique_id=str(i)) for i in range(60)]
    for frame in frames:
        frame["y"] = 50 + np.cumsum(shocks + (1 - common) * rng.normal(size=20))
    messages = spread_warnings(Forecaster("nlinear", 5, 6), pd.concat(frames))
    assert [message.startswith("the 60 series may move together") for message in messages] == (
        [True] * is_told
    )


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


@pytest.mark.slow
def test_a_new_spread_is_that_of_the_next_forecast():
    times = pd.date_range("2024-01-01", periods=60, freq="D")
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60)}, times)
    forecaster = Forecaster("nlinear", 8, 2).fit(frame, epochs=1, validation_size=12, verbose=0)

    def widths():
        rows = forecaster.predict(frame, levels=[80])
        return (rows["nlinear-hi-80"] - rows["nlinear-lo-80"]).to_numpy()

    before, head = widths(), forecaster.fitted.head
    head.spread.assign(2 * head.spread)
    np.testing.assert_allclose(widths(), 2 * before, rtol=1e-5)
