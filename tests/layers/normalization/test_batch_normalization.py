"""The running statistics of a batch: those of PyTorch, whose variance has the divisor n - 1."""

import keras
import numpy as np
import pytest

from kerastrans.layers import BatchNormalization
from tests.conftest import to_numpy

VALUES = np.random.default_rng(0).normal(3, 2, (4, 5, 6)).astype("float32")


@pytest.mark.parametrize("axis", [-1, 1])
def test_the_moving_variance_has_the_divisor_of_a_sample(axis):
    options = {"axis": axis, "momentum": 0.9}
    layer, kerass = BatchNormalization(**options), keras.layers.BatchNormalization(**options)
    for values in (VALUES, 2 * VALUES[:2]):
        outputs, expected = (to_numpy(x(values, training=True)) for x in (layer, kerass))
        np.testing.assert_array_equal(outputs, expected)
    axes = tuple(i for i in range(3) if i != axis % 3)
    first, second = VALUES.var(axes, ddof=1), (2 * VALUES[:2]).var(axes, ddof=1)
    expected = 0.9 * (0.9 + 0.1 * first) + 0.1 * second
    np.testing.assert_allclose(to_numpy(layer.moving_variance), expected, rtol=1e-5)
    np.testing.assert_array_equal(to_numpy(layer.moving_mean), to_numpy(kerass.moving_mean))


def test_masked_steps_do_not_count():
    layer = BatchNormalization(momentum=0.9)
    mask = np.arange(5) < np.array([[5], [3], [1], [0]])
    layer(VALUES, training=True, mask=mask)
    expected = 0.9 + 0.1 * VALUES[mask].var(axis=0, ddof=1)
    np.testing.assert_allclose(to_numpy(layer.moving_variance), expected, rtol=1e-4)


def test_a_single_value_has_no_variance():
    layer = BatchNormalization(momentum=0.9)
    layer(VALUES[:1, 0], training=True)
    np.testing.assert_allclose(to_numpy(layer.moving_variance), 0.9, rtol=1e-6)


def test_statistics_stay_in_forecasts_and_in_a_frozen_layer():
    layer = BatchNormalization()
    layer(VALUES)
    layer.trainable = False
    layer(VALUES, training=True)
    np.testing.assert_array_equal(to_numpy(layer.moving_variance), 1)


def test_weights_and_options_are_those_of_keras(tmp_path):
    ours, kerass = (
        keras.Sequential([keras.Input((6,)), layer(momentum=0.8, name="norm")])
        for layer in (BatchNormalization, keras.layers.BatchNormalization)
    )
    kerass.layers[0](VALUES[0], training=True)
    kerass.save_weights(tmp_path / "keras.weights.h5")
    ours.load_weights(tmp_path / "keras.weights.h5")
    for weight, expected in zip(ours.weights, kerass.weights, strict=True):
        np.testing.assert_array_equal(to_numpy(weight), to_numpy(expected))
    found, expected = (x.layers[0].get_config() for x in (ours, kerass))
    assert {**found, "dtype": None} == {**expected, "dtype": None}
    ours.save(tmp_path / "ours.keras")
    loaded = keras.saving.load_model(tmp_path / "ours.keras")
    assert type(loaded.layers[0]) is BatchNormalization
