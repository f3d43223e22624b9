"""What parity does not show of Fracast-0."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from kerastrans import datasets
from kerastrans.layers import DominantPeriods, SeasonalFill
from kerastrans.layers.frequency.dominant_periods import _power
from kerastrans.models import pretrained
from kerastrans.models.pretrained.fracast import port as fracast
from tests.helpers.checkpoints import random_fracast
from tests.helpers.weights import FRACAST_0

CONFIG = json.loads((FRACAST_0 / "config.json").read_text())
STEPS = 9  # to forecast: more than the horizon


@pytest.fixture
def model():
    return random_fracast()


@pytest.mark.slow
def test_the_functional_model_forecasts_the_same_and_reloads(model, series, tmp_path):
    built = model.build(50, STEPS, num_channels=3)
    outputs = keras.ops.convert_to_numpy(built(series.T[None]))[0]
    forecast = model.forecast([series], STEPS)[0]
    np.testing.assert_allclose(
        outputs.transpose(1, 0, 2), forecast["quantiles"], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_array_equal(forecast["mean"], forecast["quantiles"][..., 4])
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    reloaded = keras.ops.convert_to_numpy(loaded(series.T[None]))[0]
    np.testing.assert_allclose(reloaded, outputs, rtol=1e-6)


@pytest.mark.slow
def test_a_forecast_depends_on_its_own_last_steps_alone(model, series):
    together = model.forecast([*series], STEPS)[1]
    alone = model.forecast([series[1, -40:]], STEPS)[0]
    np.testing.assert_allclose(together["quantiles"], alone["quantiles"], rtol=1e-4, atol=1e-5)


def test_a_window_without_a_value_is_finite(model):
    outputs = model.build(40, STEPS)(np.full((1, 40, 1), np.nan, "float32"))
    assert np.isfinite(keras.ops.convert_to_numpy(outputs)).all()


def test_too_few_values_are_refused_by_number(model, series):
    with pytest.raises(ValueError, match="series 1 has fewer than 8 observed"):
        model.forecast([series[0], series[0, :7]], STEPS)
    series[0, -35:] = np.nan
    with pytest.raises(ValueError, match="series 0 has fewer than 8 observed"):
        model.forecast([series[0]], STEPS)


@pytest.mark.parametrize(
    ("switch", "value"), [("causal", False), ("head_kind", "query"), ("level_widths", [8, 16])]
)
def test_a_switch_that_is_not_built_is_named(switch, value):
    config = {**CONFIG, "model": {**CONFIG["model"], switch: value}}
    with pytest.raises(ValueError, match=switch):
        fracast.load(config, {})


def test_weights_that_do_not_fit_are_named():
    tensors = load_file(FRACAST_0 / "model.safetensors")
    queries = tensors.pop("head.queries")
    with pytest.raises(ValueError, match=r"lacks 'head\.queries'"):
        fracast.load(CONFIG, tensors)
    with pytest.raises(ValueError, match=r"head\.queries.*\(47, 64\)"):
        fracast.load(CONFIG, {**tensors, "head.queries": queries[1:]})


def test_two_periods_are_found_and_none_in_noise():
    steps = np.arange(300)
    rng = np.random.default_rng(0)
    waves = 2 * np.sin(2 * np.pi * steps / 24) + np.sin(2 * np.pi * steps / 7)
    values = np.stack([waves, rng.normal(size=300)])
    observed = np.ones((2, 300))
    observed[:, 50:60] = 0
    periods = DominantPeriods(3)(values * observed, observed)
    found = keras.ops.convert_to_numpy(periods)
    assert set(found[0]) >= {24, 7}
    assert found[0, 0] == 24
    assert not found[1].any()


def test_the_spectrum_is_that_of_numpy():
    for size in (2, 8, 64, 128):
        x = np.random.default_rng(0).normal(size=(2, size)).astype("float32")
        power = keras.ops.convert_to_numpy(_power(keras.ops.convert_to_tensor(x)))
        wanted = np.abs(np.fft.rfft(x))[:, 1:] ** 2
        np.testing.assert_allclose(power, wanted, rtol=1e-4, atol=1e-4)


def test_the_seasonal_fill_is_the_mean_of_each_observed_phase():
    values = np.array([[1.0, 10, 3, 20, 5, 30]])
    observed = np.array([[1.0, 1, 1, 0, 1, 1]])
    fill = SeasonalFill(steps=3, bins=4)(values, observed, np.array([[2.0, 0.0]]))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(fill), [[3, 20, 3]])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_on_departures_it_beats_the_seasonal_naive():
    values = datasets.load("nyc_departures").to_numpy().T
    first = int(0.8 * values.shape[1])  # of the test part
    origins = range(first, first + 72 * 24, 24)
    true = np.stack([values[:, origin : origin + 24] for origin in origins])
    naive = np.stack([values[:, origin - 168 : origin - 144] for origin in origins])
    model = pretrained.load(FRACAST_0)
    forecasts = model.forecast([values[:, :origin] for origin in origins], 24)
    errors = [
        np.abs(forecast["mean"] - x).mean() for forecast, x in zip(forecasts, true, strict=True)
    ]
    assert np.mean(errors) == pytest.approx(2.194, abs=0.002)
    assert np.abs(naive - true).mean() == pytest.approx(2.523, abs=0.001)
