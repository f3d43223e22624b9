import numpy as np

from kerastrans.models.softs import StochasticPooling
from kerastrans.models.timebase import OrthogonalityLoss
from tests.conftest import to_numpy


def test_pooling_draws_each_channel_as_often_as_its_softmax_says():
    logits = np.log([[1.0], [2.0], [5.0]])
    inputs = np.broadcast_to(logits, (4000, 3, 1)).astype("float32")
    layer = StochasticPooling(seed=0)
    drawn = to_numpy(layer(inputs, training=True)).ravel()
    shares = [np.isclose(drawn, value).mean() for value in logits[:, 0]]
    np.testing.assert_allclose(shares, [1 / 8, 2 / 8, 5 / 8], atol=0.03)
    pooled = to_numpy(layer(inputs[:1]))
    np.testing.assert_allclose(pooled[0, 0, 0], np.array([1, 2, 5]) @ logits[:, 0] / 8, rtol=1e-5)


def test_orthogonal_features_have_no_loss():
    features = np.zeros((2, 6, 1, 3), "float32")
    features[:, [0, 1, 2], 0, [0, 1, 2]] = 2.0
    layer = OrthogonalityLoss(weight=1.0)
    layer(features, training=True)
    assert abs(float(to_numpy(layer.losses[0]))) < 1e-5
    layer(features + 1, training=True)  # products 6 + 2 * 2 of any two features
    np.testing.assert_allclose(to_numpy(layer.losses[-1]), 10 * 6**0.5, rtol=1e-5)
    layer(features + 1)
    assert not layer.losses
