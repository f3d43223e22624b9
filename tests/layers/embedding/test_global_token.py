import numpy as np

from kerastrans.layers import GlobalToken
from tests.conftest import to_numpy


def test_global_token_stands_behind_each_channels_sequence():
    layer = GlobalToken(3)
    x = np.random.default_rng(0).standard_normal((6, 4, 2)).astype("float32")
    found = to_numpy(layer(x))
    np.testing.assert_array_equal(found[:, :4], x)
    np.testing.assert_array_equal(found[:, 4], np.tile(to_numpy(layer.tokens)[0], (2, 1)))
