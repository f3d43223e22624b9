import keras
import numpy as np
import pytest
from keras import ops

from kerastrans.models.nonstationary_transformer import DestationaryAttention
from tests.conftest import to_numpy


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("factor", [1.0, 1e5])
def test_factors_and_offsets_are_not_rounded_to_half_precision(policy, factor):
    """Both may be above 65,504, and the offsets differ by a few units only."""
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 6, 8)).astype("float32")
    inputs = {
        "factor": np.full((2, 1), factor, "float32"),
        "offset": (1e6 + random.standard_normal((2, 6))).astype("float32"),
    }
    options = {"num_heads": 2, "key_dim": 4}
    half, full = DestationaryAttention(dtype=policy, **options), DestationaryAttention(**options)
    found = half(x, **inputs)
    full.build(x.shape)
    full.set_weights(half.get_weights())
    found, expected = to_numpy(ops.cast(found, "float32")), to_numpy(full(x, **inputs))
    np.testing.assert_allclose(found, expected, atol=3e-2)
