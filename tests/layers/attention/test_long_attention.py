import keras
import numpy as np
import pytest

from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.layers.attention import long_attention
from tests.conftest import to_numpy

BATCH, QUERIES, KEYS, WIDTH = 3, 22, 9, 8  # 22 queries: a chunk of 8 is filled up
LENGTHS = np.array([5, 0, 9])  # the second sequence has no visible key
RNG = np.random.default_rng(0)
takes_chunks = pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="PyTorch fuses attention without dropout"
)


@pytest.fixture
def chunked(monkeypatch):
    """Let `chunked(True)` train any attention in chunks of eight queries, `chunked(False)` none."""

    def choose(is_chunked):
        monkeypatch.setattr(long_attention, "CHUNK", 8)
        shortest = 1 if is_chunked else 10**9
        monkeypatch.setitem(long_attention.LONG, keras.backend.backend(), shortest)

    return choose


def trained(kind, policy="float32"):
    """The output in training and the weights after a step of gradient descent, as float32."""
    keras.utils.set_random_seed(1)
    layer = CachedMultiHeadAttention(
        num_heads=2, key_dim=4, causal=kind == "causal", dtype=policy, kernel_initializer="normal"
    )
    rng = np.random.default_rng(1)
    x = rng.standard_normal((BATCH, QUERIES, WIDTH), "float32")
    inputs = {"x": x}
    symbols = {"x": keras.Input((QUERIES, WIDTH), name="x")}
    options = {}
    if kind == "memory":
        inputs["value"] = rng.standard_normal((BATCH, KEYS, WIDTH), "float32")
        inputs["padding_mask"] = np.arange(KEYS) < LENGTHS[:, None]
    elif kind == "padded":
        inputs["padding_mask"] = np.arange(QUERIES) < LENGTHS[:, None]
    elif kind == "pairs":
        inputs["attention_mask"] = rng.random((BATCH, QUERIES, QUERIES)) < 0.5
    for name, value in inputs.items():
        symbols[name] = keras.Input(value.shape[1:], name=name, dtype=value.dtype.name)
    options = {name: symbol for name, symbol in symbols.items() if name != "x"}
    model = keras.Model(symbols, layer(symbols["x"], **options))
    model.compile(keras.optimizers.SGD(100.0), "mse")
    outputs = to_numpy(keras.ops.cast(model(inputs, training=True), "float32"))
    model.train_on_batch(inputs, rng.standard_normal(x.shape, "float32"))
    return outputs, *model.get_weights()


@pytest.mark.parametrize(
    "kind",
    ["causal", "memory", *(pytest.param(x, marks=pytest.mark.slow) for x in ("padded", "pairs"))],
)
def test_outputs_and_gradients_are_those_of_the_whole_attention(kind, chunked):
    chunked(False)
    expected = trained(kind)
    chunked(True)
    found = trained(kind)
    assert all(np.isfinite(x).all() for x in found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


@pytest.mark.slow
def test_half_precision_agrees(chunked):
    chunked(False)
    expected = trained("causal", "mixed_bfloat16")[0]
    chunked(True)
    np.testing.assert_allclose(trained("causal", "mixed_bfloat16")[0], expected, atol=2e-2)


def dropped_weights(rate, steps=64):
    """The attention weights after dropout `(batch, query, key)`: those of values one to `steps`."""
    layer = CachedMultiHeadAttention(num_heads=1, key_dim=steps, dropout=rate, use_bias=False)
    x = np.tile(np.eye(steps, dtype="float32"), (4, 1, 1))
    layer.build(x.shape)
    small = [0.01 * RNG.standard_normal((steps, steps)) for _ in range(2)]
    layer.set_weights([*small, np.eye(steps), np.eye(steps)])
    return to_numpy(layer(x, training=True))


@takes_chunks
def test_dropout_drops_its_share_of_each_chunk_and_other_keys_in_each(chunked):
    chunked(True)
    weights = dropped_weights(0.3)
    by_chunk = weights.reshape(4, 8, -1)
    deviation = np.sqrt(0.3 * 0.7 / (4 * by_chunk.shape[2]))
    shares = (by_chunk == 0).mean(axis=(0, 2))
    np.testing.assert_allclose(shares, 0.3, atol=4 * deviation)
    np.testing.assert_allclose(weights.sum(axis=-1).mean(), 1, atol=0.03)
    is_kept = (by_chunk > 0).astype(float).reshape(4 * 8, -1)
    agreement = np.corrcoef(is_kept)[~np.eye(32, dtype=bool)]
    assert abs(agreement).max() < 5 / np.sqrt(is_kept.shape[1])


@takes_chunks
def test_the_gradient_has_the_mask_of_the_output(chunked):
    """The output is linear in the kernel of the values: the kernel times its gradient is the loss,
    which holds only if both passes drop the same weights."""
    chunked(True)
    keras.utils.set_random_seed(2)
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=4, dropout=0.5, use_bias=False)
    inputs = keras.Input((QUERIES, WIDTH))
    model = keras.Model(inputs, layer(inputs))
    model.compile(keras.optimizers.SGD(1.0), lambda target, found: target * found)
    before = layer.value_dense.get_weights()[0]
    x, targets = RNG.standard_normal((2, BATCH, QUERIES, WIDTH), "float32")
    loss = model.train_on_batch(x, targets)
    gradient = before - layer.value_dense.get_weights()[0]
    np.testing.assert_allclose((before * gradient).sum(), loss, rtol=1e-3)


def test_which_lengths_are_long():
    shortest = {"jax": 512, "tensorflow": 2048, "torch": 512}[keras.backend.backend()]
    assert long_attention.is_long(shortest, shortest)
    assert not long_attention.is_long(shortest, shortest - 1)
    assert not long_attention.is_long(None, 10 * shortest)
    with_dropout = long_attention.is_long(shortest, shortest, dropout=0.1)
    assert with_dropout == (keras.backend.backend() != "torch")


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="reads the program of JAX")
def test_the_gradient_of_long_attention_keeps_no_weights():
    import jax

    steps = 640
    layer = CachedMultiHeadAttention(num_heads=1, key_dim=2, dropout=0.1, causal=True)
    layer.build((1, steps, 2))
    values = [
        [x.value for x in part]
        for part in (layer.trainable_variables, layer.non_trainable_variables)
    ]

    def loss(trainable, x):
        return layer.stateless_call(trainable, values[1], x, training=True)[0].sum()

    program = str(jax.make_jaxpr(jax.grad(loss))(values[0], np.ones((1, steps, 2), "float32")))
    assert f"[1,1,64,{steps}]" in program
    assert f"f32[1,1,{steps},{steps}]" not in program
