import keras
import numpy as np
import pytest

from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.patchtst import ResidualAttention
from tests.conftest import to_numpy

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 7, 6)).astype("float32")


@pytest.mark.parametrize("causal", [False, True])
def test_first_layer_equals_multi_head_attention(causal):
    residual = ResidualAttention(num_heads=2, key_dim=3, causal=causal)
    outputs, scores = residual(X)
    full = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=causal)
    full(X)
    full.set_weights(residual.get_weights())
    np.testing.assert_allclose(to_numpy(outputs), to_numpy(full(X)), atol=1e-6)
    assert scores.shape == (2, 2, 7, 7)


def test_scores_of_the_previous_layer_are_added_before_the_softmax():
    layer = ResidualAttention(num_heads=1, key_dim=4)
    before = RANDOM.standard_normal((2, 1, 7, 7)).astype("float32")
    outputs, scores = layer(X, before)
    kernels = layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense
    query, key, value, output = (to_numpy(dense.kernel) for dense in kernels)
    expected = np.einsum("btd,bsd->bts", X @ query, X @ key) / 2 + before[:, 0]
    np.testing.assert_allclose(to_numpy(scores)[:, 0], expected, atol=1e-5)
    weights = np.exp(expected) / np.exp(expected).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(to_numpy(outputs), weights @ (X @ value) @ output, atol=1e-5)


def test_saved_model_passes_the_scores_on(tmp_path):
    inputs = keras.Input((7, 6))
    x, scores = ResidualAttention(num_heads=2, key_dim=3)(inputs)
    x, _ = ResidualAttention(num_heads=2, key_dim=3)(x, scores)
    model = keras.Model(inputs, x)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    np.testing.assert_allclose(to_numpy(loaded(X)), to_numpy(model(X)), atol=1e-6)
