import numpy as np
import pytest
from keras import ops

from kerastrans.layers import GroupedQueryAttention
from kerastrans.models.tft import InterpretableMultiHeadAttention
from tests.conftest import to_numpy


@pytest.mark.parametrize(
    "layer",
    [
        InterpretableMultiHeadAttention(num_heads=1, key_dim=32, dtype="mixed_float16"),
        GroupedQueryAttention(
            num_heads=1, num_groups=1, key_dim=32, value_dim=32, dtype="mixed_float16"
        ),
    ],
)
def test_scores_beyond_float16_are_finite(layer):
    x = 3000 * np.random.default_rng(0).standard_normal((1, 16, 32)).astype("float32")
    second = x if isinstance(layer, InterpretableMultiHeadAttention) else np.ones((1, 16), bool)
    outputs = layer(x, second)
    outputs = outputs if isinstance(layer, InterpretableMultiHeadAttention) else outputs[0]
    assert np.isfinite(to_numpy(ops.cast(outputs, "float32"))).all()


def test_weights_are_averaged_over_heads_and_never_look_ahead():
    layer = InterpretableMultiHeadAttention(num_heads=2, key_dim=3)
    x = np.random.default_rng(0).standard_normal((2, 7, 6)).astype("float32")
    outputs = to_numpy(layer(x[:, -4:], x))
    q = np.einsum("btd,dhk->bthk", x[:, -4:], to_numpy(layer.query_dense.kernel))
    k = np.einsum("btd,dhk->bthk", x, to_numpy(layer.key_dense.kernel))
    scores = np.einsum("bqhk,bmhk->bhqm", q, k) / 3**0.5
    scores = np.where(np.tri(7, dtype=bool)[-4:], scores, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    values = x @ to_numpy(layer.value_dense.kernel)
    expected = weights.mean(axis=1) @ values @ to_numpy(layer.output_dense.kernel)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


@pytest.mark.parametrize("positions", ["rotary", "xpos"])
def test_widths_without_pairs_of_features_are_refused(positions):
    sizes = {"num_heads": 2, "num_groups": 1, "value_dim": 4, "positions": positions}
    with pytest.raises(ValueError, match=f"positions='{positions}' requires a key_dim that 4"):
        GroupedQueryAttention(key_dim=6, **sizes)
    layer = GroupedQueryAttention(key_dim=8, **sizes)
    assert np.isfinite(to_numpy(layer(np.ones((1, 3, 4)), np.ones((1, 3), bool))[0])).all()
