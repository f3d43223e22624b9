import numpy as np
import pytest

from kerastrans.layers import CachedMultiHeadAttention, ProbSparseAttention

from ..conftest import to_numpy

X = np.random.default_rng(0).standard_normal((2, 12, 6)).astype("float32")


@pytest.mark.parametrize("causal", [False, True])
def test_with_every_query_active_it_is_full_attention(causal):
    sparse, full = ProbSparseAttention(2, 3, causal=causal, factor=12), None
    outputs = to_numpy(sparse(X))
    full = CachedMultiHeadAttention(2, 3, causal=causal)
    full(X)
    full.set_weights(sparse.get_weights())
    np.testing.assert_allclose(outputs, to_numpy(full(X)), atol=1e-5)


def test_queries_that_rest_put_out_the_mean_of_the_values():
    layer = ProbSparseAttention(1, 4, factor=1)
    outputs = to_numpy(layer(X))
    values = X @ to_numpy(layer.value_dense.kernel)
    mean = values.mean(axis=1, keepdims=True) @ to_numpy(layer.output_dense.kernel)
    resting = np.isclose(outputs, mean, atol=1e-5).all(axis=-1).sum(axis=1)
    assert (resting == 12 - 3).all()  # ceil(ln(12 + 1)) = 3 are active


def test_causal_attention_does_not_see_the_future():
    layer = ProbSparseAttention(2, 3, causal=True, factor=12)
    changed = X.copy()
    changed[:, 7:] += 1
    before, after = to_numpy(layer(X)), to_numpy(layer(changed))
    np.testing.assert_allclose(before[:, :7], after[:, :7], atol=1e-6)
    assert np.abs(before[:, 7:] - after[:, 7:]).max() > 1e-3
