import itertools

import keras
import numpy as np
import pytest
from keras import ops

import kerastrans
from kerastrans.decoding.generation import AutoregressiveModel
from kerastrans.decoding.inspection import attention_scores
from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.masks import create_padding_mask
from tests.conftest import XLA, to_numpy

RNG = np.random.default_rng(0)
QUERY = RNG.standard_normal((2, 5, 6), "float32")
MEMORY = RNG.standard_normal((2, 7, 4), "float32")


def equal_layers(num_heads=2, key_dim=3, memory=None, causal=False):
    """Our layer and Keras's, with the same random weights."""
    ours = CachedMultiHeadAttention(num_heads=num_heads, key_dim=key_dim, causal=causal)
    theirs = keras.layers.MultiHeadAttention(num_heads, key_dim)
    arguments = (QUERY,) if memory is None else (QUERY, memory)
    ours(*arguments)
    theirs(QUERY, QUERY if memory is None else memory)
    theirs.set_weights([RNG.standard_normal(w.shape) for w in theirs.weights])
    dense = ours.query_dense, ours.key_dense, ours.value_dense, ours.output_dense
    kernels_and_biases = theirs.get_weights()  # query, key, value, output: kernel and bias each
    for layer, kernel, bias in zip(
        dense, kernels_and_biases[::2], kernels_and_biases[1::2], strict=True
    ):
        layer.set_weights([kernel.reshape(layer.kernel.shape), bias.reshape(-1)])
    return ours, theirs


def test_self_attention_equals_keras():
    ours, theirs = equal_layers()
    np.testing.assert_allclose(to_numpy(ours(QUERY)), to_numpy(theirs(QUERY, QUERY)), atol=1e-5)


def test_causal_self_attention_equals_keras():
    ours, theirs = equal_layers(causal=True)
    expected = theirs(QUERY, QUERY, use_causal_mask=True)
    np.testing.assert_allclose(to_numpy(ours(QUERY)), to_numpy(expected), atol=1e-5)


def test_masked_cross_attention_equals_keras():
    ours, theirs = equal_layers(memory=MEMORY)
    padding_mask = to_numpy(create_padding_mask(np.array([3, 7]), 7))
    expected = theirs(QUERY, MEMORY, attention_mask=padding_mask[:, None])
    result = ours(QUERY, MEMORY, padding_mask=padding_mask)
    np.testing.assert_allclose(to_numpy(result), to_numpy(expected), atol=1e-5)


def test_attention_equals_equation_1_in_float64():
    layer = CachedMultiHeadAttention(num_heads=1, key_dim=3)
    result = to_numpy(layer(QUERY))
    (wq, bq), (wk, bk), (wv, bv), (wo, bo) = (
        [w.astype("float64") for w in dense.get_weights()]
        for dense in (layer.query_dense, layer.key_dense, layer.value_dense, layer.output_dense)
    )
    x = QUERY.astype("float64")
    scores = np.exp((x @ wq + bq) @ (x @ wk + bk).transpose(0, 2, 1) / np.sqrt(3))
    expected = scores / scores.sum(axis=-1, keepdims=True) @ (x @ wv + bv) @ wo + bo
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_attention_mask_accepts_valid_lengths_per_query():
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    mask = create_padding_mask(np.array([[1, 2, 3, 4, 7], [7, 7, 7, 7, 7]]), 7)
    first = to_numpy(layer(QUERY, MEMORY, attention_mask=mask))
    changed = MEMORY.copy()
    changed[0, 1:] += 9  # hidden from the first query of the first example alone
    second = to_numpy(layer(QUERY, changed, attention_mask=mask))
    np.testing.assert_allclose(first[0, 0], second[0, 0], atol=1e-6)
    assert np.abs(first[0, 1] - second[0, 1]).max() > 1e-3


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16", "float16"])
def test_fully_masked_query_attends_to_nothing(policy):
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, dtype=policy)
    padding_mask = np.array([[False] * 7, [True] * 7])
    result = to_numpy(ops.cast(layer(QUERY, MEMORY, padding_mask=padding_mask), "float32"))
    assert np.isfinite(result).all()
    bias = to_numpy(layer.output_dense.bias)
    np.testing.assert_array_equal(result[0], np.broadcast_to(bias, result[0].shape))
    assert np.abs(result[1]).max() > 1e-3


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_fully_masked_query_has_finite_gradients(policy):
    keras.config.set_dtype_policy(policy)
    query, memory = keras.Input((5, 6)), keras.Input((7, 4))
    mask = keras.Input((7,), dtype="bool")
    outputs = CachedMultiHeadAttention(num_heads=2, key_dim=3)(query, memory, padding_mask=mask)
    model = keras.Model([query, memory, mask], outputs)
    model.compile(keras.optimizers.SGD(0.1), "mse", **XLA)
    before = [w.copy() for w in model.get_weights()]
    hidden = np.array([[False] * 7, [False] * 7])
    model.fit([QUERY, MEMORY, hidden], np.ones_like(QUERY), verbose=0)
    after = model.get_weights()
    assert all(np.isfinite(w).all() for w in after)
    assert any((a != b).any() for a, b in zip(after, before, strict=True))  # it did take a step


