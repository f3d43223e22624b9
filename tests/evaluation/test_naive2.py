import numpy as np
import pandas as pd
import pytest

from kerastrans import backtesting, datasets
from kerastrans.evaluation.baselines.naive2 import (
    is_seasonal,
    naive2,
    naive2_backtest,
    seasonal_indices,
)

# The figure of decompose(AirPassengers, type = "multiplicative"), as R prints it.
PASSENGERS = (
    *(0.9102304, 0.8836253, 1.0073663, 0.9759060, 0.9813780, 1.1127758),
    *(1.2265555, 1.2199110, 1.0604919, 0.9217572, 0.8011781, 0.8988244),
)


def passengers():
    return datasets.load("air_passengers").iloc[:, 0].astype("float64")


def decomposed(x, f):
    """R's decompose, line for line."""
    weights = np.r_[0.5, np.ones(f - 1), 0.5] / f if f % 2 == 0 else np.ones(f) / f
    half = len(weights) // 2
    trend = np.full(len(x), np.nan)
    for t in range(half, len(x) - half):
        trend[t] = sum(weights[k] * x[t - half + k] for k in range(len(weights)))
    figure = np.array([np.nanmean((x / trend)[i::f]) for i in range(f)])
    return figure / figure.mean()


def seasonality_test(x, ppy):
    """The organisers' SeasonalityTest, line for line."""
    if len(x) < 3 * ppy:
        return False
    mean, count = np.mean(x), len(x)
    c0 = sum((x - mean) ** 2) / count
    acf = [sum((x[k:] - mean) * (x[:-k] - mean)) / count / c0 for k in range(1, ppy + 1)]
    limit = 1.645 / np.sqrt(count) * np.sqrt(np.cumsum([1, *(2 * np.square(acf))]))
    return abs(acf[ppy - 1]) > limit[ppy - 1]


def test_seasonal_indices_equal_those_of_r():
    values = passengers().to_numpy()
    np.testing.assert_allclose(seasonal_indices(values, 12), PASSENGERS, atol=5e-8)
    assert is_seasonal(values, 12)
    forecasts = naive2(values, np.arange(144, 168), 12)
    expected = values[-1] / PASSENGERS[-1] * np.resize(PASSENGERS, 24)
    np.testing.assert_allclose(forecasts, expected, rtol=1e-6)


@pytest.mark.parametrize("season", [2, 4, 5, 7, 12, 24])
def test_naive2_equals_the_code_of_the_m4_organisers(season):
    rng = np.random.default_rng(season)
    found = []
    for length in rng.integers(2 * season + 1, 8 * season, 30):
        strength = rng.uniform(0, 0.3)
        waves = 1 + strength * np.sin(2 * np.pi * np.arange(length) / season)
        x = 100 * waves * rng.uniform(0.9, 1.1, length)
        np.testing.assert_allclose(seasonal_indices(x, season), decomposed(x, season), rtol=1e-9)
        found.append(is_seasonal(x, season))
        assert found[-1] == seasonality_test(x, season)
    assert {True, False} == set(found)


def test_without_a_season_naive2_is_the_last_value():
    steps = np.arange(20, 24)
    x = np.random.default_rng(0).uniform(1, 2, 20)
    assert naive2(x, steps, 1).tolist() == [x[-1]] * 4
    for values in (np.ones(20), np.resize([0.0, 5.0], 20), np.resize([-1.0, 5.0], 20)):
        assert naive2(values, steps, 2).tolist() == [values[-1]] * 4
    assert np.isnan(naive2(np.full(5, np.nan), steps, 2)).all()


def test_phase_without_observations_has_no_seasonal_index():
    values = np.resize([1.0, 2.0, 4.0, 2.0], 60)
    values[2::4] = np.nan
    assert naive2(values, np.arange(60, 64), 4).tolist() == [2.0] * 4


def test_missing_values_do_not_shift_the_phase():
    values = np.resize([1.0, 2.0, 4.0], 60)
    expected = naive2(values, np.arange(60, 66), 3)
    np.testing.assert_allclose(expected, np.resize([1.0, 2.0, 4.0], 6), rtol=1e-9)
    ends = values.copy()
    ends[[0, 1, 58, 59]] = np.nan
    np.testing.assert_allclose(naive2(ends, np.arange(60, 66), 3), expected, rtol=1e-9)
    inside = values.copy()
    inside[[20, 37]] = np.nan
    np.testing.assert_allclose(naive2(inside, np.arange(60, 66), 3), expected, rtol=0.04)


@pytest.fixture
def backtest():
    """Two origins of the passengers, forecast by the month a year before."""
    y = passengers()
    rows = []
    for origin in (120, 126):
        times = y.index[origin : origin + 12]
        frame = pd.DataFrame({"unique_id": "a", "ds": times, "cutoff": y.index[origin - 1]})
        rows.append(frame.assign(y=y[times].to_numpy(), m=y.to_numpy()[origin - 12 : origin]))
    return pd.concat(rows, ignore_index=True)


def test_owa_equals_its_formula(backtest):
    y = passengers()
    history, train = y.to_frame("a"), y[:120].to_frame("a")
    naive = naive2_backtest(backtest, history)
    assert list(naive)[-1] == "naive2"
    for origin, rows in naive.groupby("cutoff"):
        known = y[:origin].to_numpy()
        index = decomposed(known, 12)
        phases = np.arange(len(known), len(known) + 12) % 12
        expected = known[-1] / index[(len(known) - 1) % 12] * index[phases]
        np.testing.assert_allclose(rows["naive2"], expected, rtol=1e-6)
    table = backtesting.skill({"m": backtest, "naive2": naive}, "naive2", train)

    def smape(forecast):
        return np.mean(np.abs(backtest["y"] - forecast) * 200 / (backtest["y"] + forecast))

    def mase(forecast):
        return np.mean(np.abs(backtest["y"] - forecast)) / y[:120].diff(12).abs().mean()

    own, base = backtest["m"], naive["naive2"]
    owa = (mase(own) / mase(base) + smape(own) / smape(base)) / 2
    assert table.loc["m", "owa"] == pytest.approx(owa, rel=1e-6)
    assert table.loc["naive2", "owa"] == 1.0
    assert list(table)[:3] == ["skill", "p", "owa"]


def test_owa_without_training_rows_is_refused(backtest):
    naive = naive2_backtest(backtest, passengers().to_frame("a"))
    with pytest.raises(ValueError, match="'naive2' is for OWA, which needs training rows: train="):
        backtesting.skill({"m": backtest, "naive2": naive}, "naive2")
    with pytest.raises(ValueError, match="season must be an integer of at least 1, got 0"):
        naive2_backtest(backtest, passengers().to_frame("a"), 0)
    assert "owa" not in backtesting.skill(
        {"m": backtest, "naive2": naive}, "m", passengers()[:120].to_frame("a")
    )


def test_naive2_uses_no_values_after_the_origin(backtest):
    history = passengers().to_frame("a")
    first = backtest[backtest["cutoff"] == backtest["cutoff"].min()]
    expected = naive2_backtest(first, history)["naive2"]
    history.iloc[120:] = 1e6
    found = naive2_backtest(first.assign(y=1e6), history)["naive2"]
    np.testing.assert_array_equal(found, expected)
