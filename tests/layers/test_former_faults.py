"""Faults of layers that a reader found, each with sizes, masks and data types that others lack."""

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import build_transformer_model, layers, zoo
from kerastrans.layers import GroupedQueryAttention
from kerastrans.models.deepar import RecurrentForecaster
from kerastrans.models.duet import MaskedChannelAttention
from kerastrans.models.informer import ProbSparseAttention
from kerastrans.models.parts.ensemble import Median
from kerastrans.models.parts.patch_tokens import KnownFeatures
from kerastrans.models.pretrained.chronos.v2_network import GridAttention
from kerastrans.models.pretrained.reverso.network import CircularConvolution
from tests.conftest import to_numpy

RANDOM = np.random.default_rng(0)


def half(layer, *inputs, policy="mixed_float16"):
    """The result of a layer in 16 bits as float32."""
    return to_numpy(ops.cast(layer(policy)(*inputs), "float32"))


def test_windows_shorter_than_half_a_patch_are_one_patch_each():
    x = np.array([[[0.0]], [[1.0]]], "float32")
    found = to_numpy(layers.LaggedPatches(4)(x, np.ones((2, 8, 1), "float32")))
    np.testing.assert_array_equal(found[:, 0, :4], [[0, 0, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(found[:, 0, 4:], [[1, 0, 0, 0]] * 2)
    sizes = {"num_heads": 1, "key_dim": 4, "ff_dim": 8, "patch_length": 4}
    model = build_transformer_model((8, 1), **sizes, num_encoder_blocks=1, num_decoder_blocks=1)
    history = RANDOM.normal(size=(2, 8, 1)).astype("float32")
    one = to_numpy(model([history, x]))
    np.testing.assert_allclose(one[::-1], to_numpy(model([history[::-1], x[::-1]])), atol=1e-5)


@pytest.mark.parametrize("trend_length", [1, 50, 96, 200])
def test_a_trend_of_any_length_is_removed(trend_length):
    time = np.arange(96.0)
    wave = np.sin(2 * np.pi * time / 16)[None].astype("float32")
    layer = layers.OctaveLags(5, trend_length=trend_length)
    plain, *_ = layer(wave, np.ones((1, 96), "float32"))
    sloping, *_ = layer((wave + 0.05 * time).astype("float32"), np.ones((1, 96), "float32"))
    np.testing.assert_allclose(to_numpy(sloping)[0, 3:], to_numpy(plain)[0, 3:], atol=1)


def test_masks_that_do_not_broadcast_are_refused():
    layer = layers.CachedMultiHeadAttention(num_heads=2, key_dim=4)
    x = np.ones((2, 6, 8), "float32")
    for shape in ((4, 6), (2, 4, 6)):
        with pytest.raises(ValueError, match=r"attention_mask must broadcast to \(batch, 1, 6\)"):
            layer(x[:, :1], x, attention_mask=np.ones(shape, bool))
    with pytest.raises(ValueError, match=r"attention_mask must broadcast to \(batch, 3, 1\)"):
        layer(x[:, :3], x[:, :1], attention_mask=np.ones((3, 5), bool))
    assert ops.shape(layer(x, x, attention_mask=np.ones((1, 6), bool))) == (2, 6, 8)


def test_scores_of_self_attention_may_name_the_memory():
    layer = layers.CachedMultiHeadAttention(num_heads=2, key_dim=4, causal=True)
    x = RANDOM.normal(size=(2, 5, 8)).astype("float32")
    layer(x)
    named = to_numpy(layer.attention_scores(x, x))
    np.testing.assert_array_equal(named, to_numpy(layer.attention_scores(x)))


def test_features_of_too_few_steps_are_refused():
    for steps in (1, 3):
        with pytest.raises(ValueError, match=f"12 steps, but features of {steps} steps only"):
            KnownFeatures()(np.ones((4, 12, 8)), np.ones((4, steps, 8)))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
def test_a_recurrent_forecast_has_the_type_of_its_weights(policy):
    layer = RecurrentForecaster(3, 1, 3, dtype=policy)
    found = layer(np.ones((1, 4, 1), "float32"))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    symbol = RecurrentForecaster(3, 1, 3, dtype=policy)(keras.Input((4, 1)))
    assert symbol.dtype == "float32"


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX has no float64 here")
def test_layers_of_layers_keep_float64():
    x = RANDOM.normal(size=(2, 40, 1))
    layer = layers.CovariateEffects(2, future=(0,), dtype="float64")
    rest = layer(x[:, :38, 0], future_covariates=x)[0]
    assert keras.backend.standardize_dtype(rest.dtype) == "float64"
    layer = RecurrentForecaster(3, 1, 3, dtype="float64")
    assert keras.backend.standardize_dtype(layer(x).dtype) == "float64"


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_steps_are_counted_exactly_in_16_bits(policy):
    keras.config.set_dtype_policy(policy)
    try:
        fill, phases = layers.SeasonalFill(7), layers.PhaseEncoding(4000)
        periods = layers.DominantPeriods(2)
    finally:
        keras.config.set_dtype_policy("float32")
    values, ones = np.tile(np.arange(7.0), 90)[None], np.ones((1, 630))
    np.testing.assert_allclose(
        to_numpy(fill(values, ones, np.array([[7.0]])))[0], np.arange(7), atol=1e-4
    )
    expected = to_numpy(layers.PhaseEncoding(4000)(np.array([[7.0]])))
    np.testing.assert_allclose(to_numpy(phases(np.array([[7.0]]))), expected, atol=1e-5)
    assert to_numpy(periods(np.sin(2 * np.pi * values / 7), ones))[0, 0] == 7


def test_sums_do_not_overflow_in_16_bits():
    x = 900 * RANDOM.normal(size=(1, 4, 16)).astype("float32")
    found = half(lambda policy: layers.GraphFilter(2, 2, seed=0, dtype=policy), x)
    assert np.isfinite(found).all()
    x = np.full((1, 2048, 2), 40.0, "float32")
    assert np.isfinite(half(lambda policy: CircularConvolution(dtype=policy), x)).all()
    tokens = [np.full((1, 3), 4e4, "float16")] * 2
    assert to_numpy(Median(dtype="float16")(tokens))[0, 0] == 40_000
    layer = GroupedQueryAttention(
        num_heads=2, num_groups=1, key_dim=8, value_dim=4, positions="xpos", dtype="mixed_float16"
    )
    found = layer(np.ones((1, 3, 4), "float32"), np.ones((1, 3), bool), start=3000, center=0)[0]
    assert np.isfinite(to_numpy(ops.cast(found, "float32"))).all()


def test_periods_are_as_many_as_the_layer_says():
    found = layers.DominantPeriods(count=5)(RANDOM.normal(size=(1, 6)), np.ones((1, 6)))
    assert ops.shape(found) == (1, 5)


def test_covariates_without_a_column_or_a_known_value_are_none():
    history = RANDOM.normal(size=(2, 8, 1)).astype("float32")
    for name in ("dlinear", "tide"):
        model = zoo.build(name, 8, 4, 1, covariates={"past": (), "future": ()})
        assert [x.name for x in model.inputs] == ["history"]
        assert ops.shape(model(history)) == (2, 4, 1)
    layer = layers.CovariateEffects(1, future=(1,))
    rest, ahead, *_ = layer(history[..., 0], future_covariates=np.zeros((2, 9, 1), "float32"))
    np.testing.assert_allclose(to_numpy(rest), history[..., 0], atol=1e-5)
    np.testing.assert_allclose(to_numpy(ahead), 0, atol=1e-6)


def test_attention_that_a_mask_rules_takes_no_causal():
    for kind in (GridAttention, MaskedChannelAttention):
        inputs = [np.ones((1, 3, 4, 8)), np.ones((1, 3, 4), bool)]
        if kind is MaskedChannelAttention:
            inputs = [np.ones((1, 3, 8)), np.ones((1, 3, 3))]
        with pytest.raises(ValueError, match="causal must be one of False, got True"):
            kind(num_heads=2, key_dim=4, causal=True)(*inputs)


@pytest.mark.parametrize("policy", ["mixed_float16", "float16"])
def test_the_last_value_is_found_in_16_bits(policy):
    layer = layers.ReversibleInstanceNormalization(center="last", dtype=policy)
    x = np.arange(3000.0, dtype="float32")[None, :, None] / 3000
    found = to_numpy(ops.cast(layer(x)[0], "float32"))
    assert abs(found[0, -1, 0]) < 1e-3


@pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1")
def test_attention_with_values_of_another_width_and_a_single_step():
    layer = ProbSparseAttention(num_heads=2, key_dim=4, value_dim=3, mix=True)
    assert ops.shape(layer(np.ones((1, 6, 8), "float32"))) == (1, 6, 8)
    layer = layers.AutoCorrelation(4, reference_delays=True)
    assert ops.shape(layer(np.ones((2, 1, 3), "float32"))) == (2, 1, 3)
