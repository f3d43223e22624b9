import numpy as np

from kerastrans.layers import ValueEmbedding
from tests.conftest import to_numpy


def test_value_embedding_pads_the_series_circularly():
    layer = ValueEmbedding(3)
    x = np.random.default_rng(0).standard_normal((2, 5, 2)).astype("float32")
    found = to_numpy(layer(x))
    steps = np.concatenate([x[:, [4, 0, 1, 2, 3]], x, x[:, [1, 2, 3, 4, 0]]], axis=-1)
    np.testing.assert_allclose(found, steps @ to_numpy(layer.kernel), atol=1e-5)
