"""What parity does not show of TinyCast."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from kerastrans.layers import SeasonalFill
from kerastrans.models import pretrained
from kerastrans.models.pretrained.tinycast import port as tinycast
from tests.helpers import cases

FOLDER = cases.ROOT / "tinycast"
CONFIG = json.loads((FOLDER / "config.json").read_text())
STEPS = 15  # to forecast: more than a block
# The sizes of the published weights, which the fixture's are a fraction of.
PUBLISHED = {
    **CONFIG,
    **{"seq_len": 2048, "output_token_len": 48, "top_k_periods": 4, "n_harmonics": 1},
    **{"conv_dim": 64, "n_layers": 10, "ffn_mult": 1.0, "phase_bins": 16, "decoder_depth": 1},
    **{"future_conv_layers": 6, "future_conv_seed": 128},
}


@pytest.fixture(scope="module")
def model():
    return pretrained.load(FOLDER)


@pytest.mark.slow
def test_the_functional_model_forecasts_the_same_and_reloads(model, series, tmp_path):
    built = model.build(50, STEPS, num_channels=3)
    outputs = keras.ops.convert_to_numpy(built(series.T[None]))[0]
    forecast = model.forecast([series], STEPS)[0]
    np.testing.assert_allclose(
        outputs.transpose(1, 0, 2), forecast["quantiles"], rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(forecast["mean"], forecast["quantiles"][..., 4])
    assert (np.diff(forecast["quantiles"], axis=-1) >= 0).all()
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    reloaded = keras.ops.convert_to_numpy(loaded(series.T[None]))[0]
    np.testing.assert_allclose(reloaded, outputs, rtol=1e-6)


@pytest.mark.slow
def test_with_flip_invariance_a_negative_history_has_the_negative_forecast(model, series):
    def forecast(model, values):
        return model.forecast([values], STEPS)[0]["quantiles"]

    flipped = model.with_options(flip_invariance=True)
    expected = -np.flip(forecast(flipped, series), axis=-1)
    np.testing.assert_allclose(forecast(flipped, -series), expected, rtol=1e-4, atol=1e-4)
    plain = -np.flip(forecast(model, series), axis=-1)
    assert np.abs(forecast(model, -series) - plain).max() > 1
    with pytest.raises(ValueError, match="flip_invariance"):
        model.with_options(flip_invariance="yes")


@pytest.mark.slow
def test_the_published_sizes_have_the_published_number_of_weights():
    network = tinycast.build_network(tinycast.TinyCastLayers(), PUBLISHED)
    assert network.count_params() == 146_505


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("causal", False, "causal"),
        ("pool_kind", "last", "pool_kind"),
        ("phase_bins", 0, "phase_bins"),
        ("ffn_mult", None, "ffn_mult"),
        ("significance_alpha", 2.0, "significance_alpha"),
        ("quantiles", None, "levels must increase"),
    ],
)
def test_a_value_that_is_not_built_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        tinycast.load({**CONFIG, name: value}, {})


def test_weights_that_do_not_fit_are_named():
    tensors = load_file(FOLDER / "model.safetensors")
    mix = tensors.pop("model.core.encoder.3.conv.1.weight")
    with pytest.raises(ValueError, match=r"lacks 'model\.core\.encoder\.3\.conv\.1\.weight'"):
        tinycast.load(CONFIG, tensors)
    tensors["model.core.encoder.3.conv.1.weight"] = mix[:5]
    with pytest.raises(ValueError, match=r"encoder\.3\.conv\.1\.weight.*\(5, 16, 1\)"):
        tinycast.load(CONFIG, tensors)


def test_the_seasonal_fill_of_features_is_that_of_each():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 20, 3)).astype("float32")
    observed = (rng.random((2, 20)) < 0.8).astype("float32")
    periods = np.array([[5.0], [0.0]], "float32")
    fill = SeasonalFill(steps=6, bins=4)
    each = [fill(values[..., i], observed, periods) for i in range(3)]
    together = keras.ops.convert_to_numpy(fill(values, observed, periods))
    assert together.shape == (2, 6, 3)
    np.testing.assert_allclose(together, keras.ops.stack(each, axis=-1), rtol=1e-5)
