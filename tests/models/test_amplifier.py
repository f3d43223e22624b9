import numpy as np
import pytest

from kerastrans import zoo
from tests.conftest import to_numpy
from tests.helpers.parity import weights_by_path

CHANNELS = 2


def randomised(model):
    """The model's weights by path, after drawing all of them at random."""
    random = np.random.default_rng(1)
    weights = weights_by_path(model)
    for weight in weights.values():
        weight.assign(0.5 * random.standard_normal(weight.shape))
    return {path: to_numpy(weight).astype("float64") for path, weight in weights.items()}


@pytest.mark.parametrize(("context", "horizon"), [(9, 5), (8, 6), (9, 1), (1, 2)])
def test_spectra_of_odd_lengths_are_reversed_and_restored_too(context, horizon):
    sizes = {"hidden_dim": 4, "moving_average": 3, "mix_channels": False}
    model = zoo.build("amplifier", context, horizon, CHANNELS, **sizes)
    weights = randomised(model)
    model.get_layer("window").set_weights([np.ones(CHANNELS), np.zeros(CHANNELS)])
    history = np.random.default_rng(0).standard_normal((3, context, CHANNELS))
    mean = history.mean(axis=1, keepdims=True)
    scale = np.sqrt(history.var(axis=1, keepdims=True) + 1e-5)

    def network(x, name):
        x = x @ weights[f"{name}_hidden/kernel"] + weights[f"{name}_hidden/bias"]
        return np.maximum(x, 0.01 * x) @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    spectrum = np.fft.rfft(((history - mean) / scale).transpose(0, 2, 1))
    flipped = spectrum[..., ::-1] * weights["amplification/kernel"]
    x = np.fft.irfft(spectrum + flipped, context)
    padded = np.concatenate([x[..., :1], x, x[..., -1:]], axis=-1)
    trend = (padded[..., :-2] + padded[..., 1:-1] + padded[..., 2:]) / 3
    kernel, bias = (
        weights[f"restoration/real{end}"] + 1j * weights[f"restoration/imaginary{end}"]
        for end in ("", "_bias")
    )
    spectrum = np.fft.rfft(network(x - trend, "season") + network(trend, "trend"))
    expected = np.fft.irfft(spectrum - (flipped @ kernel + bias), horizon)
    expected = mean + scale * expected.transpose(0, 2, 1)
    np.testing.assert_allclose(to_numpy(model(history.astype("float32"))), expected, atol=2e-5)


def test_each_parameter_of_a_head_has_its_own_spectrum():
    model = zoo.build("amplifier", 8, 6, CHANNELS, head="normal")
    weights = weights_by_path(model)
    for weight in weights.values():
        weight.assign(np.zeros(weight.shape))
    bias = np.zeros((2, 4))  # parameters, frequencies
    bias[0, 1] = -6.0
    weights["restoration/real_bias"].assign(bias.ravel())
    weights["window/gamma"].assign(np.ones(CHANNELS))
    history = np.tile([[1.0, 1.0], [-1.0, -1.0]], (1, 4, 1))  # of mean 0 and deviation 1
    found = to_numpy(model(history.astype("float32")))
    wave = 2 * np.cos(2 * np.pi * np.arange(6) / 6)
    np.testing.assert_allclose(found[0, :, :, 0], np.stack([wave] * CHANNELS, -1), atol=1e-5)
    np.testing.assert_allclose(found[..., 1], found[0, 0, 0, 1], atol=1e-6)
