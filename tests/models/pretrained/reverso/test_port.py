"""What parity does not show of Reverso."""

import json

import keras
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file

import kerastrans
from kerastrans.models import pretrained
from kerastrans.models.pretrained.reverso import port as reverso
from tests.helpers import cases

FOLDER = cases.ROOT / "reverso"
CONFIG = json.loads((FOLDER / "config.json").read_text())
STEPS = 15  # to forecast: more than a block
# The sizes of the published Reverso-Small, from its args.json.
SMALL = {
    **CONFIG,
    **{"seq_len": 2048, "input_token_len": 2048, "d_model": 64, "d_intermediate": 256},
    **{"output_token_len": 48, "output_bottleneck_dim": 48},
}


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_functional_model_forecasts_the_same_point_and_reloads(series, tmp_path):
    model = pretrained.load(FOLDER)
    built = model.build(50, STEPS, num_channels=3)
    outputs = keras.ops.convert_to_numpy(built(series.T[None]))[0]
    forecast = model.forecast([series], STEPS, [0.1, 0.5])[0]
    np.testing.assert_allclose(outputs.T, forecast["mean"], rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(forecast["quantiles"], forecast["mean"][..., None].repeat(2, -1))
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    reloaded = keras.ops.convert_to_numpy(loaded(series.T[None]))[0]
    np.testing.assert_allclose(reloaded, outputs, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:80 % requires 4 calibration origins")
@pytest.mark.exhaustive
def test_a_forecaster_has_no_intervals_before_it_is_calibrated():
    values = np.sin(np.arange(80.0)) + np.random.default_rng(0).normal(size=80) / 9
    frame = pd.DataFrame({"a": values}, pd.date_range("2024-01-01", periods=80, freq="h"))
    forecaster = kerastrans.from_pretrained(FOLDER, 3, verbose=False)
    rows = forecaster.predict(frame)
    assert list(rows.columns) == ["unique_id", "ds", "reverso"]
    forecaster.calibrate(frame, windows=8, levels=[80])
    rows = forecaster.predict(frame)
    assert (rows["reverso-lo-80"] < rows["reverso-hi-80"]).all()


@pytest.mark.slow
def test_the_published_sizes_have_the_published_number_of_weights():
    network = reverso.build_network(reverso.ReversoLayers(), reverso.read(SMALL))
    assert round(network.count_params(), -4) == 550_000


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("main_module", "conv,mamba", "one of 'conv', 'attn', got 'mamba'"),
        ("use_norm", False, "use_norm"),
        ("input_token_len", 50, "input_token_len"),
        ("output_bottleneck_dim", 24, "output_bottleneck_dim"),
        ("gating_kernel_size", 4, "gating_kernel_size"),
        ("d_model", 18, "heads must divide d_model=18"),
        ("expand_v", 0.3, "heads must divide"),
        ("d_intermediate", 0, "d_intermediate"),
    ],
)
def test_a_value_that_is_not_built_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        reverso.load({**CONFIG, name: value}, {})


def test_weights_that_do_not_fit_are_named():
    tensors = load_file(FOLDER / "model.safetensors")
    kernel = tensors.pop("layers.0.k")
    with pytest.raises(ValueError, match=r"lacks 'layers\.0\.k'"):
        reverso.load(CONFIG, tensors)
    with pytest.raises(ValueError, match=r"layers\.0\.k.*\(16, 99\)"):
        reverso.load(CONFIG, {**tensors, "layers.0.k": kernel[:, 1:]})
