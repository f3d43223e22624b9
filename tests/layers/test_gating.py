from statistics import NormalDist

import keras
import numpy as np
import pytest

from kerastrans.layers import GateNoise, TopKGate
from kerastrans.layers.gating import choice_probabilities, squared_variation
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
    logits = np.array([[[30.0, 0.0]], [[30.0, 0.0]]], "float32")
    layer = TopKGate(k=2, balance=0.5)  # of two: all are chosen
    layer.noise.draw = lambda logits: 0 * logits
    layer(logits, logits, training=True)  # weights (2, 0): variance 2, mean 1
    np.testing.assert_allclose(to_numpy(layer.losses[0]), 0.5 * 2, rtol=1e-5)
    layer(logits, logits)
    assert not layer.losses


def test_the_loss_has_the_expected_choices_too():
    rng = np.random.default_rng(0)
    logits, scales, noise = rng.normal(size=(3, 5, 2, 4)).astype("float32")
    layer = TopKGate(k=2, balance=1.0)
    layer.noise.draw = lambda logits: keras.ops.convert_to_tensor(noise)
    weights = to_numpy(layer(logits, scales, training=True))
    deviations = np.log1p(np.exp(scales)) + 0.01
    noisy = logits + noise * deviations
    shares = np.exp(noisy) / np.exp(noisy).sum(axis=-1, keepdims=True)
    chosen = np.zeros_like(logits)
    for place in np.ndindex(logits.shape):
        order = np.sort(shares[place[:-1]])
        threshold = order[-3] if noisy[place] > order[-3] else order[-2]
        chosen[place] = NormalDist().cdf((logits[place] - threshold) / deviations[place])
    totals = weights.sum(axis=(0, 1)), chosen.sum(axis=(0, 1))
    expected = sum(np.var(x, ddof=1) / np.mean(x) ** 2 for x in totals)
    np.testing.assert_allclose(to_numpy(layer.losses[0]), expected, rtol=1e-5)


def test_choices_are_as_probable_as_they_are_frequent():
    rng = np.random.default_rng(1)
    logits, deviations = np.array([0.2, 0.9, 0.5]), np.array([0.5, 0.3, 1.0])
    noisy = logits + rng.normal(size=3) * deviations
    arguments = (keras.ops.convert_to_tensor(x) for x in (logits, noisy, deviations, noisy))
    found = to_numpy(choice_probabilities(*arguments, k=1))
    for i in range(3):
        others = np.delete(noisy, i).max()
        draws = logits[i] + rng.normal(size=100_000) * deviations[i]
        np.testing.assert_allclose(found[i], (draws > others).mean(), atol=0.005)


def test_more_chosen_experts_than_there_are_is_refused():
    logits = np.zeros((1, 1, 2), "float32")
    with pytest.raises(ValueError, match="k must be at most number_of_experts=2, got 3"):
        TopKGate(k=3)(logits, logits)