@pytest.mark.parametrize("size", [100, 1000])
def test_scores_beyond_float16_are_finite(size):
    """Projections that change nothing, so that the largest score is far above 65,504."""
    layer = CachedMultiHeadAttention(
        num_heads=1, key_dim=32, kernel_initializer="identity", dtype="mixed_float16"
    )
    query = size * np.random.default_rng(0).normal(size=(1, 6, 32))
    assert (query[0] @ query[0].T / 32**0.5).max() > 65504 / (1 if size > 100 else 2)
    attended = to_numpy(ops.cast(layer(query), "float32"))
    assert np.isfinite(attended).all()
    np.testing.assert_allclose(attended, query, rtol=2e-3)  # each looks at itself
    weights = layer.attention_scores(query)
    assert np.isfinite(to_numpy(ops.cast(weights, "float32"))).all()


@pytest.mark.parametrize("hidden", [-1e9, -np.inf])
def test_an_additive_mask_is_refused(hidden):
    additive = np.where(np.tri(5, dtype=bool), 0.0, hidden).astype("float32")
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    with pytest.raises(ValueError, match=r"masks are boolean, .* got float32: .* `mask == 0`"):
        layer(QUERY[:, :5], attention_mask=additive)
    visible = to_numpy(layer(QUERY[:, :5], attention_mask=additive == 0))
    np.testing.assert_array_equal(
        visible, to_numpy(layer(QUERY[:, :5], attention_mask=np.tri(5, dtype="int32")))
    )


def copied(ours, theirs, *arguments, **masks):
    """Our output and Keras's, with the same random weights."""
    ours(*arguments)
    theirs(*arguments, return_attention_scores=True)
    weights = [RNG.standard_normal(w.shape) for w in theirs.weights]
    theirs.set_weights(weights)
    ours.set_weights([w.reshape(v.shape) for w, v in zip(weights, ours.weights, strict=True)])
    assert ours.count_params() == theirs.count_params()
    # Without the weights Keras takes a kernel of JAX that requires value_dim == key_dim.
    expected, _ = theirs(*arguments, **masks, return_attention_scores=True)
    return to_numpy(ours(*arguments, **masks)), to_numpy(expected)


@pytest.mark.parametrize(
    ("value_dim", "output_shape", "count"), [(None, None, 2400), (4, 32, 3056)]
)
def test_parameter_counts_of_the_lesson(value_dim, output_shape, count):
    """The two counts that the lesson prints, with 8 heads of 3 on inputs 24 wide."""
    layer = CachedMultiHeadAttention(
        num_heads=8, key_dim=3, value_dim=value_dim, output_shape=output_shape
    )
    inputs = keras.Input((6, 24))
    outputs = layer(inputs, inputs)
    assert outputs.shape == (None, 6, output_shape or 24)
    assert layer.count_params() == count


@pytest.mark.parametrize(("value_dim", "output_shape"), [(None, None), (5, None), (2, 9), (7, 1)])
def test_queries_keys_and_values_of_other_lengths_and_widths(value_dim, output_shape):
    """The lesson's table: X_q (5, 6), X_k (7, 3), X_v (7, 4)."""
    sizes = {"num_heads": 3, "key_dim": 5, "value_dim": value_dim, "output_shape": output_shape}
    key = RNG.standard_normal((2, 7, 3), "float32")
    layers = CachedMultiHeadAttention(**sizes), keras.layers.MultiHeadAttention(**sizes)
    mask = RNG.random((2, 5, 7)) < 0.7
    mask[..., 0] = True
    result, expected = copied(*layers, QUERY, MEMORY, key, attention_mask=mask)
    assert result.shape == (2, 5, output_shape or 6)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_arguments_have_the_order_and_the_names_of_keras():
    ours = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    theirs = keras.layers.MultiHeadAttention(num_heads=2, key_dim=3)
    copied(ours, theirs, QUERY, QUERY, QUERY)
    same = [
        ours(QUERY),
        ours(QUERY, QUERY),
        ours(QUERY, QUERY, QUERY),
        ours(query=QUERY, value=QUERY, key=QUERY),
    ]
    for result in same:
        np.testing.assert_allclose(
            to_numpy(result), to_numpy(theirs(QUERY, QUERY, QUERY)), atol=1e-5
        )
    causal = ours(QUERY, QUERY, use_causal_mask=True)
    expected = theirs(QUERY, QUERY, use_causal_mask=True)
    np.testing.assert_allclose(to_numpy(causal), to_numpy(expected), atol=1e-5)
    square = np.ones((2, 4, 4), "float32")  # time == width: data would fit in a padding_mask
    layer = CachedMultiHeadAttention(num_heads=1, key_dim=2)
    np.testing.assert_array_equal(to_numpy(layer(square, square, square)), to_numpy(layer(square)))


