import numpy as np

from kerastrans.layers import InterpretableMultiHeadAttention
from tests.conftest import to_numpy


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
