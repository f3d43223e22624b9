import keras
import numpy as np
import pytest

from kerastrans.models.timebridge import Detrending
from tests.conftest import to_numpy


@pytest.mark.parametrize("axis", ["time", "features"])
def test_the_trend_is_the_mean_of_the_latest_positions(axis):
    x = np.random.default_rng(0).standard_normal((2, 5, 5)).astype("float32")
    found = to_numpy(Detrending(3, axis)(x))
    x, found = (x, found) if axis == "time" else (x.swapaxes(1, 2), found.swapaxes(1, 2))
    for i in range(5):
        latest = max(i, 2)  # the first positions have the first complete average
        trend = x[:, latest - 2 : latest + 1].mean(axis=1)
        np.testing.assert_allclose(found[:, i], x[:, i] - trend, atol=1e-6)


def test_a_long_average_is_over_all_positions():
    x = np.arange(6, dtype="float32").reshape(1, 3, 2)
    np.testing.assert_allclose(to_numpy(Detrending(9)(x)), x - x.mean(axis=1), atol=1e-6)


def test_no_gradient_flows_through_it():
    x = np.random.default_rng(0).standard_normal((3, 4, 1)).astype("float32")
    inputs = keras.Input((4, 1))
    scale = keras.layers.Dense(1, use_bias=False)
    scaled = scale(inputs)
    model = keras.Model(inputs, scaled + Detrending(4)(scaled))
    model.compile(keras.optimizers.SGD(1.0), "mse")
    before = to_numpy(scale.kernel).item()
    model.train_on_batch(x, 0 * x)
    output = before * (2 * x - x.mean(axis=1, keepdims=True))
    gradient = (2 * output * x).mean()  # of the first term only
    np.testing.assert_allclose(to_numpy(scale.kernel).item(), before - gradient, rtol=1e-4)


def test_unknown_axis_is_refused():
    with pytest.raises(ValueError, match="axis must be"):
        Detrending(2, "channels")
