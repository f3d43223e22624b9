"""The random walk with drift, compared with NumPy in float64, and the option `season=1`."""

from statistics import NormalDist

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans.models.pretrained.zero.drift import RandomWalkWithDrift
from kerastrans.models.pretrained.zero.port import pretrained_of

STEPS, LEVELS = 6, (0.1, 0.5, 0.9)
NAN = float("nan")
YEARS = 100 + 3 * np.arange(20) + np.random.default_rng(0).normal(size=20).cumsum() * 4


def flat(level, spread=4.0, steps=STEPS):
    """Quantiles of a forecast that stays at a level."""
    return np.full((steps, 1), level) + spread * np.array([-1, 0, 1])


def forecast(series, quantiles):
    layer = RandomWalkWithDrift(1, LEVELS)
    arrays = (np.stack(x).astype("float32") for x in (series, quantiles))
    return keras.ops.convert_to_numpy(layer(*map(keras.ops.convert_to_tensor, arrays)))


def expected(y, quantiles):
    """The forecast of one series in float64, from its known values and their places."""
    places = np.flatnonzero(np.isfinite(y))
    time = places[-1] - places[0]
    drift = (y[places[-1]] - y[places[0]]) / time
    gaps = np.diff(places)
    squares = (np.diff(y[places]) - drift * gaps) ** 2 / gaps
    ahead = len(y) - 1 - places[-1] + np.arange(1, STEPS + 1)
    growth = 1 + ahead / time
    error = squares.sum() / (len(places) - 2) * ahead * growth
    deviation = (quantiles[:, 2] - quantiles[:, 0]) / (2 * NormalDist().inv_cdf(0.9))
    weight = deviation**2 / (deviation**2 + (1 + len(places) / 30) * error)
    median = quantiles[:, 1]
    moved = median + weight * (y[places[-1]] + drift * ahead - median)
    return moved[:, None] + np.sqrt(growth)[:, None] * (quantiles - median[:, None])


@pytest.mark.parametrize("missing", [[], [0, 1, 5, 6, 11, 18, 19]])
def test_forecasts_are_those_of_float64(missing):
    y = YEARS.copy()
    y[missing] = NAN
    quantiles = flat(190, spread=12.0)
    found = forecast([y, 1e3 * y - 500], [quantiles, 1e3 * quantiles - 500])
    wanted = expected(y, quantiles)
    assert np.abs(wanted - quantiles).max() > 3
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
    np.testing.assert_allclose(found[1], 1e3 * wanted - 500, rtol=1e-5)
    # Nor does it depend on the steps before the series begins.
    padded = np.concatenate([np.full(12, NAN), y])
    np.testing.assert_allclose(forecast([padded], [quantiles]), [wanted], rtol=1e-5)


def test_a_line_is_continued_and_a_constant_stays():
    line = 5 + 2 * np.arange(10.0)
    found = forecast([line, np.full(10, 7.0)], [flat(20), flat(7.0, spread=1e-3)])
    np.testing.assert_allclose(found[0, :, 1], 25 + 2 * np.arange(STEPS), rtol=1e-4)
    np.testing.assert_allclose(found[1, :, 1], 7, rtol=1e-6)


@pytest.mark.parametrize(("known", "moves"), [(0, False), (1, False), (2, False), (3, True)])
def test_few_values_widen_intervals_and_only_three_move_the_median(known, moves):
    y = np.concatenate([np.full(10 - known, NAN), YEARS[:known]])
    found = forecast([y], [flat(100)])[0]
    assert (np.abs(found[:, 1] - 100).max() > 0.1) == moves
    time = max(known - 1, 1)
    widths = (found[:, 2] - found[:, 0]) / 8
    np.testing.assert_allclose(widths, np.sqrt(1 + np.arange(1, STEPS + 1) / time), rtol=1e-5)


@pytest.mark.slow
def test_a_forecaster_with_season_1_is_saved_cloned_and_explained(tmp_path):
    dates = pd.date_range("2000", periods=20, freq="YS")
    gaps = np.where(np.arange(20) % 7 == 3, NAN, YEARS)
    frame = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": dates, "y": y})
        for name, y in {"whole": YEARS, "gaps": gaps}.items()
    )
    options = {"model_options": {"season": 1}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    rows = forecaster.predict(frame, levels=[80])
    plain = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, verbose=False)
    before, name = plain.predict(frame, levels=[80]), forecaster.alias
    quantiles = before[[f"{name}-lo-80", name, f"{name}-hi-80"]].to_numpy()
    for number, y in enumerate((YEARS, gaps)):
        part = slice(number * STEPS, (number + 1) * STEPS)
        found = rows[[f"{name}-lo-80", name, f"{name}-hi-80"]].to_numpy()[part]
        np.testing.assert_allclose(found, expected(y, quantiles[part]), rtol=1e-5)
    assert pretrained_of(forecaster.model).season == 1
    forecaster.save(tmp_path / "f")
    loaded = kerastrans.Forecaster.load(tmp_path / "f")
    pd.testing.assert_frame_equal(loaded.predict(frame, levels=[80]), rows)
    parts = forecaster.explain(frame)
    sums = parts.groupby(["unique_id", "ds"], sort=False)["contribution"].sum()
    np.testing.assert_allclose(sums, rows[name], rtol=1e-5)
    assert set(parts.loc[parts["part"] == "drift", "unique_id"]) == {"whole", "gaps"}
    assert "regression" not in set(parts["part"])
