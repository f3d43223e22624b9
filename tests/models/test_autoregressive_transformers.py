"""Transformers over patches: what is decoded, what is fed back, and what training sees."""

import warnings

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import generate, generate_samples, heads, zoo
from kerastrans.decoding.rollout import Rollout, quantile_model
from kerastrans.decoding.samplers import AncestralSampler
from kerastrans.layers import HistoryLoss
from kerastrans.utils.compilation import compile_inference
from tests.conftest import to_numpy
from tests.helpers.architectures import SMALL

NAMES = ["time_series_transformer", "decoder_transformer"]
CONTEXT, PATCH = 24, 4
COVARIATES = {"past": (0,), "future": (0, 7), "static": (3, 0)}


def build(name, horizon=10, num_channels=1, **options):
    sizes = CONTEXT, horizon, num_channels
    return zoo.build(name, *sizes, **SMALL[name] | {"patch_length": PATCH} | options)


def inputs_of(model, batch=3):
    random = np.random.default_rng(0)
    history, *covariates = model.inputs[:-1]
    arrays = [random.normal(size=(batch, *history.shape[1:]))]
    arrays += [random.integers(0, 3, (batch, *x.shape[1:])) for x in covariates]
    arrays[0][0, 3] = np.nan
    return [x.astype("float32") for x in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options",
    [
        {"head": "quantiles", "num_channels": 2, "covariates": COVARIATES},
        {"head": "normal", "horizon": 12},
    ],
    ids=["covariates", "whole patches"],
)
def test_samples_equal_those_of_the_growing_sequence(name, options):
    options = {"lags": (5, 24), **options} if name == "time_series_transformer" else options
    model, samples = build(name, **options), 2
    horizon, arrays = options.get("horizon", 10), inputs_of(model)
    drawn = generate_samples(model, arrays, horizon, samples, seed=1)

    num_patches, channels = -(-horizon // PATCH), model.inputs[0].shape[2]
    sampler = AncestralSampler(heads.of(model), channels, 1, arrays[0])
    (uniform,) = sampler.draws(len(drawn) * samples, num_patches * PATCH)
    rows = [np.repeat(x, samples, axis=0) for x in arrays]
    sequence = rows[0][:, -PATCH:]
    for i in range(num_patches):
        newest = model([*rows, sequence], training=False)[:, -PATCH:]
        draw = ops.convert_to_tensor(uniform[:, i * PATCH : (i + 1) * PATCH])
        sequence = np.concatenate([sequence, to_numpy(sampler.head.draw(newest, draw))], axis=1)
    expected = sequence[:, PATCH : PATCH + horizon].reshape(drawn.shape)
    np.testing.assert_allclose(drawn, expected, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_patch_is_forecast_without_its_own_values_and_later_ones(name):
    model = build(name, head="normal")
    (history,) = inputs_of(model)
    values = np.random.default_rng(1).normal(size=(3, 12, 1)).astype("float32")
    changed = values.copy()
    changed[:, 5] += 1  # in the second patch of the decoder's input
    first, second = (to_numpy(model([history, x])) for x in (values, changed))
    np.testing.assert_array_equal(first[:, :PATCH], second[:, :PATCH])
    assert (np.abs(first - second)[:, PATCH:].max(axis=(1, 2, 3)) > 1e-5).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_point_forecast_is_fed_back_inside_the_model(name):
    model = build(name, covariates=COVARIATES)
    (rollout,) = [layer for layer in model.layers if isinstance(layer, Rollout)]
    arrays = inputs_of(rollout.model)
    expected = generate(rollout.model, arrays, 10, start_token=arrays[0][:, -PATCH:])
    named = {x.name: array for x, array in zip(rollout.model.inputs, arrays, strict=False)}
    np.testing.assert_allclose(to_numpy(model(named)), expected, atol=2e-5)


def test_every_position_of_the_history_trains():
    """Without a loss of the horizon, what is inside the history still moves the weights."""
    losses = {}
    for weight in (0.0, 1.0):
        model = build("decoder_transformer", head="normal", history_loss=weight)
        model.compile("sgd", lambda y, x: 0 * ops.mean(x), run_eagerly=True)
        (history,) = inputs_of(model)
        inputs, targets = [history, history[:, -10:]], history[:, :10]
        losses[weight] = float(model.train_on_batch(inputs, targets))
        assert float(model.test_on_batch(inputs, targets)) == 0
    assert losses[0.0] == 0
    assert losses[1.0] > 0


def test_history_loss_is_that_of_the_last_steps():
    head = heads.get("normal")
    random = np.random.default_rng(0)
    history = random.normal(size=(2, 9, 1)).astype("float32")
    history[0, 6] = np.nan
    parameters = np.stack([random.normal(size=(2, 8, 1)), np.ones((2, 8, 1))], axis=-1)
    parameters = parameters.astype("float32")
    layer = HistoryLoss(head, weight=0.5)
    x = ops.ones((2, 3))
    np.testing.assert_array_equal(to_numpy(layer(x, parameters, history, training=True)), 1)
    (loss,) = layer.losses
    errors = history[:, 1:] - parameters[..., 0]
    expected = np.nanmean(0.5 * errors**2 + 0.5 * np.log(2 * np.pi))
    assert float(loss) == pytest.approx(0.5 * expected, rel=1e-5)
    copy = HistoryLoss.from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()


def test_the_default_patch_fits_into_context_and_horizon():
    def patch_length(context_length, prediction_length):
        sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 8, "num_blocks": 1}
        model = zoo.build("decoder_transformer", context_length, prediction_length, 1, **sizes)
        (rollout,) = [layer for layer in model.layers if isinstance(layer, Rollout)]
        return rollout._decoder.patch_length

    assert patch_length(168, 48) == 24
    assert patch_length(168, 6) == 6
    assert patch_length(40, 48) == 20
    assert patch_length(10, 24) == 5
    assert patch_length(1, 24) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lags": (3,)}, "a lag must be at least the patch_length of 4, got 3"),
        ({"lags": (48,)}, "a lag of 48 steps is longer than the context of 24"),
        ({"patch_length": 25}, "a patch_length of 25 steps is longer than the context of 24"),
        ({"d_model": 15}, "num_heads"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        build("time_series_transformer", **options)


def test_rotary_positions_need_an_even_width_of_heads():
    with pytest.raises(ValueError, match="key_dim must be even: features turn in pairs, got 3"):
        build("decoder_transformer", d_model=6, num_heads=2)
    with pytest.raises(ValueError, match="history_loss must be a number of at least 0, got -1"):
        build("decoder_transformer", history_loss=-1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "deepar"])
def test_a_graph_of_quantiles_forecasts_those_of_its_samples(name, tmp_path):
    sizes = {kind: COVARIATES[kind] for kind in ("future", "static")}
    model = zoo.build(name, CONTEXT, 10, 2, **SMALL[name], head="normal", covariates=sizes)
    arrays, levels = inputs_of(model), [0.1, 0.5, 0.9]
    quantiles = quantile_model(model, 10, levels, num_samples=2000)
    assert not quantiles.trainable_weights
    named = {x.name: array for x, array in zip(model.inputs, arrays, strict=False)}
    ordered = [named[x.name] for x in quantiles.inputs]
    found = compile_inference(quantiles)(*ordered)
    drawn = generate_samples(model, arrays, 10, 2000)
    expected = np.moveaxis(np.quantile(drawn, levels, axis=1), 0, -1)
    spread = (expected[..., 2] - expected[..., 0]).mean()
    assert np.abs(found - expected).mean() < 0.03 * spread
    quantiles.save(tmp_path / "model.keras")
    alone = compile_inference(keras.models.load_model(tmp_path / "model.keras"))
    np.testing.assert_allclose(alone(*(x[1:2] for x in ordered))[0], found[1], atol=1e-5)


@pytest.mark.slow
def test_one_patch_trains_without_a_warning_of_missing_gradients():
    model = build("time_series_transformer", PATCH, head="normal")
    model.compile(optimizer="sgd", loss=heads.of(model).loss())
    inputs = [*inputs_of(model), np.zeros((3, PATCH, 1), "float32")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.train_on_batch(inputs, np.zeros((3, PATCH, 1), "float32"))
