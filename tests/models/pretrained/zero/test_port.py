"""kerastrans-zero: what its network promises with any weights, and what the shipped ones do."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

import kerastrans
from kerastrans import heads
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.zero import port as zero
from tests.helpers.weights import ZERO_1

CONFIG = json.loads((ZERO_1 / "config.json").read_text())
RNG = np.random.default_rng(0)
STEPS = 30  # one horizon, compiled once
SERIES = np.sin(np.arange(90) * 2 * np.pi / 12)[None] * [[1], [3]] + RNG.normal(size=(2, 90)) / 5


@pytest.fixture(scope="module")
def model():
    return load(ZERO_1)


@pytest.mark.slow
def test_the_functional_model_forecasts_the_same_and_reloads(model, tmp_path):
    built = model.build(90, STEPS, num_channels=2)
    outputs = keras.ops.convert_to_numpy(built(SERIES.T[None]))[0]
    forecast = model.forecast([SERIES], STEPS, CONFIG["quantiles"])[0]
    np.testing.assert_allclose(
        outputs.transpose(1, 0, 2), forecast["quantiles"], rtol=1e-4, atol=1e-5
    )
    assert (np.diff(forecast["quantiles"], axis=-1) >= 0).all()
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    reloaded = keras.ops.convert_to_numpy(loaded(SERIES.T[None]))[0]
    np.testing.assert_allclose(reloaded, outputs, rtol=1e-5, atol=1e-6)


def test_a_season_goes_on(model):
    wave = 10 + np.sin(np.arange(240) * 2 * np.pi / 24)
    mean = model.forecast([wave], STEPS)[0]["mean"][0]
    np.testing.assert_allclose(
        mean, 10 + np.sin(np.arange(240, 240 + STEPS) * 2 * np.pi / 24), atol=0.1
    )


def test_a_forecast_moves_with_its_series_and_depends_on_it_alone(model):
    row = SERIES[0].copy()
    row[30:34] = np.nan
    one = model.forecast([row], STEPS)[0]["quantiles"]
    both = model.forecast([SERIES[1, :40], 1000 * row - 500], STEPS)[1]["quantiles"]
    np.testing.assert_allclose(both, 1000 * one - 500, rtol=1e-3)


@pytest.mark.slow
def test_a_step_is_the_same_in_a_longer_forecast(model):
    short, long = (model.forecast([SERIES], steps)[0]["mean"] for steps in (3, STEPS))
    np.testing.assert_allclose(long[:, :3], short, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 4, 10, 90, 256])
def test_a_short_window_has_the_forecast_of_the_longest(model, length):
    row = RNG.normal(size=length).cumsum() + np.sin(np.arange(length) * 2 * np.pi / 7)
    row[3:5] = np.nan
    padded = np.concatenate([np.full(1024 - length, np.nan), row])
    short, long = (model.forecast([x], STEPS)[0]["quantiles"] for x in (row, padded))
    np.testing.assert_allclose(short, long, rtol=1e-5, atol=1e-5 * np.abs(long).max())
    assert model.padded_length(length) == 256


def test_windows_have_few_lengths_and_share_the_dense_layers(model):
    assert [model.padded_length(x) for x in (1, 256, 257, 512, 513, 5000)] == [
        *(256, 256, 512, 512, 1024, 1024)
    ]
    built = model.build(300, 2)
    network = zero.network_of(built)
    assert network.inputs[0].shape[1] == 512
    assert network.get_layer("mixed") is model.network.get_layer("mixed")
    head = heads.of(built)
    assert len(built.weights) == len(model.network.weights) + len(head.weights)


def test_any_series_has_a_finite_forecast(model):
    rows = [[5.0], [np.nan, np.nan], [1.0, np.nan, 3.0], np.full(30, -2.0), RNG.normal(size=3000)]
    for forecast in model.forecast(rows, STEPS):
        assert np.isfinite(forecast["quantiles"]).all()
    np.testing.assert_allclose(model.forecast([np.full(30, -2.0)], STEPS)[0]["mean"], -2, atol=1e-3)


@pytest.mark.parametrize(
    "source", [pytest.param(ZERO_1, marks=pytest.mark.slow), "kerastrans_zero_2"]
)
def test_a_forecaster_of_it(source, tmp_path):
    frame, name = kerastrans.datasets.load("air_passengers"), Path(source).name
    options = {"model_options": {"season": None}, "verbose": False}
    forecaster = kerastrans.from_pretrained(source, 12, **options)
    assert forecaster.context_length == 1024
    rows = forecaster.predict(frame)
    assert {name, f"{name}-lo-95", f"{name}-hi-80"} <= set(rows)
    forecaster.save(tmp_path / "f")
    again = kerastrans.Forecaster.load(tmp_path / "f").predict(frame)
    np.testing.assert_allclose(again[name], rows[name], rtol=1e-5)
    parts = forecaster.explain(frame).groupby("ds")["contribution"].sum()
    np.testing.assert_allclose(parts, rows.set_index("ds")[name], rtol=1e-4)
    # The graph of the shorter window of this series was compiled before.
    head = heads.of(forecaster.model)
    head.spread.assign(2 * head.spread)
    wider = forecaster.predict(frame)
    widths = [x[f"{name}-hi-80"] - x[f"{name}-lo-80"] for x in (rows, wider)]
    np.testing.assert_allclose(widths[1], 2 * widths[0], rtol=1e-4)


def test_lags_by_the_power_of_their_pairs_stay_in_shorter_windows_and_files(tmp_path):
    tensors = load_file(ZERO_1 / "model.safetensors")
    usual = zero.load(CONFIG, tensors).build(90, STEPS)
    history = SERIES[:1].T[None].copy()
    history[0, 30:50] = np.nan
    built = zero.load({**CONFIG, "paired_lags": True}, tensors).build(90, STEPS)  # a window of 256
    outputs = keras.ops.convert_to_numpy(built(history))
    assert np.abs(outputs - keras.ops.convert_to_numpy(usual(history))).max() > 1e-4
    built.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(again(history)), outputs, rtol=1e-5)


def test_another_checkpoint_is_refused():
    tensors = load_file(ZERO_1 / "model.safetensors")
    with pytest.raises(ValueError, match="lacks 'width'"):
        zero.load({"quantiles": [0.5], **dict.fromkeys(zero.SIZES[:-2], 8)}, tensors)
    with pytest.raises(ValueError, match="lacks 'quantiles'"):
        zero.load({name: CONFIG[name] for name in zero.SIZES}, tensors)
    for wrong in (None, [0.1, "0.5"]):
        with pytest.raises(ValueError, match="quantiles must be a list of numbers, got"):
            zero.load({**CONFIG, "quantiles": wrong}, tensors)
    for wrong in ([0.9, 0.1], []):
        with pytest.raises(ValueError, match=r"levels must increase and be in \(0, 1\), got"):
            zero.load({**CONFIG, "quantiles": wrong}, tensors)
    with pytest.raises(ValueError, match="context_length"):
        zero.load({**CONFIG, "context_length": 512}, tensors)
    with pytest.raises(ValueError, match="paired_lags"):
        zero.load({**CONFIG, "paired_lags": "false"}, tensors)
    tensors.pop("lag.kernel")
    with pytest.raises(ValueError, match=r"lacks 'lag\.kernel'"):
        zero.load(CONFIG, tensors)
