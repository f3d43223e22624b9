"""The regression on earlier cycles, compared with NumPy in float64, and what it leaves alone."""

from statistics import NormalDist

import keras
import numpy as np
import pandas as pd
import pytest
from keras import ops

from kerastrans.models.pretrained.zero import cycles
from kerastrans.models.pretrained.zero.cycles import CycleRegression, has_rows

SEASON, STEPS, LEVELS = 6, 8, (0.1, 0.5, 0.9)
NAN = float("nan")


def made(seed, days=60, season=SEASON):
    """Days that follow the day before and the same day of the week before, with peaks."""
    random = np.random.default_rng(seed)
    y = random.normal(size=(days, season))
    for day in range(7, days):
        y[day] += 0.5 * y[day - 1, ::-1] + 0.4 * y[day - 7]
    y = 30 + 4 * y.ravel() + 3 * np.sin(np.arange(days * season) * 2 * np.pi / season)
    y[random.integers(len(y), size=3)] += 60
    return y


def flat(series, spread=4.0, steps=STEPS):
    """Quantiles of a forecast that knows the mean only."""
    center = np.full(steps, np.nanmean(series))
    return np.stack([center + spread * k for k in (-1, 0, 1)], axis=-1)


def moved(*series, season=SEASON, quantiles=None, past=None, future=None, sizes=None, widths=False):
    found = [flat(y) for y in series] if quantiles is None else quantiles
    layer = CycleRegression(season, LEVELS, **sizes or {})
    arguments = np.stack(series), np.stack(found), past, future
    tensors = [None if x is None else ops.convert_to_tensor(x, "float32") for x in arguments]
    move, width = map(ops.convert_to_numpy, layer.find(*tensors))
    return (move, width) if widths else move


