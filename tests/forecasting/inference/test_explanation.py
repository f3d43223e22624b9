"""What each forecast of kerastrans-zero is the sum of, compared with `predict`."""

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster
from kerastrans.forecasting.inference.explanation import MEAN, PAST_VALUE
from kerastrans.models.pretrained.zero.explanation import network_of
from tests.helpers.weights import FRACAST_0, ZERO_1

STEPS = 7
RNG = np.random.default_rng(0)
DAYS = np.arange(90)


def long_frame():
    """Series of all kinds: short, with gaps, constant, of a high level, tiny, of one value."""
    season = np.sin(2 * np.pi * DAYS / 7) + 0.1 * RNG.normal(size=90)
    series = {
        "season": 20 + 5 * season,
        "trend": 0.3 * DAYS + season,
        "gaps": np.where(RNG.random(90) < 0.3, np.nan, 4 + season),
        "short": np.array([3.0, 5.0, 4.0, 6.0]),
        "constant": np.full(60, 7.5),
        "high": 1e8 + season,
        "tiny": 1e-8 * season,
        "one": np.array([2.0]),
        "last missing": np.append(4 + season[:-3], [np.nan] * 3),
    }
    parts = [
        pd.DataFrame({"unique_id": name, "ds": pd.date_range("2024-01-01", periods=len(y)), "y": y})
        for name, y in series.items()
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def zero():
    options = {"verbose": False, "freq": "D", "alias": "zero"}
    return kerastrans.from_pretrained(ZERO_1, STEPS, 64, **options)


@pytest.fixture(scope="module")
def explained(zero):
    frame = long_frame()
    with (
        pytest.warns(UserWarning, match="1 series have fewer than 4 known values"),
        pytest.warns(UserWarning, match="2 of 9 series end with missing values"),
    ):
        return frame, zero.explain(frame), zero.predict(frame)


def check_sums(rows, forecasts, frame):
    keys = ["unique_id", "ds"]
    sums = rows.groupby(keys)[["share", "contribution"]].sum()
    expected = forecasts.set_index(keys)["zero"].sort_index()
    # The model does not explain what is continued after missing values.
    ends = frame.groupby("unique_id")["y"].agg(lambda y: y.isna()[::-1].cumprod().sum())
    continued = expected.index.difference(sums.index).get_level_values(0).value_counts()
    assert continued.to_dict() == ends[ends > 0].to_dict()
    expected = expected.reindex(sums.index)
    ranges = frame.groupby("unique_id")["y"].agg(lambda y: y.max() - y.min() or abs(y.max()))
    errors = (sums["contribution"] - expected).abs() / ranges.reindex(sums.index, level=0)
    assert sums.index.equals(expected.index)
    assert errors.max() < 1e-5
    np.testing.assert_allclose(sums["share"], 1, rtol=1e-12)
    assert rows["share"].dropna().between(-1e-6, 1 + 1e-6).all()


def test_contributions_sum_to_the_forecast_for_every_kind_of_series(explained):
    frame, rows, forecasts = explained
    check_sums(rows, forecasts, frame)


def test_a_past_value_is_that_of_its_time_and_of_the_phase_of_its_lag(explained):
    frame, rows, _ = explained
    check_past_values(rows, frame)


def check_past_values(rows, frame):
    past = rows[rows["part"] == PAST_VALUE]
    known = frame.set_index(["unique_id", "ds"])["y"]
    found = known.reindex(pd.MultiIndex.from_frame(past[["unique_id", "source"]]))
    np.testing.assert_array_equal(past["value"], found)
    np.testing.assert_array_equal(past["contribution"], past["share"] * past["value"])
    ages = (past["ds"] - past["source"]).dt.days
    assert (ages % past["lag"] == 0).all()
    assert (past["source"] < past.groupby("unique_id")["ds"].transform("min")).all()


def test_the_season_has_the_largest_shares(explained):
    rows = explained[1]
    season = rows[(rows["unique_id"] == "season") & (rows["part"] == PAST_VALUE)]
    share = season.groupby(season["lag"] % 7 == 0)["share"].sum() / STEPS
    assert share[True] > 0.8


def test_the_mean_is_that_of_the_window(explained):
    frame, rows, _ = explained
    means = rows[rows["part"] == MEAN].groupby("unique_id")["value"].agg(["min", "max"])
    expected = frame.groupby("unique_id")["y"].agg(lambda y: y.tail(64).mean())
    for name in ("season", "gaps", "short", "constant", "high"):
        np.testing.assert_allclose(means.loc[name], expected[name], rtol=1e-6)


@pytest.mark.slow
def test_a_saved_forecaster_and_changed_weights_are_explained_too(zero, explained, tmp_path):
    frame, rows, _ = explained
    zero.save(tmp_path / "saved")
    keras.backend.clear_session()  # names begin again, as in a new process
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.explain(frame), rows)
    network = network_of(loaded.model)
    network.set_weights([w * RNG.uniform(0.5, 1.5, w.shape) for w in network.get_weights()])
    check_sums(loaded.explain(frame), loaded.predict(frame), frame)


