import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.informer import ProbSparseAttention
from tests.conftest import to_numpy

X = np.random.default_rng(0).standard_normal((2, 12, 6)).astype("float32")


@pytest.mark.parametrize("factor", [12, None])
@pytest.mark.parametrize("causal", [False, True])
def test_equals_full_attention_if_every_query_is_active(causal, factor):
    sparse = ProbSparseAttention(num_heads=2, key_dim=3, causal=causal, factor=factor)
    outputs = to_numpy(sparse(X))
    full = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=causal)
    full(X)
    full.set_weights(sparse.get_weights())
    np.testing.assert_allclose(outputs, to_numpy(full(X)), atol=1e-5)


def test_inactive_queries_return_the_mean_of_the_values():
    layer = ProbSparseAttention(num_heads=1, key_dim=4, factor=1)
    outputs = to_numpy(layer(X))
    values = X @ to_numpy(layer.value_dense.kernel)
    mean = values.mean(axis=1, keepdims=True) @ to_numpy(layer.output_dense.kernel)
    resting = np.isclose(outputs, mean, atol=1e-5).all(axis=-1).sum(axis=1)
    assert (resting == 12 - 3).all()  # ceil(ln(12 + 1)) = 3 are active


def test_causal_attention_does_not_see_the_future():
    layer = ProbSparseAttention(num_heads=2, key_dim=3, causal=True, factor=12)
    changed = X.copy()
    changed[:, 7:] += 1
    before, after = to_numpy(layer(X)), to_numpy(layer(changed))
    np.testing.assert_allclose(before[:, :7], after[:, :7], atol=1e-6)
    assert np.abs(before[:, 7:] - after[:, 7:]).max() > 1e-3


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_queries_with_the_largest_sparsity_measure_are_active():
    layer = ProbSparseAttention(num_heads=1, key_dim=4, factor=1, seed=3)
    outputs = to_numpy(layer(X))
    kernels = layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense
    query, key, value, output = (to_numpy(dense.kernel) for dense in kernels)
    scores = np.einsum("btd,bsd->bts", X @ query, X @ key) / 2
    sample = np.random.default_rng(3).integers(0, 12, (12, 3))
    sampled = np.take_along_axis(scores, np.broadcast_to(sample, (2, 12, 3)), axis=-1)
    activity = sampled.max(axis=-1) - sampled.mean(axis=-1)
    active = activity >= np.sort(activity, axis=-1)[:, -3:-2]
    attended = softmax(scores) @ (X @ value)
    resting = (X @ value).mean(axis=1, keepdims=True)
    expected = np.where(active[..., None], attended, resting) @ output
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_sample_of_keys_changes_in_training_but_not_in_inference():
    x = np.random.default_rng(1).standard_normal((2, 48, 6)).astype("float32")

    def outputs(layer, training):
        layer(x)
        layer.set_weights(weights)
        return [to_numpy(layer(x, training=training)) for _ in range(3)]

    layers = [
        ProbSparseAttention(num_heads=2, key_dim=3, factor=1, seed=seed) for seed in (5, 5, 6)
    ]
    layers[0](x)
    weights = layers[0].get_weights()
    first, again, other = (outputs(layer, True) for layer in layers)
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, same)
    assert all(np.abs(first[0] - x).max() > 1e-3 for x in (first[1], first[2], other[0]))
    forecasts = outputs(layers[0], False)
    np.testing.assert_array_equal(forecasts[0], forecasts[1])
    assert np.abs(forecasts[0] - outputs(layers[2], False)[0]).max() > 1e-3


@pytest.mark.slow
def test_layers_have_different_samples_and_saved_models_keep_them(tmp_path):
    x = np.random.default_rng(2).standard_normal((2, 32, 1)).astype("float32")

    def build(seed):
        keras.utils.set_random_seed(seed)
        return zoo.build("informer", 32, 4, 1, d_model=8, num_heads=2, ff_dim=8, factor=1)

    def seeds(model):
        return [layer.seed for layer in model.layers if isinstance(layer, ProbSparseAttention)]

    model = build(0)
    assert len(set(seeds(model))) == 3
    assert seeds(model) == seeds(build(0)) != seeds(build(1))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    assert seeds(loaded) == seeds(model)
    forecast = model.predict(x, verbose=0)
    np.testing.assert_allclose(loaded.predict(x, verbose=0), forecast, atol=1e-6)
