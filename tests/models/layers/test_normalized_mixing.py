import keras
import numpy as np
import pytest

from kerastrans.models.olinear import NormalizedMixing
from tests.conftest import to_numpy


def test_tokens_are_means_with_positive_weights():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    layer = NormalizedMixing()
    layer.build(x.shape)
    matrix = np.array([[0.0, 2.0, -1.0], [-30.0, -30.0, 5.0], [1.0, 1.0, 1.0]])
    layer.set_weights([matrix])
    weights = np.log1p(np.exp(matrix))
    weights /= weights.sum(axis=1, keepdims=True)
    found = to_numpy(layer(x))
    np.testing.assert_allclose(found, weights @ x, atol=1e-5)
    np.testing.assert_allclose(found[:, 2], x.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(found[:, 1], x[:, 2], atol=1e-5)
    assert np.isfinite(to_numpy(layer(1e4 * x))).all()


def test_a_row_whose_weights_vanish_is_zero():
    layer = NormalizedMixing()
    layer.build((None, 2, 3))
    layer.set_weights([np.full((2, 2), -1e4)])
    assert (to_numpy(layer(np.ones((1, 2, 3), "float32"))) == 0).all()


def test_the_matrix_begins_with_the_identity_and_noise():
    keras.utils.set_random_seed(0)
    layer = NormalizedMixing()
    layer.build((None, 400, 2))
    noise = to_numpy(layer.matrix) - np.eye(400)
    assert abs(np.diag(noise).mean()) < 0.2
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 1) < 0.02


def test_dropout_removes_the_same_weights_from_all_windows():
    x = np.ones((5, 8, 3), "float32")
    layer = NormalizedMixing(dropout=0.5)
    np.testing.assert_allclose(to_numpy(layer(x)), 1.0, atol=1e-5)
    found = to_numpy(layer(x, training=True))
    assert found.std(axis=1).min() > 0.05
    np.testing.assert_allclose(found, np.broadcast_to(found[:1, :, :1], found.shape), atol=1e-6)


def test_an_impossible_dropout_is_refused():
    with pytest.raises(ValueError, match=r"dropout must be a number in \[0, 1\), got 1.0"):
        NormalizedMixing(dropout=1.0)