def test_use_causal_mask_overrides_the_layer():
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=True)
    layer(QUERY)
    weights = to_numpy(layer.attention_scores(QUERY, use_causal_mask=False))
    assert (weights[..., 0, 1:] > 0).all()
    assert (to_numpy(layer.attention_scores(QUERY))[..., 0, 1:] == 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"padding_mask": np.ones((2, 4), bool)}, r"must have shape \(batch, 5\), got \(2, 4\)"),
        ({"padding_mask": np.ones((5,), bool)}, r"padding_mask must have shape \(batch, 5\)"),
        ({"padding_mask": np.ones((2, 5), "float32")}, "masks are boolean"),
        (
            {"attention_mask": np.ones((2, 4, 5), bool)},
            r"attention_mask must broadcast to \(batch, 5, 5\), got shape \(2, 4, 5\)",
        ),
        ({"value": MEMORY, "padding_mask": np.ones((2, 5), bool)}, r"\(batch, 7\), got \(2, 5\)"),
        ({"value": MEMORY, "key": QUERY}, "key must have as many steps as value, 7, got 5"),
        ({"key": QUERY}, "a key requires a value, got None"),
        ({"value": QUERY[0]}, r"value must have shape \(batch, time, width\), got \(5, 6\)"),
    ],
)
def test_masks_and_sequences_that_do_not_fit_are_refused_when_built(arguments, message):
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    with pytest.raises(ValueError, match=message):
        layer(QUERY, **arguments)
    symbols = {name: keras.KerasTensor(x.shape, x.dtype) for name, x in arguments.items()}
    with pytest.raises(ValueError, match=message):
        layer(keras.KerasTensor(QUERY.shape), **symbols)


def test_layer_reloads_from_its_config():
    layer = CachedMultiHeadAttention(
        num_heads=2, key_dim=3, dropout=0.2, value_dim=5, output_shape=7, name="here"
    )
    again = CachedMultiHeadAttention.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


def test_causal_attention_refuses_a_memory():
    with pytest.raises(ValueError, match="is causal"):
        CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=True)(QUERY, MEMORY)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_heads": 0, "key_dim": 3}, "num_heads must be an integer of at least 1, got 0"),
        ({"num_heads": 2, "key_dim": -1}, "key_dim must be an integer of at least 1, got -1"),
        ({"num_heads": 2, "key_dim": 2.0}, "key_dim must be an integer of at least 1, got 2.0"),
        ({"num_heads": 2, "key_dim": 3, "dropout": 1.0}, r"dropout must be a number in \[0, 1\)"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CachedMultiHeadAttention(**arguments)


def test_projections_from_one_initializer_have_different_weights():
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, kernel_initializer=FanInUniform())
    layer.build((None, 4, 6))
    query, key, value, output = (to_numpy(w) for w in layer.weights[::2])
    for one, other in itertools.combinations((query, key, value, output), 2):
        assert np.abs(one - other).max() > 0.01
        assert max(np.abs(one).max(), np.abs(other).max()) <= 6**-0.5
    again = CachedMultiHeadAttention.from_config(layer.get_config())
    again.build((None, 4, 6))
    assert np.abs(to_numpy(again.weights[0])).max() <= 6**-0.5


def test_a_call_with_training_given_is_decoded_and_shown():
    keras.utils.set_random_seed(0)
    memory, steps = keras.Input((5, 4)), keras.Input((None, 4))
    x = CachedMultiHeadAttention(num_heads=1, key_dim=4, causal=True)(steps, training=False)
    x = CachedMultiHeadAttention(num_heads=1, key_dim=4)(x, memory, training=False)
    model = AutoregressiveModel([memory, steps], x)
    inputs = RNG.standard_normal((1, 5, 4), "float32")
    found = model.generate(inputs, 3, start_token=0.0)
    seen = np.concatenate([np.zeros((1, 1, 4)), found[:, :2]], axis=1)
    np.testing.assert_allclose(to_numpy(model([inputs, seen])), found, atol=1e-5)
    shapes = {kind: x.shape for kind, x in attention_scores(model, [inputs, seen]).items()}
    assert shapes == {"decoder_self": (1, 1, 3, 3), "cross": (1, 1, 3, 5)}


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_a_quantized_model_loads_with_the_same_outputs(mode, tmp_path):
    inputs = keras.Input((6, 8))
    x = kerastrans.transformer_encoder(inputs, num_heads=2, key_dim=4, ff_dim=16, name="block")
    x = kerastrans.TransformerEncoder(intermediate_dim=16, num_heads=2)(x)
    model = keras.Model(inputs, x)
    values = np.random.default_rng(0).standard_normal((2, 6, 8), "float32")
    before = to_numpy(model(values))
    # One projection stays as it is: what is quantized is known for each layer.
    model.quantize(mode, filters=lambda layer: layer.name != "value")
    quantized = to_numpy(model(values))
    assert np.abs(quantized - before).max() > 1e-4
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(to_numpy(loaded(values)), quantized)
    attention = loaded.get_layer("block_self_attention")
    assert attention.key_dense.quantization_mode == mode
    assert attention.value_dense.quantization_mode is None
