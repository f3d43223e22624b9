"""Sample paths have the marginals of predict and the dependence of the errors."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy

import kerastrans
from kerastrans import Forecaster
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.forecasting.dependence import Dependence
from tests.helpers.weights import ZERO_1

SIZE = 14, 7


def long_frame(names="abc", length=120, seed=0):
    parts = []
    for number, name in enumerate(names):
        noise = np.random.default_rng([seed, number]).normal(size=length)
        wave = 3 * np.sin(2 * np.pi * np.arange(length) / 7)
        dates = pd.date_range("2024-01-01", periods=length)
        parts.append(pd.DataFrame({"unique_id": name, "ds": dates, "y": 20 + wave + noise}))
    return pd.concat(parts, ignore_index=True)


FRAME = long_frame()


def naive(frame, **options):
    """Return calibrated points, which need no training."""
    forecaster = Forecaster("seasonal_naive", *SIZE, season=7).fit(frame)
    return forecaster.calibrate(frame, **{"windows": 20, "step": 2, "levels": (50, 80), **options})


@pytest.fixture(scope="module")
def fitted():
    return naive(FRAME)


def table(paths, alias):
    """Return the values as an array (series, paths, steps)."""
    shape = paths["unique_id"].nunique(), paths["path"].nunique(), -1
    return paths[alias].to_numpy().reshape(shape)


def quantiles(paths, alias, level):
    tail = (1 - level / 100) / 2
    drawn = np.sort(table(paths, alias), axis=1)
    return [np.quantile(drawn, x, axis=1, method="hazen").ravel() for x in (tail, 0.5, 1 - tail)]


def assert_marginals(paths, rows, alias, level=80, width=0.05):
    """Quantiles of the paths are those of predict, up to the given share of the interval."""
    low, high = rows[f"{alias}-lo-{level}"], rows[f"{alias}-hi-{level}"]
    middle = rows.get(f"{alias}-median", rows[alias])
    for found, expected in zip(quantiles(paths, alias, level), (low, middle, high), strict=True):
        assert (np.abs(found - expected) <= width * (high - low)).all()


def test_a_frame_of_paths(fitted):
    paths = fitted.simulate(FRAME, num_paths=3)
    assert list(paths.columns) == ["unique_id", "ds", "path", "seasonal_naive"]
    assert paths["path"].tolist() == 3 * (7 * [0] + 7 * [1] + 7 * [2])
    rows = fitted.predict(FRAME)
    first = paths[paths["path"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(first[["unique_id", "ds"]], rows[["unique_id", "ds"]])
    assert np.isfinite(paths["seasonal_naive"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("nlinear", "quantiles"),
        ("nlinear", "student_t"),
        ("nlinear", "mixture"),
        ("deepar", "student_t"),
    ],
)
@pytest.mark.parametrize("is_calibrated", [False, True])
def test_marginals_are_those_of_predict(name, head, is_calibrated):
    options = {"units": 4} if name == "deepar" else {}
    forecaster = Forecaster(name, *SIZE, head=head, bounds=(18, None), num_samples=400, **options)
    forecaster.fit(FRAME.assign(y=FRAME["y"].clip(18)), epochs=1, verbose=0)
    if is_calibrated:
        forecaster.calibrate(FRAME.assign(y=FRAME["y"].clip(18)), windows=8, step=2, levels=(80,))
    frame = FRAME.assign(y=FRAME["y"].clip(18))
    paths, rows = forecaster.simulate(frame, num_paths=400), forecaster.predict(frame, levels=[80])
    assert_marginals(paths, rows, name)
    assert paths[name].min() >= 18


def test_marginals_of_calibrated_points(fitted):
    paths, rows = fitted.simulate(FRAME, num_paths=400), fitted.predict(FRAME)
    for level in (50, 80):
        assert_marginals(paths, rows, "seasonal_naive", level)
    extremes = paths.groupby(["unique_id", "ds"])["seasonal_naive"].max().to_numpy()
    assert (extremes > rows["seasonal_naive-hi-80"]).all()  # extrapolated, not cut
    with pytest.raises(ValueError, match="a point forecast has no distribution: call calibrate"):
        Forecaster("seasonal_naive", *SIZE, season=7).fit(FRAME).simulate(FRAME)


@pytest.mark.slow
def test_counts_stay_whole_numbers():
    counts = FRAME.assign(y=np.random.default_rng(0).poisson(2, len(FRAME)).astype(float))
    forecaster = Forecaster("nhits", *SIZE, head="negative_binomial", scaler=None)
    forecaster.fit(counts, epochs=2, verbose=0)
    for _ in range(2):
        values = forecaster.simulate(counts)["nhits"]
        np.testing.assert_array_equal(values, np.rint(values))
        assert values.min() >= 0
        forecaster.calibrate(counts, windows=8, step=2, levels=(80,))


def test_paths_depend_on_the_seed_and_on_nothing_else(fitted):
    first = fitted.simulate(FRAME, num_paths=10, seed=1)
    pd.testing.assert_frame_equal(fitted.simulate(FRAME, num_paths=10, seed=1), first)
    assert not fitted.simulate(FRAME, num_paths=10, seed=2).equals(first)
    together = fitted.simulate(FRAME.iloc[::-1], num_paths=10)
    alone = fitted.simulate(FRAME[FRAME["unique_id"] == "b"], num_paths=10)
    part = together[together["unique_id"] == "b"].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, alone)


@pytest.mark.slow
def test_fit_and_calibrate_store_what_a_file_holds(tmp_path):
    forecaster = Forecaster("nlinear", *SIZE)
    forecaster.fit(FRAME, epochs=2, validation_size=40, verbose=0)
    learnt = forecaster.fitted.dependence
    assert learnt.names == ("a", "b", "c")
    assert learnt.steps.shape == (7, 7)
    forecaster.calibrate(FRAME, windows=8, step=2)
    assert forecaster.fitted.dependence is not learnt
    forecaster.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(
        loaded.simulate(FRAME),
        forecaster.simulate(FRAME),
        atol=1e-5,  # of values up to 34
    )
    assert forecaster.fit(FRAME, epochs=1, verbose=0).fitted.dependence is None
    assert forecaster.clone().fitted is None


def test_new_series_are_drawn_independently_with_a_warning(fitted):
    with pytest.warns(UserWarning, match="between 1 of 2 series is not known, 'z' is the first"):
        fitted.simulate(long_frame("az"), num_paths=2)


def test_a_history_that_is_too_short_to_learn_from(fitted):
    fresh = Forecaster.from_config(fitted.get_config())
    fresh.fitted = replace(fitted.fitted, dependence=None)
    with pytest.warns(UserWarning, match="no series has 7 steps after a history of as many"):
        paths = fresh.simulate(FRAME.groupby("unique_id").head(10), num_paths=5)
    assert np.isfinite(paths["seasonal_naive"]).all()
    # One longer series is enough.
    some = pd.concat([FRAME[FRAME["unique_id"] == "a"], FRAME.groupby("unique_id").head(10)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh.simulate(some.drop_duplicates(["unique_id", "ds"]), num_paths=5)


def test_a_channel_without_a_value_has_no_paths():
    wide = FRAME.pivot(index="ds", columns="unique_id", values="y")
    forecaster = naive(wide)
    wide.loc[wide.index[-30:], "b"] = np.nan
    with pytest.warns(UserWarning, match="1 channels have no value"):
        paths = forecaster.simulate(wide, num_paths=4)
    known = paths.groupby("unique_id")["seasonal_naive"].apply(lambda x: x.notna().all())
    assert known.to_dict() == {"a": True, "b": False, "c": True}


@pytest.mark.slow
@pytest.mark.parametrize("level", [1e8, 1e-8])
def test_large_and_small_levels(level):
    frame = FRAME.assign(y=level * (1 + 1e-3 * FRAME["y"]))
    forecaster = naive(frame)
    paths, rows = forecaster.simulate(frame, num_paths=400), forecaster.predict(frame)
    assert_marginals(paths, rows, "seasonal_naive")


def test_invalid_arguments(fitted):
    with pytest.raises(ValueError, match="num_paths must be an integer of at least 1, got 0"):
        fitted.simulate(FRAME, num_paths=0)
    with pytest.raises(ValueError, match="seed must be an int of at least 0, got -1"):
        fitted.simulate(FRAME, seed=-1)
    with pytest.raises(ValueError, match="GiB, the limit is 8: ask for fewer paths or fewer"):
        fitted.simulate(FRAME, num_paths=10**9)
    with pytest.raises(RuntimeError, match="not trained"):
        Forecaster("nlinear", *SIZE).simulate(FRAME)


def autoregressive(length, seed, correlation=0.8):
    shocks = np.random.default_rng(seed).normal(size=length)
    values = np.zeros(length)
    for step in range(1, length):
        values[step] = correlation * values[step - 1] + shocks[step]
    dates = pd.date_range("2020-01-01", periods=length)
    return pd.DataFrame({"unique_id": "w", "ds": dates, "y": values})


def test_sums_of_a_known_process_have_their_spread():
    """The errors of the last value of an autoregressive process have a closed form."""
    frame = autoregressive(1500, 0)
    forecaster = Forecaster("last_value", 1, 7).fit(frame)
    forecaster.calibrate(frame, windows=200, step=7, levels=(50, 80, 95))
    gamma = 0.8 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))) / (1 - 0.8**2)
    errors = gamma[1:, 1:] - gamma[1:, :1] - gamma[:1, 1:] + gamma[0, 0]
    sizes = np.sqrt(np.diag(errors))
    expected = errors / np.outer(sizes, sizes)
    np.testing.assert_allclose(forecaster.fitted.dependence.steps, expected, atol=0.12)
    sums = table(forecaster.simulate(frame, num_paths=1000), "last_value")[0].sum(axis=1)
    assert np.std(sums) == pytest.approx(np.sqrt(errors.sum()), rel=0.1)


@pytest.mark.slow
def test_channels_of_a_vector_process_depend_on_each_other():
    rng = np.random.default_rng(1)
    shocks = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 3000)
    values = np.zeros((3000, 2))
    for step in range(1, 3000):
        values[step] = 0.7 * values[step - 1] + shocks[step]
    wide = pd.DataFrame(values, pd.date_range("2020-01-01", periods=3000, freq="h"), ["a", "b"])
    forecaster = Forecaster("nlinear", 12, 6).fit(wide[:2000], epochs=5, verbose=0)
    forecaster.calibrate(wide, windows=150, step=6)
    correlation = forecaster.fitted.dependence.series_correlation
    assert correlation[0, 1] == pytest.approx(0.8, abs=0.05)
    drawn = table(forecaster.simulate(wide, num_paths=1000), "nlinear")
    total, alone = drawn.sum(axis=(0, 2)).var(), drawn.sum(axis=2).var(axis=1).sum()
    assert total / alone == pytest.approx(1.8, abs=0.1)


@pytest.mark.slow
def test_equal_series_of_an_autoregressive_model_have_other_paths():
    frame = long_frame("ab").assign(y=lambda x: np.tile(x["y"].to_numpy()[:120], 2))
    forecaster = Forecaster("deepar", *SIZE, units=4).fit(frame, epochs=1, verbose=0)
    drawn = table(forecaster.simulate(frame), "deepar")
    np.testing.assert_array_equal(np.sort(drawn[0, :, 0]), np.sort(drawn[1, :, 0]))
    assert abs(np.corrcoef(drawn[0, :, 0], drawn[1, :, 0])[0, 1]) < 0.3


def autoregressive_frame(coefficient, series=40, length=90, seed=0):
    """Series whose value is a share of the one before it, plus noise."""
    shocks = np.random.default_rng(seed).normal(size=(series, 50 + length))
    values = scipy.signal.lfilter([1.0], [1.0, -coefficient], shocks)[:, 50:]
    dates = pd.date_range("2024-01-01", periods=length)
    wide = pd.DataFrame(values.T, dates).rename_axis("ds").reset_index()
    return wide.melt("ds", var_name="unique_id", value_name="y").astype({"unique_id": str})


def lag(drawn):
    """Return the mean correlation of neighbouring steps of paths (series, paths, steps)."""
    errors = drawn - drawn.mean(axis=1, keepdims=True)
    both = (errors[..., 1:] * errors[..., :-1]).mean(axis=1)
    return np.mean(both / errors[..., 1:].std(axis=1) / errors[..., :-1].std(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "coefficient", "expected"),
    [("quantiles", 0.9, 0.83), ("normal", -0.6, -0.57), ("student_t", 0.0, 0.0)],
)
def test_steps_of_a_patch_are_joint(head, coefficient, expected):
    sizes = {"d_model": 16, "num_heads": 2, "ff_dim": 16, "num_blocks": 1}
    forecaster = Forecaster("decoder_transformer", 24, 12, head=head, **sizes)
    frame = autoregressive_frame(coefficient)
    forecaster.fit(frame, epochs=3, steps_per_epoch=60, validation_size=24, verbose=0)
    assert lag(table(forecaster.simulate(frame), forecaster.alias)) == pytest.approx(
        expected, abs=0.07
    )
    weight = patch_dependence_of(forecaster.fitted.model)
    weight.assign(np.eye(12))
    assert lag(table(forecaster.simulate(frame), forecaster.alias)) == pytest.approx(0, abs=0.07)


@pytest.mark.slow
def test_published_weights_and_ensembles():
    published = kerastrans.from_pretrained(ZERO_1, 7, 56, verbose=False)
    assert_marginals(
        published.simulate(FRAME, num_paths=400), published.predict(FRAME), "kerastrans_zero"
    )
    members = [Forecaster("nlinear", *SIZE, seed=x).fit(FRAME, epochs=1, verbose=0) for x in (0, 1)]
    both = kerastrans.combine(members)
    assert_marginals(both.simulate(FRAME, num_paths=400), both.predict(FRAME), "ensemble")
    assert isinstance(both.calibrate(FRAME, windows=8, step=2).fitted.dependence, Dependence)