def test_columns_of_a_wide_frame_are_explained_as_series(zero, explained):
    frame, rows, _ = explained
    parts = frame[frame["unique_id"].isin(["season", "trend"])]
    wide = parts.pivot(index="ds", columns="unique_id", values="y")
    found = zero.explain(wide)
    expected = rows[rows["unique_id"].isin(["season", "trend"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [4, 147])
def test_values_of_a_phase_are_parts_of_a_forecast_with_a_season(steps):
    hours = np.arange(320)
    long = 20 + 5 * np.sin(2 * np.pi * hours / 24) + np.random.default_rng(1).normal(size=320)
    dates = pd.date_range("2024-01-01", periods=320)
    long = pd.DataFrame({"unique_id": "long", "ds": dates, "y": long})
    frame = pd.concat([long_frame(), long], ignore_index=True)
    options = {"verbose": False, "freq": "D", "alias": "zero", "model_options": {"season": 24}}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", steps, 300, **options)
    rows = forecaster.explain(frame)
    check_sums(rows, forecaster.predict(frame), frame)
    check_past_values(rows, frame)
    assert not rows.duplicated(["unique_id", "ds", "part", "lag", "source"]).any()
    rows = rows[rows["unique_id"] == "long"]
    lags = rows.loc[rows["part"] == "slope", "lag"]
    assert set(lags % 24) == {0, 8, 16}  # of cycles, and of steps
    assert rows.loc[rows["part"] == MEAN, "value"].nunique() > 1  # each phase has its mean
    parts = rows.loc[rows["ds"] == rows["ds"].min(), "part"]
    # There are twelve rows for the regression of 4 steps, and six for that of 147.
    expected = [
        PAST_VALUE,
        MEAN,
        "recent changes",
        "slope",
        "offset",
        *["regression"] * (steps < 24),
    ]
    assert list(dict.fromkeys(parts)) == expected
    constant = forecaster.explain(frame[frame["unique_id"] == "constant"])
    np.testing.assert_allclose(constant.loc[constant["part"] == MEAN, "value"], 7.5)


def test_other_models_are_refused_in_one_line():
    frame = long_frame()[:90]
    naive = Forecaster("last_value", 7, 7).fit(frame)
    with pytest.raises(ValueError, match=r"explain reads the shares of .* 'last_value' is another"):
        naive.explain(frame)
    fracast = kerastrans.from_pretrained(FRACAST_0, STEPS, verbose=False)
    with pytest.raises(ValueError, match="'fracast_0' is another model"):
        fracast.explain(frame)
    with pytest.raises(RuntimeError, match="not trained"):
        Forecaster("last_value", 7, 7).explain(frame)
