import numpy as np

from kerastrans.models.timexer import GlobalToken
from tests.conftest import to_numpy


def test_global_token_is_appended_to_each_channel():
    layer = GlobalToken(3)
    x = np.random.default_rng(0).standard_normal((6, 4, 2)).astype("float32")
    found = to_numpy(layer(x))
    np.testing.assert_array_equal(found[:, :4], x)
    np.testing.assert_array_equal(found[:, 4], np.tile(to_numpy(layer.tokens)[0], (2, 1)))