def fitted(y, steps, season=SEASON, columns=()):
    """The forecast of a series of whole cycles in float64, with a fit for each row left out.

    Columns are covariates by day, `(days, parts)`, with the days ahead, and the days that are read,
    counted from the first day ahead.

    Returns the transformed forecast, its mean squared errors, the number of rows, and location and
    scale of the transformation in deviations from the mean.
    """
    y = (y - np.nanmean(y)) / np.nanstd(y)
    known = y[np.isfinite(y)]
    center = known.mean()
    scale = np.abs(known - center).mean()
    for _ in range(4):
        drawn = known.clip(center - 2 * scale, center + 2 * scale)
        center = drawn.mean()
        scale = np.abs(drawn - center).mean()
    scale *= np.sqrt(np.pi / 2)
    z = np.arcsinh((y - center) / scale)
    days = np.concatenate([np.full((7, season), NAN), z.reshape(-1, season)])
    is_known = np.isfinite(days)
    filled = pd.DataFrame(days).ffill().bfill().to_numpy()
    ahead = -(-steps // season)

    def row(table, day):
        return np.concatenate([table[day - 1], table[day - 7]])

    origins = range(7, len(days) - ahead + 1)
    inputs = np.array([row(filled, day) for day in origins])
    outputs = np.array([filled[day : day + ahead].ravel()[:steps] for day in origins])
    share = [
        row(is_known, day).mean() * is_known[day : day + ahead].ravel()[:steps].mean()
        for day in origins
    ]
    share = np.array(share)
    inputs = np.concatenate([inputs, [row(filled, len(days))]])
    level = inputs.mean(axis=1, keepdims=True)
    inputs, outputs = inputs - level, outputs - level[:-1]
    ridge = 0.3 * np.sum(
        (inputs[:-1] - np.average(inputs[:-1], axis=0, weights=share)) ** 2 * share[:, None]
    )
    ridge /= share.sum() ** 2

    def fit(inputs, weights, place):
        total = weights.sum()
        mean_x, mean_y = (weights @ x / total for x in (inputs[:-1], outputs))
        x, t = inputs[:-1] - mean_x, outputs - mean_y
        gram = (x * weights[:, None]).T @ x + ridge * share.sum() * np.eye(inputs.shape[1])
        slopes = np.linalg.solve(gram, (x * weights[:, None]).T @ t)
        return (inputs[place] - mean_x) @ slopes + mean_y

    def fit_all(inputs):
        errors = np.zeros_like(outputs)
        for i in np.flatnonzero(share):
            weights = share.copy()
            weights[i] = 0
            errors[i] = np.sqrt(share[i]) * (outputs[i] - fit(inputs, weights, i))
        return fit(inputs, share, -1), errors

    forecast, errors = fit_all(inputs)
    if columns:
        more = [
            np.concatenate([x[day - 7 + k] for x, days_read in columns for k in days_read])
            for day in [*origins, len(days)]
        ]
        other, others = fit_all(np.concatenate([inputs, more], axis=1))
        changes = errors - others
        size, products = np.sum(changes**2, axis=1), np.sum(changes * errors, axis=1)
        slope = products.sum() / size.sum()
        variance = np.sum((products - slope * size) ** 2) / size.sum() ** 2
        trust = np.clip(slope, 0, 1) * max(0, 1 - 2 * variance / slope**2)
        forecast, errors = forecast + trust * (other - forecast), errors - trust * changes
    forecast = (forecast + level[-1]).clip(np.nanmin(z) - 1, np.nanmax(z) + 1)
    return forecast, np.sum(errors**2, axis=0) / share.sum(), share.sum(), center, scale


def expected_move(y, quantiles, columns=()):
    """How far the median moves, and the factor of the distances from it."""
    forecast, errors, rows, center, size = fitted(y, STEPS, columns=columns)
    mean, deviation = np.nanmean(y), np.nanstd(y)
    low, median, high = quantiles.T
    ends = [np.arcsinh(((x - mean) / deviation - center) / size) for x in (low, high)]
    variances = ((ends[1] - ends[0]) / (2 * NormalDist().inv_cdf(0.9))) ** 2
    variance, caution = variances.mean(), 2 * (1 + 8 * 2 / rows)
    expected = mean + deviation * (center + size * np.sinh(forecast)) - median
    width = 0.9 * ((errors + 1e-4) / (variances + 1e-4)) ** 0.15
    return expected * variance / (variance + caution * errors.mean()), width


@pytest.mark.parametrize("gaps", [False, True])
def test_forecasts_and_weights_are_those_of_float64(gaps):
    y = made(0)
    if gaps:
        y[:3] = y[100:115] = y[301] = NAN
    expected, width = expected_move(y, flat(y))
    assert np.abs(expected).max() > 1
    found = moved(y, widths=True)
    np.testing.assert_allclose(found[0][0], expected, atol=1e-4)
    np.testing.assert_allclose(found[1][0], width, rtol=1e-4)


def with_covariates(seed=0, days=60, effect=1.0):
    """A series, its past covariate, and a number and a text that are known ahead."""
    random = np.random.default_rng(seed)
    y, total = made(seed, days), days * SEASON + STEPS
    past, wind = random.normal(size=days * SEASON), random.normal(size=total)
    kinds = np.repeat(random.integers(1, 4, size=days + 2), SEASON)[:total]
    y[1:] += effect * 3 * past[:-1] * (np.arange(1, len(y)) % SEASON == 0)
    y += effect * (6 * wind + 5 * (kinds == 2))[: len(y)]
    return y, past[None, :, None], np.stack([wind, kinds], axis=1)[None]


@pytest.mark.parametrize("days", [60, 40], ids=["rows", "features"])  # there are more of
def test_covariates_are_regressed_on_as_in_float64(days):
    y, past, known = with_covariates(days=days)
    y[100:115] = NAN

    def by_day(x, last=None):
        last = x[-1] if last is None else last
        return np.append(x, np.full((days + 2) * SEASON - len(x), last)).reshape(-1, SEASON)

    def deviations(x):
        of_known = x[: len(y)][np.isfinite(y)]
        return by_day((x - of_known.mean()) / of_known.std())

    kinds = by_day(known[0, :, 1], NAN)
    shares = np.stack([(kinds == code).mean(axis=1) for code in range(1, 4)], axis=1)
    columns = [
        (deviations(past[0, :, 0]), [-1]),
        (deviations(known[0, :, 0]), [-1, 0, 1]),
        (shares, [-1, 0, 1]),
    ]
    wide = flat(y, spread=20.0)
    sizes = {"past": (0,), "future": (0, 4)}
    found = moved(y, quantiles=[wide], past=past, future=known, sizes=sizes)[0]
    expected, _ = expected_move(y, wide, columns)
    assert np.abs(expected - moved(y, quantiles=[wide])[0]).max() > 1
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_covariates_without_effect_are_ignored():
    changes = []
    for seed in range(8):
        y, _, known = with_covariates(seed, effect=0.0)
        found = moved(y, future=known, sizes={"future": (0, 4)})[0]
        changes.append(np.abs(found - moved(y)[0]).mean())
    assert np.median(changes) == 0
    assert np.mean(changes) < 0.05 * np.std(y)


@pytest.mark.parametrize("rows", [40, 400], ids=["features", "rows"])  # there are more of
def test_equal_covariates_do_not_forecast_rounding_errors(rows):
    random = np.random.default_rng(0)
    own = 0.01 * random.normal(size=(rows + 1, 12))
    trend = np.linspace(-1.7, 1.8, rows + 1)[:, None] + np.zeros(360)
    x = np.concatenate([own, trend], axis=1).astype("float32")
    y = (trend[:-1, :4] + random.normal(size=(rows, 4))).astype("float32")
    weights = np.full((1, rows, 1), 1 / rows, "float32")
    ridge = np.full((1, 1, 1), 1e-5, "float32")
    tensors = map(ops.convert_to_tensor, (x[None], y[None], weights, ridge))
    forecast, errors = cycles._fit(*tensors)
    x, y = x.astype("float64"), y.astype("float64")
    mean_x, mean_y = x[:-1].mean(axis=0), y.mean(axis=0)
    inputs, outputs = (x[:-1] - mean_x) / rows**0.5, (y - mean_y) / rows**0.5
    gram = inputs.T @ inputs
    inverse = np.linalg.inv(gram + max(1e-5, np.trace(gram) / 2e4) * np.eye(len(gram)))
    slopes = inverse @ inputs.T @ outputs
    rest = 1 - 1 / rows - np.sum(inputs @ inverse * inputs, axis=1, keepdims=True)
    expected = (x[-1] - mean_x) @ slopes + mean_y
    # It differed by 2,766, and by 0.5 with more rows, while only the given ridge was added.
    np.testing.assert_allclose(ops.convert_to_numpy(forecast)[0, 0], expected, atol=0.02)
    expected = (outputs - inputs @ slopes) / rest
    np.testing.assert_allclose(ops.convert_to_numpy(errors)[0], expected, atol=5e-3)


@pytest.mark.slow
def test_a_series_that_repeats_itself_moves_towards_what_follows():
    y = made(1, days=61)
    known, ahead = y[:-SEASON], y[-SEASON:]
    move = moved(known)[0, :SEASON]
    errors = ahead - flat(known)[:SEASON, 1]
    assert np.abs(errors - move).mean() < 0.9 * np.abs(errors).mean()


@pytest.mark.slow
def test_restless_hours_have_wider_intervals():
    y = np.random.default_rng(0).normal(size=(60, SEASON)) * [1, 1, 1, 4, 4, 4]
    _, width = moved(y.ravel(), widths=True)
    assert width[0, 3:6].min() > 1.2 * width[0, :3].max()


@pytest.mark.slow
def test_noise_moves_little():
    y = np.random.default_rng(0).normal(size=60 * SEASON)
    assert np.abs(moved(y, quantiles=[flat(y, spread=1.28)])).mean() < 0.1


@pytest.mark.slow
def test_a_move_depends_on_its_series_alone_and_has_its_units():
    y, other = made(2), made(3)
    one = moved(y)[0]
    changed = [1e3 * flat(y) - 500, flat(other)]
    many = moved(1e3 * y - 500, other, quantiles=changed)[0]
    np.testing.assert_allclose(many, 1e3 * one, rtol=1e-3, atol=1)
    np.testing.assert_allclose(moved(-y, quantiles=[-flat(y)[:, ::-1]])[0], -one, atol=1e-3)
    # Nor on the steps before the series begins, which need not be a whole cycle.
    longer = np.concatenate([np.full(100, NAN), y[4:]])
    np.testing.assert_allclose(
        moved(longer, quantiles=[flat(y)]), moved(y[4:], quantiles=[flat(y)]), atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "series",
    [
        np.full(240, NAN),
        np.full(240, 7.5),
        np.where(np.arange(240) == 100, 1e9, 0.0),
        np.where(np.arange(240) % 11 == 0, 5.0, 0.0),
        np.append(np.full(239, NAN), 3.0),
        np.arange(240.0) ** 3,
    ],
    ids=["missing", "constant", "one peak", "mostly zero", "one value", "growth"],
)
def test_moves_are_finite_and_stay_near_the_values(series):
    level = np.nan_to_num(series[-1])
    quantiles = np.stack([np.full(STEPS, level + k) for k in (-1, 0, 1)], axis=-1)
    move = moved(series, quantiles=[quantiles])[0]
    assert np.isfinite(move).all()
    assert np.abs(move).max() <= np.nanmax(np.abs(np.nan_to_num(series)))


@pytest.mark.parametrize(("days", "enough"), [(3, False), (9, False), (13, True)])
def test_few_cycles_move_nothing(days, enough):
    y = made(4)[-days * SEASON :]
    padded = np.concatenate([np.full(200, NAN), y])
    assert moved(padded, quantiles=[flat(y)]).any() == enough
    tensors = (ops.convert_to_tensor(x[None].astype("float32")) for x in (padded, flat(y)))
    found = CycleRegression(SEASON, LEVELS)(*tensors)
    assert np.allclose(found, flat(y), rtol=1e-5) != enough
    assert has_rows(len(padded), SEASON, STEPS)
    assert has_rows(len(y), SEASON, STEPS) == enough


@pytest.mark.slow
@pytest.mark.parametrize(("season", "parts"), [(24, 24), (96, 24), (60, 20), (31, 1)])
def test_long_cycles_are_averaged_to_few_features(season, parts, monkeypatch):
    sizes = []

    def inverse(matrices, identity):
        sizes.append(matrices.shape[-1])
        return ops.zeros_like(matrices)

    monkeypatch.setattr(cycles, "_inverse", inverse)
    y = made(5, days=60, season=season)
    moved(y, season=season)
    assert sizes == [2 * parts]


@pytest.mark.parametrize(("size", "condition", "limit"), [(48, 850, 1e-5), (12, 20_000, 1e-3)])
def test_inverses_are_those_of_float64(size, condition, limit):
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))
    matrix = turn * np.geomspace(1, 1 / condition, size) @ turn.T
    identity = np.eye(size, dtype="float32")
    found = cycles._inverse(ops.convert_to_tensor(matrix[None], "float32"), identity)
    expected = np.linalg.inv(matrix)
    error = np.abs(ops.convert_to_numpy(found)[0] - expected).max()
    assert error < limit * np.abs(expected).max()


@pytest.mark.slow
def test_a_saved_layer_is_the_same(tmp_path):
    layer = CycleRegression(SEASON, LEVELS)
    inputs = keras.Input((360,)), keras.Input((STEPS, 3))
    model = keras.Model(inputs, layer(*inputs))
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    y = made(6)
    arrays = y[None].astype("float32"), flat(y)[None].astype("float32")
    found, expected = (x.predict(arrays, verbose=0) for x in (loaded, model))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    # All quantiles of a step move, and their distances from the median change by one factor.
    median = flat(y)[:, 1:2]
    move, width = (x[0][:, None] for x in moved(y, widths=True))
    wanted = median + move + width * (flat(y) - median)
    np.testing.assert_allclose(expected[0], wanted, rtol=1e-4)
