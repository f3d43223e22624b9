"""Errors of points: their numbers, their gradients at zeros and gaps, what a file keeps."""

import keras
import numpy as np
import pytest

from kerastrans.heads import PointError, PointHead
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)
TARGETS = RNG.uniform(1, 9, (3, 4, 2)).astype("float32")
FORECASTS = RNG.uniform(1, 9, (3, 4, 2)).astype("float32")
KNOWN = RNG.uniform(size=TARGETS.shape) < 0.7


def loss_of(error, targets, forecasts):
    return float(to_numpy(PointError(error)(targets, forecasts)))


@pytest.mark.parametrize(
    ("error", "exact"),
    [
        ("smape", lambda y, f: 2 * np.abs(y - f) / (np.abs(y) + np.abs(f))),
        ("mape", lambda y, f: np.abs(y - f) / np.abs(y)),
        ("mase", lambda y, f: np.abs(y - f)),
    ],
)
def test_error_is_the_mean_over_known_targets_and_relative_ones_have_no_unit(error, exact):
    gaps = np.where(KNOWN, TARGETS, np.nan)
    expected = exact(TARGETS, FORECASTS)[KNOWN].mean()
    assert loss_of(error, gaps, FORECASTS) == pytest.approx(expected, rel=1e-5)
    unit = 1.0 if error == "mase" else 1e-3
    found = loss_of(error, unit * gaps, np.float32(unit) * FORECASTS)
    assert found == pytest.approx(expected, rel=1e-4)


def test_zero_targets_are_excluded_from_mape_and_count_two_in_smape():
    targets = np.array([[[0.0], [4.0], [np.nan]]], "float32")
    forecasts = np.array([[[1.0], [5.0], [7.0]]], "float32")
    assert loss_of("mape", targets, forecasts) == pytest.approx(0.25)
    assert loss_of("smape", targets, forecasts) == pytest.approx((2 + 2 / 9) / 2)


@pytest.mark.parametrize("error", ["smape", "mape"])
def test_zero_and_missing_targets_do_not_change_the_weights(error):
    """A target of 0 has the same relative error for any forecast."""
    model = keras.Sequential([keras.Input((1, 1)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), PointError(error))
    before = [x.copy() for x in model.get_weights()]
    ones = np.ones((4, 1, 1), "float32")
    model.train_on_batch(ones, np.array([0, 0, np.nan, np.nan], "float32").reshape(4, 1, 1))
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    model.train_on_batch(ones, np.array([0, 3, np.nan, 5], "float32").reshape(4, 1, 1))
    assert all(np.isfinite(x).all() for x in model.get_weights())
    assert (model.get_weights()[0] != before[0]).all()


def test_denominator_of_smape_has_no_gradient():
    """With one, the gradient of a forecast far above its target would vanish."""
    model = keras.Sequential([keras.Input((1, 1)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.full((1, 1), 9.0)])
    model.compile(keras.optimizers.SGD(1.0), PointError("smape"))
    model.train_on_batch(np.ones((1, 1, 1), "float32"), np.ones((1, 1, 1), "float32"))
    assert model.get_weights()[0].item() == pytest.approx(9 - 2 / 10)  # 2 / (9 + 1)


@pytest.mark.parametrize("error", ["smape", "mape", "mase"])
def test_point_head_keeps_its_loss_after_reloading(error):
    head = PointHead(error)
    restored = PointHead.from_config(head.get_config())
    assert restored.loss().error == error
    assert restored.point_is_median == (error == "mase")
    loss = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head.loss()))
    assert loss.error == error
