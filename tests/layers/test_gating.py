import keras
import numpy as np
import pytest

from kerastrans.layers import GateNoise, TopKGate
from kerastrans.layers.gating import squared_variation
from tests.conftest import to_numpy


def test_the_noise_has_the_softplus_of_its_scales_as_deviation():
    logits, scales = np.full((20_000, 2), 3.0, "float32"), np.zeros((20_000, 2), "float32")
    scales[:, 1] = 2.0
    layer = GateNoise(seed=0)
    noisy = to_numpy(layer(logits, scales, training=True))
    np.testing.assert_allclose(noisy.mean(axis=0), 3.0, atol=0.06)
    deviations = np.log1p(np.exp([0.0, 2.0])) + 0.01
    np.testing.assert_allclose(noisy.std(axis=0), deviations, rtol=0.03)
    np.testing.assert_array_equal(to_numpy(layer(logits, scales)), logits)


def test_the_best_experts_share_the_weight_and_training_mixes_the_logits():
    logits = np.log([[[1.0, 2.0, 6.0]]]).astype("float32")
    layer = TopKGate(k=2)
    np.testing.assert_allclose(to_numpy(layer(logits, logits))[0, 0], [0, 0.25, 0.75], atol=1e-5)
    layer.noise.draw = lambda logits: 0 * logits
    layer.mixing.assign(np.eye(3)[::-1])
    mixed = to_numpy(layer(logits, logits, training=True))[0, 0]
    np.testing.assert_allclose(mixed, [0.75, 0.25, 0], atol=1e-5)


def test_the_loss_is_the_squared_variation_of_the_total_weights():
    weights = keras.ops.convert_to_tensor([1.0, 3.0])
    np.testing.assert_allclose(to_numpy(squared_variation(weights)), 0.5)
    logits = np.array([[[9.0, 0.0]], [[9.0, 0.0]]], "float32")
    layer = TopKGate(k=1, balance=0.5)
    layer.noise.draw = lambda logits: 0 * logits
    layer(logits, logits, training=True)  # weights (2, 0): variance 2, mean 1
    np.testing.assert_allclose(to_numpy(layer.losses[0]), 0.5 * 2, rtol=1e-5)
    layer(logits, logits)
    assert not layer.losses


def test_more_chosen_experts_than_there_are_is_refused():
    logits = np.zeros((1, 1, 2), "float32")
    with pytest.raises(ValueError, match="k must be at most number_of_experts=2, got 3"):
        TopKGate(k=3)(logits, logits)
