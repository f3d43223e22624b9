"""What every architecture's forecasts have to be, whatever its weights."""

import keras
import numpy as np
import pytest

from kerastrans import zoo
from tests.conftest import in_float64

from .conftest import CHANNELS, CONTEXT, HORIZON, NAMES, build, example_inputs, forecast, walks

pytestmark = pytest.mark.parametrize("name", NAMES)


@pytest.mark.parametrize("size", [(24, 12, 1), (25, 7, 2), (12, 30, 3)])
def test_output_shape(name, size):
    context_length, prediction_length, num_channels = size
    model = build(name, *size)
    assert model.inputs[0].shape == (None, context_length, num_channels)
    assert model.output_shape == (None, prediction_length, num_channels)


def test_inputs_are_those_that_the_registry_names(name, model):
    assert [tensor.name for tensor in model.inputs] == list(zoo.info(name).inputs)


def test_a_forecast_does_not_depend_on_its_neighbours_in_the_batch(name, model):
    windows, others = walks(3), walks(3, seed=9)
    others[0] = windows[0]
    here, there = forecast(model, windows), forecast(model, others)
    assert here.shape == (3, HORIZON, CHANNELS)
    np.testing.assert_allclose(here[0], there[0], atol=2e-5, rtol=2e-5)


def test_channels_mix_just_where_the_registry_says_so(name, model):
    windows = walks(3)
    changed = windows.copy()
    changed[:, :, 0] += np.random.default_rng(5).standard_normal(windows.shape[:2])
    here, there = forecast(model, windows), forecast(model, changed)
    assert np.abs(here[..., 0] - there[..., 0]).max() > 1e-4  # the channel itself
    others = np.abs(here[..., 1:] - there[..., 1:]).max()
    assert (others > 1e-6) == zoo.info(name).mixes_channels


def test_a_shift_and_a_scale_of_the_window_do_the_same_to_its_forecast(name, model):
    promised = zoo.info(name).equivariance
    windows = walks(3)
    shift, scale = np.float32(7.0), np.float32(40.0)
    here = forecast(model, windows)
    size = np.abs(here).max()
    shifted = np.abs(forecast(model, windows + shift) - here - shift).max() / size
    scaled = np.abs(forecast(model, windows * scale) / scale - here).max() / size
    assert (shifted < 2e-3) == (promised in ("shift", "affine"))
    assert scaled < 2e-3 or promised in ("", "shift")


def test_keras_file_round_trip_in_safe_mode(name, model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    windows = walks(3)
    np.testing.assert_allclose(forecast(loaded, windows), forecast(model, windows), atol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_is_finite_and_close_and_puts_out_float32(name, policy, model):
    keras.config.set_dtype_policy(policy)
    mixed = build(name)
    mixed.set_weights(model.get_weights())
    windows = walks(3) * 3
    outputs = mixed(example_inputs(mixed, windows))
    assert keras.backend.standardize_dtype(outputs.dtype) == "float32"
    here, there = forecast(mixed, windows), forecast(model, windows)
    assert np.isfinite(here).all()
    error = np.sqrt(np.mean((here - there) ** 2) / np.mean(there**2))
    assert error < (0.02 if policy == "mixed_float16" else 0.1)


@pytest.mark.tensorflow  # JAX has no float64 unless asked before it starts
def test_it_is_within_rounding_of_the_same_model_in_float64(name, model):
    windows = walks(3)
    here = forecast(model, windows)
    exact = in_float64(model, lambda: build(name))
    there = np.asarray(exact(example_inputs(exact, windows.astype("float64"))))
    assert there.dtype == "float64"
    assert np.abs(here - there).max() < 2e-6 * np.abs(there).max()


@pytest.mark.parametrize("argument", ["context_length", "prediction_length", "num_channels"])
@pytest.mark.parametrize("value", [0, -1, 2.5])
def test_a_size_below_one_is_refused_by_name(name, argument, value):
    sizes = {
        "context_length": CONTEXT,
        "prediction_length": HORIZON,
        "num_channels": CHANNELS,
        argument: value,
    }
    with pytest.raises(ValueError, match=f"{argument} must be an integer of at least 1, got"):
        build(name, **sizes)
