import keras
import numpy as np

from kerastrans.layers import WeightNormalizedConvolution
from tests.conftest import to_numpy


def test_it_is_a_causal_convolution_with_normalised_kernels():
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 12, 3)).astype("float32")
    layer = WeightNormalizedConvolution(4, kernel_size=3, dilation=2)
    layer.build(x.shape)
    plain = keras.layers.Conv1D(4, 3, padding="causal", dilation_rate=2)
    plain.build(x.shape)
    direction = random.standard_normal((3, 3, 4))
    scale, bias = random.uniform(0.5, 2, 4), random.standard_normal(4)
    layer.set_weights([direction, scale, bias])
    norm = np.linalg.norm(direction.reshape(-1, 4), axis=0)
    plain.set_weights([direction * scale / norm, bias])
    np.testing.assert_allclose(to_numpy(layer(x)), to_numpy(plain(x)), atol=1e-5)
