"""The effects that a regression within each window finds, and how much it believes in them."""

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans.layers import CovariateEffects
from kerastrans.layers.covariates.covariate_effects import solve_by_conjugate_gradients
from kerastrans.utils.compilation import compile_inference

STEPS, LENGTH, ROWS = 3, 64, 7
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(ROWS, LENGTH + STEPS)).astype("float32")
CODES = RNG.integers(0, 3, (ROWS, LENGTH + STEPS)).astype("float32")
NOISE = RNG.normal(size=(ROWS, LENGTH + STEPS)).astype("float32")
EFFECT = 2 * NUMBERS + 3 * (CODES == 2)


def compiled(**sizes):
    layer = CovariateEffects(STEPS, **sizes)
    inputs = {"history": keras.Input((LENGTH,), name="history")}
    for kind, columns in sizes.items():
        length = LENGTH + STEPS * (kind == "future")
        inputs[f"{kind}_covariates"] = keras.Input((length, len(columns)), name=f"{kind}")
    return compile_inference(keras.Model(list(inputs.values()), list(layer(**inputs))))


@pytest.fixture(scope="module")
def run():
    function = compiled(future=(0, 3))
    return lambda history, *columns: function(history, np.stack(columns, axis=2))


@pytest.fixture(scope="module")
def windows():
    history = (EFFECT + 0.1 * NOISE)[:, :LENGTH].astype("float32")
    numbers, codes = NUMBERS.copy(), CODES.copy()
    history[1] = NOISE[1, :LENGTH]  # does not depend on the covariates
    history[2, :-7] = np.nan  # too few values
    history[3] = 1e3 * history[0] - 5e3
    numbers[3], codes[3] = 50 * NUMBERS[0] + 9, CODES[0]
    history[4, 20:25] = numbers[4, 30:33] = np.nan
    history[5] = (2 * NUMBERS + 0.1 * NOISE)[5, :LENGTH]
    codes[5] = codes[6] = 0  # unknown in all rows
    numbers[6] = 7e5
    return history, numbers, codes


@pytest.fixture(scope="module")
def found(run, windows):
    return run(*windows)


def test_effects_are_found_and_subtracted(found, windows):
    rest, ahead, variance, ratio = found
    effect = EFFECT[:, LENGTH:] - ahead.sum(axis=2)
    # Up to a constant, which the history without the effects has.
    assert np.ptp(effect[[0, 4]], axis=1).max() < 0.4
    assert np.std(rest[0]) < 0.15
    assert np.nanstd(rest[4]) < 0.9  # the covariates of three steps are not known
    assert (np.isnan(rest) == np.isnan(windows[0])).all()
    assert 0 < np.sqrt(variance[0]).max() < 0.1
    assert 1 < ratio[0, 0] < 1.5


def test_nothing_is_believed_without_evidence(found, windows):
    rest, ahead, variance, _ = found
    np.testing.assert_array_equal(rest[1:3], windows[0][1:3])
    assert not ahead[1:3].any()
    assert not variance[1:3].any()


def test_units_do_not_matter(found):
    rest, ahead, *_ = found
    np.testing.assert_allclose(ahead[3], 1e3 * ahead[0], rtol=2e-3, atol=0.5)
    np.testing.assert_allclose(rest[3], 1e3 * rest[0] - 5e3, atol=2)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_of_a_covariate_do_not_matter(run, found, windows, unit):
    history, numbers, codes = windows
    _, ahead, *_ = run(history, (unit * numbers.astype("float64")).astype("float32"), codes)
    np.testing.assert_allclose(ahead[0], found[1][0], rtol=1e-3, atol=1e-3)


def test_rare_events_have_their_whole_effect(run):
    # Three events, each of 20 deviations of the noise.
    events = np.zeros((ROWS, LENGTH + STEPS), "float32")
    events[:, [9, 30, 55, LENGTH + 1]] = 1
    history = (20 * events + NOISE)[:, :LENGTH]
    _, ahead, *_ = run(history, 0 * NUMBERS, 1 + events)
    effects = ahead[:, 1].sum(axis=1) - ahead[:, 0].sum(axis=1)
    assert 17 < np.median(effects) < 21


def test_an_outlier_does_not_hide_the_effects(run, windows):
    history = (EFFECT + 0.1 * NOISE)[:, :LENGTH].astype("float32")
    history[:, 40] += 40
    rest, *_ = run(history, NUMBERS, CODES)
    assert np.median(np.std(np.delete(rest, 40, axis=1), axis=1)) < 0.5


def test_a_constant_covariate_is_harmless(found, windows):
    rest, ahead, *_ = found
    assert np.std(rest[5]) < 0.2
    assert not ahead[5, :, 1].any()
    np.testing.assert_allclose(rest[6], windows[0][6], atol=1e-5)


def test_a_window_is_independent_of_the_others(run, found, windows):
    again = run(*(x[[0] * ROWS] for x in windows))
    for one, both in zip(again, found, strict=True):
        np.testing.assert_allclose(one[-1], both[0], atol=1e-6)


@pytest.mark.slow
def test_a_past_covariate_acts_after_the_horizon():
    past = NUMBERS[:, :LENGTH, None]
    history = np.pad(past[:, :-STEPS, 0], [[0, 0], [STEPS, 0]]) + 0.1 * NOISE[:, :LENGTH]
    _, ahead, *_ = compiled(past=(0,))(history, past)
    np.testing.assert_allclose(ahead[0, :, 0], past[0, -STEPS:, 0], atol=0.25)


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="give the sizes of at least one covariate"):
        CovariateEffects(prediction_length=3)


def test_conjugate_gradients_solve():
    root = RNG.normal(size=(2, 4, 4))
    matrices = (root @ root.transpose(0, 2, 1) + np.eye(4)).astype("float32")
    targets = RNG.normal(size=(2, 4)).astype("float32")
    given = ops.convert_to_tensor(matrices), ops.convert_to_tensor(targets)
    found = ops.convert_to_numpy(solve_by_conjugate_gradients(*given, 6))
    expected = np.linalg.solve(matrices, targets[..., None])[..., 0]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.tensorflow  # which refuses to mix both types
def test_effects_in_float64_are_those_in_float32(found, windows):
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    history, *columns = (x.astype("float64") for x in windows)
    exact = compiled(future=(0, 3))(history, np.stack(columns, axis=2))
    assert exact[1].dtype == "float64"
    np.testing.assert_allclose(found[1], exact[1], atol=2e-3 * np.abs(exact[1]).max())
