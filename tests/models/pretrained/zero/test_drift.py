"""Seasonal naive forecasts and smoothing with drift, compared with NumPy in float64."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from keras import ops

import kerastrans
from kerastrans.models.pretrained.zero.drift import DriftForecasts
from kerastrans.models.pretrained.zero.port import pretrained_of

STEPS, LEVELS = 6, (0.1, 0.5, 0.9)
NAN = float("nan")


def made(season=1, length=20, seed=0):
    """A walk with drift and a season."""
    random = np.random.default_rng(seed)
    walk = 3 / season * np.arange(length) + 4 * random.normal(size=length).cumsum()
    return 100 + walk + 20 * np.sin(2 * np.pi * np.arange(length) / max(season, 2))


def flat(level, spread=12.0, steps=STEPS):
    """Quantiles of a forecast that stays at a level, ever less certain."""
    spread = spread * np.sqrt(np.arange(1, steps + 1))
    return level + spread[:, None] * np.array([-1, 0, 1])


def forecast(series, quantiles, season=1):
    arguments = (np.stack(series), np.stack(quantiles))
    tensors = [ops.convert_to_tensor(x, "float32") for x in arguments]
    return ops.convert_to_numpy(DriftForecasts(season, LEVELS)(*tensors))


def walked(y, season, variances):
    """The seasonal naive forecast with drift of one series, the variances of its errors, the drift,
    and the steps that it is estimated from.
    """
    steps, changes, last = len(variances), [], {}
    for place in np.flatnonzero(np.isfinite(y)):
        if place % season in last:
            before = last[place % season]
            changes.append((y[place] - y[before], (place - before) // season))
        last[place % season] = place
    changes, gaps = np.array(changes).T
    drift, time = changes.sum() / gaps.sum(), gaps.sum()
    squares = np.sum((changes - drift * gaps) ** 2 / gaps) + np.mean(variances[:season])
    found, errors = [], []
    for place in range(len(y), len(y) + steps):
        before = last[place % season]
        ahead = (place - before) // season
        found.append(y[before] + drift * ahead)
        errors.append(squares / len(changes) * ahead * (1 + season * ahead / time))
    return np.array(found), np.array(errors), drift, time


def smoothed(y, season, variances, drift, time):
    """Exponential smoothing of the rest of one series, with the errors of each rate in a loop."""
    places = np.arange(len(y))
    filled, last = np.full(len(y), NAN), {}
    for place in places:
        if np.isfinite(y[place]):
            last[place % season] = place
        if place % season in last:
            before = last[place % season]
            filled[place] = y[before] + drift * (place - before) / season
    first = len(y) % season
    cycles = filled[first:].reshape(-1, season)
    phases = np.nanmean(np.where(np.isnan(cycles).any(axis=1)[:, None], NAN, cycles), axis=0)
    phases = phases - phases.mean() - drift / season * (np.arange(season) - (season - 1) / 2)
    rest = y - phases[(places - first) % season] - drift / season * places
    known = np.flatnonzero(np.isfinite(y))
    best = np.inf, None, None
    for rate in (0.2, 0.4, 0.6, 0.8, 1.0):
        level, squares = rest[known[0]], 0
        for place in known[1:]:
            squares += (rest[place] - level) ** 2
            level += rate * (rest[place] - level)
        best = min(best, (squares, rate, level))
    squares, rate, level = best
    ahead = np.arange(len(y), len(y) + len(variances))
    since = ahead - known[-1]
    found = level + phases[(ahead - first) % season] + drift / season * ahead
    variance = (squares + variances[0]) / (len(known) - 1 - season)
    return found, variance * (1 + (since - 1) * rate**2) * (1 + since / time)


def expected(y, quantiles, season=1):
    """The forecast of one series in float64, from its known values and their places."""
    low, median, high = quantiles.T
    variances = ((high - low) / (2 * NormalDist().inv_cdf(0.9))) ** 2
    walk, error, drift, time = walked(y, season, variances)
    members = (walk, error), smoothed(y, season, variances, drift, time)
    caution = 2 * (1 + np.isfinite(y).sum() / season / 30)
    weights = [1 / variances, *(1 / (caution * error) for _, error in members)]
    found = np.average([median, walk, members[1][0]], axis=0, weights=weights)
    since = np.arange(len(y), len(y) + len(median)) - np.flatnonzero(np.isfinite(y))[-1]
    width = np.sqrt(1 + since / time) if season == 1 else np.ones(len(median))
    return found[:, None] + width[:, None] * (quantiles - median[:, None])


@pytest.mark.parametrize(
    ("season", "length", "steps"), [(1, 20, 6), (4, 37, 9), (12, 60, 18), (7, 200, 5)]
)
@pytest.mark.parametrize("gaps", [False, True])
def test_forecasts_are_those_of_float64(season, length, steps, gaps):
    y = made(season, length)
    if gaps:
        y[[0, 1, 5, 6, 11, 12, -2, -1]] = NAN
    quantiles = flat(np.nanmax(y) + 30, steps=steps)
    found = forecast([y, 1e3 * y - 500], [quantiles, 1e3 * quantiles - 500], season)
    wanted = expected(y, quantiles, season)
    assert np.abs(wanted - quantiles).max() > 3
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)
    np.testing.assert_allclose(found[1], 1e3 * wanted - 500, rtol=1e-5)
    # Nor does it depend on the steps before the series begins.
    padded = np.concatenate([np.full(3 * season + 1, NAN), y])
    np.testing.assert_allclose(forecast([padded], [quantiles], season), [wanted], rtol=1e-5)


@pytest.mark.parametrize("season", [1, 4])
def test_a_line_with_a_season_is_continued_by_both(season):
    """Weights depend on what the network expects, the two forecasts themselves do not."""
    y = 2 * np.arange(36.0) + np.tile([5, 0, -7, 9], 9)[:36] * (season > 1)
    ahead = 2 * np.arange(36, 36 + STEPS) + np.tile([5, 0, -7, 9], 2)[:STEPS] * (season > 1)
    tensors = [ops.convert_to_tensor(x[None], "float32") for x in (y, y * 0 + 1, 0 * y[:STEPS])]
    found, _, _ = DriftForecasts(season, LEVELS)._forecast(*tensors)
    for values, errors in found:
        np.testing.assert_allclose(ops.convert_to_numpy(values)[0], ahead, rtol=1e-5)
        np.testing.assert_allclose(ops.convert_to_numpy(errors)[0], 0, atol=1e-6)


@pytest.mark.parametrize("season", [1, 4, 7])
def test_rounding_does_not_choose_a_rate(season):
    """All rates err alike on a line with a season, and have different variances ahead."""
    length = 15 if season == 1 else 9 * season + 2
    line = 2 * np.arange(length) + 5 * (np.arange(length) % season % 3)
    quantiles = flat(2 * length, spread=3, steps=2 * season + 3)
    scales = ((1, 0), (3, 50), (1 / 7, -0.3), (1.7, 100))
    found = forecast(
        [a * line + b for a, b in scales], [a * quantiles + b for a, b in scales], season
    )
    for values, (a, b) in zip(found, scales, strict=True):
        np.testing.assert_allclose((values - b) / a, found[0], rtol=1e-4)


def test_a_constant_stays():
    found = forecast([np.full(10, 7.0)], [flat(7.0, spread=1e-3)])
    np.testing.assert_allclose(found[0, :, 1], 7, rtol=1e-6)


@pytest.mark.parametrize(("known", "moves"), [(0, False), (1, False), (2, False), (3, True)])
def test_few_values_widen_intervals_and_only_three_move_the_median(known, moves):
    y = np.concatenate([np.full(10 - known, NAN), made()[:known]])
    quantiles = flat(140)
    found = forecast([y], [quantiles])[0]
    assert (np.abs(found[:, 1] - 140).max() > 0.1) == moves
    time = max(known - 1, 1)
    widths = (found[:, 2] - found[:, 0]) / (quantiles[:, 2] - quantiles[:, 0])
    np.testing.assert_allclose(widths, np.sqrt(1 + np.arange(1, STEPS + 1) / time), rtol=1e-5)


def test_fewer_than_four_seasons_and_a_phase_without_values_move_nothing():
    y, quantiles = made(4, 16), flat(140)
    whole, shorter, lacking = y.copy(), y.copy(), made(4, 24)
    shorter[0] = lacking[1::4] = NAN
    found = forecast([np.append([NAN] * 8, x) for x in (whole, shorter)], [quantiles] * 2, 4)
    assert np.abs(found[0] - quantiles).max() > 1
    np.testing.assert_allclose(found[1], quantiles, rtol=1e-6)
    np.testing.assert_allclose(forecast([lacking], [quantiles], 4)[0], quantiles, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("season", "freq"), [(1, "YS"), (4, "QS")])
def test_a_forecaster_with_a_short_season_is_saved_and_explained(tmp_path, season, freq):
    length = 20 * season
    dates, y = pd.date_range("1950", periods=length, freq=freq), made(season, length)
    gaps = np.where(np.arange(length) % 7 == 3, NAN, y)
    frame = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": dates, "y": y})
        for name, y in {"whole": y, "gaps": gaps}.items()
    )
    options = {"model_options": {"season": season}, "verbose": False}
    forecaster = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    rows = forecaster.predict(frame, levels=[80])
    options["model_options"] = {"season": None}
    plain = kerastrans.from_pretrained("kerastrans_zero_2", STEPS, **options)
    before, name = plain.predict(frame, levels=[80]), forecaster.alias
    columns = [f"{name}-lo-80", name, f"{name}-hi-80"]
    quantiles, found = before[columns].to_numpy(), rows[columns].to_numpy()
    for number, series in enumerate((y, gaps)):
        part = slice(number * STEPS, (number + 1) * STEPS)
        wanted = expected(series, quantiles[part], season)
        np.testing.assert_allclose(found[part], wanted, rtol=1e-5)
    assert pretrained_of(forecaster.model).season == season
    forecaster.save(tmp_path / "f")
    loaded = kerastrans.Forecaster.load(tmp_path / "f")
    pd.testing.assert_frame_equal(loaded.predict(frame, levels=[80]), rows)
    parts = forecaster.explain(frame)
    sums = parts.groupby(["unique_id", "ds"], sort=False)["contribution"].sum()
    np.testing.assert_allclose(sums, rows[name], rtol=1e-5)
    assert set(parts.loc[parts["part"] == "drift", "unique_id"]) == {"whole", "gaps"}
    assert "regression" not in set(parts["part"])
