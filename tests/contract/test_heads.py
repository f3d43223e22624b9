"""Every architecture with every kind of head, and with covariates."""

import inspect

import keras
import numpy as np
import pandas as pd
import pytest
from keras import ops

from kerastrans import Forecaster, heads, zoo
from tests.conftest import to_numpy
from tests.helpers.architectures import (
    AUTOREGRESSIVE,
    CHANNELS,
    CONTEXT,
    HORIZON,
    NAMES,
    all_in_slow_tier,
    build,
    by_tier,
    example_inputs,
)

WITH_HEAD = [
    name
    for name in NAMES
    if "head" in inspect.signature(zoo.info(name).builder).parameters and name not in AUTOREGRESSIVE
]
BASELINES = [name for name in NAMES if name not in [*WITH_HEAD, *AUTOREGRESSIVE]]
QUICK = ("nhits", "patchtst", "tft")
COVARIATES = {"past": (0,), "future": (0, 3), "static": (4,)}


def history(seed=0, batch=4):
    return np.random.default_rng(seed).normal(size=(batch, CONTEXT, CHANNELS)).astype("float32")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in WITH_HEAD]
)
def test_quantiles_are_in_order_and_reload(name, tmp_path):
    model = build(name, head="quantiles")
    inputs = example_inputs(model, history() * 10)
    forecast = to_numpy(model(inputs))
    assert forecast.shape == (4, HORIZON, CHANNELS, heads.of(model).size)
    assert (np.diff(forecast, axis=-1) >= 0).all()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(to_numpy(again(inputs)), forecast, rtol=1e-5, atol=1e-5)
    assert heads.of(again).levels == heads.of(model).levels


@pytest.mark.slow
@pytest.mark.parametrize("name", by_tier([*WITH_HEAD, "deepar"]))
def test_the_last_layer_is_the_head_of_a_point_too(name):
    model = build(name, head=heads.PointHead("mse"))
    head = heads.of(model)
    assert head.loss().error == "mse"
    assert head.output is model.output
    assert not head.weights


@pytest.mark.slow
@pytest.mark.parametrize("name", ["time_series_transformer", "decoder_transformer"])
def test_a_point_head_is_read_from_the_model_that_is_rolled_out(name, tmp_path):
    model = build(name, head=heads.PointHead("mse"))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert heads.of(model).loss().error == heads.of(again).loss().error == "mse"
    np.testing.assert_allclose(to_numpy(again(history())), to_numpy(model(history())), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["mae", "mse", "huber"])
def test_a_point_head_trains_its_own_loss_and_reloads(loss, tmp_path):
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2020", periods=40, freq="h")})
    frame["y"] = np.sin(np.arange(40.0))
    forecaster = Forecaster("linear_regression", 12, 4, head=heads.PointHead(loss))
    forecaster.fit(frame, epochs=1, verbose=0)
    assert forecaster.model.loss.error == loss
    forecaster.model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert heads.of(again).loss().error == loss
    assert again.loss.error == loss


@pytest.mark.parametrize("head", [heads.PointHead("huber"), "mixture"])
def test_with_covariates_the_head_is_read_from_the_nested_model(head, tmp_path):
    model = build("rlinear", head=head, covariates=COVARIATES)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert heads.of(again).get_config() == heads.of(model).get_config()
    assert heads.of(again).get_config() == heads.get(head).get_config()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", by_tier(name for name in WITH_HEAD if zoo.info(name).equivariance == "affine")
)
def test_an_untrained_mean_is_as_equivariant_as_the_point(name):
    """What the paper's normalisation promises of points it does for locations and spreads."""
    model = build(name, head="normal")
    x = history()
    plain = to_numpy(model(example_inputs(model, x)))
    moved = to_numpy(model(example_inputs(model, 3 * x + 7)))
    np.testing.assert_allclose(moved[..., 0], 3 * plain[..., 0] + 7, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(moved[..., 1], 3 * plain[..., 1], rtol=2e-3, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["tide", *all_in_slow_tier(name for name in WITH_HEAD if name != "tide")]
)
def test_with_covariates_it_learns_a_distribution(name):
    rng = np.random.default_rng(1)
    model = build(name, head="mixture", covariates=COVARIATES)
    inputs = {
        "history": history(),
        "past_covariates": rng.normal(size=(4, CONTEXT, 1)).astype("float32"),
        "future_covariates": rng.integers(0, 3, (4, CONTEXT + HORIZON, 2)).astype("float32"),
        "static_covariates": rng.integers(0, 4, (4, 1)).astype("float32"),
    }
    if "position" in zoo.info(name).inputs:
        inputs["position"] = np.arange(4, dtype="int32")
    _, stds, log_weights = np.split(to_numpy(model(inputs)), 3, axis=-1)
    assert (stds > 0).all()
    np.testing.assert_allclose(np.exp(log_weights).sum(axis=-1), 1.0, rtol=1e-4)
    targets = rng.normal(size=(4, HORIZON, CHANNELS)).astype("float32")
    model.compile(keras.optimizers.Adam(1e-3), heads.of(model).loss(), run_eagerly=True)
    start = model.test_on_batch(inputs, targets)  # without draws and losses of the training alone
    for _ in range(2):
        model.train_on_batch(inputs, targets)
    assert model.test_on_batch(inputs, targets) < start
    before = to_numpy(model(inputs))
    for kind in ("past", "future"):
        changed = inputs | {f"{kind}_covariates": 2 - inputs[f"{kind}_covariates"]}
        assert np.abs(to_numpy(model(changed)) - before).max() > 0, kind


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_without_weights_refuses_a_head(name):
    with pytest.raises(ValueError, match="has no weights to learn a head"):
        build(name, head="normal")


def test_half_precision_leaves_the_parameters_in_full():
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = build("patchtst", head="student_t")
    outputs = model(history())
    assert "float32" in str(outputs.dtype)
    assert bool(ops.all(ops.isfinite(outputs)))
