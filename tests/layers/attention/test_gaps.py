"""Steps that are not finite reach only the queries that may attend to them."""

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import generate, transformer_decoder
from kerastrans.decoding.generation import AutoregressiveModel
from kerastrans.heads import PointError
from kerastrans.layers import (
    CachedMultiHeadAttention,
    GroupedQueryAttention,
    PromptedAttention,
    TransformerDecoder,
    TransformerEncoder,
    UnscaledAttention,
)
from kerastrans.utils.keras_internals import set_mask
from tests.conftest import XLA, to_numpy

RNG = np.random.default_rng(0)
WHOLE = RNG.standard_normal((2, 8, 6), "float32")
QUERY = RNG.standard_normal((2, 3, 6), "float32")
VISIBLE = np.array([[True] * 5 + [False] * 3, [False] * 2 + [True] * 6])
PAST = np.tile(np.arange(8) < 5, (2, 1))
SMALL = {"num_heads": 2, "key_dim": 4}


def implicit(layer, x):
    """Call a layer on steps that an implicit mask hides."""
    x = ops.convert_to_tensor(x)
    set_mask(x, ops.convert_to_tensor(VISIBLE))
    return layer(x)


def grouped():
    return GroupedQueryAttention(num_groups=1, value_dim=4, **SMALL)


def encoder():
    return TransformerEncoder(intermediate_dim=8, num_heads=2)


CALLS = {
    "padding": (
        lambda: CachedMultiHeadAttention(**SMALL),
        lambda layer, x: layer(x, padding_mask=VISIBLE),
        VISIBLE,
    ),
    "each query": (
        lambda: CachedMultiHeadAttention(**SMALL),
        lambda layer, x: layer(x, attention_mask=VISIBLE[:, :, None] & VISIBLE[:, None]),
        VISIBLE,
    ),
    "implicit": (lambda: CachedMultiHeadAttention(**SMALL), implicit, VISIBLE),
    "causal": (
        lambda: CachedMultiHeadAttention(causal=True, **SMALL),
        lambda layer, x: layer(x),
        PAST,
    ),
    "memory": (
        lambda: CachedMultiHeadAttention(**SMALL),
        lambda layer, x: layer(QUERY, x, padding_mask=VISIBLE),
        None,
    ),
    "key": (
        lambda: CachedMultiHeadAttention(**SMALL),
        lambda layer, x: layer(QUERY, WHOLE, x, padding_mask=VISIBLE),
        None,
    ),
    "unscaled": (
        lambda: UnscaledAttention(**SMALL),
        lambda layer, x: layer(x, padding_mask=VISIBLE),
        VISIBLE,
    ),
    "groups": (grouped, lambda layer, x: layer(x, groups=VISIBLE)[0], VISIBLE),
    "prompted": (lambda: PromptedAttention(**SMALL), lambda layer, x: layer(x), PAST),
    "encoder": (encoder, lambda layer, x: layer(x, padding_mask=VISIBLE), VISIBLE),
    "decoder": (
        lambda: TransformerDecoder(intermediate_dim=8, num_heads=2),
        lambda layer, x: layer(QUERY, x, encoder_padding_mask=VISIBLE),
        None,
    ),
}


def with_gaps(visible, gap=np.nan):
    """The sequence `WHOLE`, where hidden steps are not finite."""
    return np.where(VISIBLE[..., None] if visible is None else visible[..., None], WHOLE, gap)


@pytest.mark.parametrize(
    ("name", "gap"),
    [
        ("padding", np.nan),
        ("causal", np.nan),
        ("memory", np.nan),
        pytest.param("padding", np.inf, marks=pytest.mark.slow),
        *(
            pytest.param(name, np.nan, marks=pytest.mark.slow)
            for name in sorted(CALLS.keys() - {"padding", "causal", "memory"})
        ),
    ],
)
def test_hidden_step_that_is_not_finite_changes_nothing(name, gap):
    make, call, visible = CALLS[name]
    layer = make()
    expected = to_numpy(call(layer, WHOLE))
    found = to_numpy(call(layer, with_gaps(visible, gap).astype("float32")))
    rows = slice(None) if visible is None else visible
    np.testing.assert_allclose(found[rows], expected[rows], atol=1e-6)


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        pytest.param("mixed_float16", marks=pytest.mark.slow),
        pytest.param("mixed_bfloat16", marks=pytest.mark.slow),
    ],
)
def test_visible_step_that_is_not_finite_is_seen(dtype):
    layer = CachedMultiHeadAttention(**SMALL, dtype=dtype)
    x = WHOLE.copy()
    x[0, 1, 0] = np.nan
    found = to_numpy(ops.cast(layer(x, padding_mask=VISIBLE), "float32"))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    scores = to_numpy(ops.cast(layer.attention_scores(x, padding_mask=VISIBLE), "float32"))
    assert np.isnan(scores[0]).all()
    assert np.isfinite(scores[1]).all()


@pytest.mark.parametrize("causal", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_hidden_step_that_is_not_finite_does_not_train(causal):
    visible = PAST if causal else VISIBLE

    def train(x):
        keras.utils.set_random_seed(0)
        inputs, mask = keras.Input((8, 6)), keras.Input((8,), dtype="bool")
        layer = CachedMultiHeadAttention(**SMALL, causal=causal)
        outputs = layer(inputs) if causal else layer(inputs, padding_mask=mask)
        model = keras.Model([inputs, mask], outputs)
        model.compile(keras.optimizers.SGD(0.1), PointError("mse"), **XLA)
        weights = visible.astype("float32")
        loss = model.train_on_batch([x, visible], np.ones_like(WHOLE), sample_weight=weights)
        return float(loss), model.get_weights()

    loss, trained = train(with_gaps(visible))
    expected, expected_weights = train(WHOLE)
    assert loss == pytest.approx(expected, rel=1e-5)
    for found, weights in zip(trained, expected_weights, strict=True):
        np.testing.assert_allclose(found, weights, atol=1e-5)


@pytest.mark.slow
def test_long_attention_hides_gaps_in_training():
    x = RNG.standard_normal((1, 600, 4), "float32")
    visible = np.arange(600)[None] < 500
    layer = CachedMultiHeadAttention(num_heads=1, key_dim=2)
    expected = to_numpy(layer(x, padding_mask=visible, training=True))
    x[:, 500:] = np.nan
    found = to_numpy(layer(x, padding_mask=visible, training=True))
    np.testing.assert_allclose(found[visible], expected[visible], atol=1e-6)


@pytest.mark.slow
def test_generation_hides_gaps_of_the_memory():
    inputs, steps = keras.Input((8, 6)), keras.Input((None, 1))
    x = transformer_decoder(
        keras.layers.Dense(6)(steps),
        ops.log(inputs),  # minus infinity where the padding is 0
        num_heads=2,
        key_dim=4,
        ff_dim=8,
        encoder_padding_mask=inputs[..., 0] > 1,
    )
    model = AutoregressiveModel([inputs, steps], keras.layers.Dense(1)(x))
    whole = np.where(VISIBLE[..., None], 1 + np.abs(WHOLE), 1)
    gaps = np.where(VISIBLE[..., None], whole, 0)
    expected = generate(model, whole, 3, start_token=0.5)
    np.testing.assert_allclose(generate(model, gaps, 3, start_token=0.5), expected, atol=1e-5)
