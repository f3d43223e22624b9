"""Histories of all sizes that float32 holds: an exported file forecasts as Python does."""

import numpy as np
import pytest

from kerastrans import heads, zoo
from kerastrans.data import WindowScaler
from kerastrans.export import export
from tests.helpers.runtimes import RUNTIMES

pytestmark = pytest.mark.tensorflow
SIZES = (1e-37, 1e-30, 1e-20, 1e-10, 1e-5, 1.0, 1e5, 1e10, 1e20, 1e30, 1e37)
TINY = np.finfo("float32").tiny

EACH_RUNTIME = [
    "SavedModel",
    *(pytest.param(x, marks=pytest.mark.slow) for x in ("ONNX", "LiteRT")),
]


@pytest.fixture(scope="module")
def histories():
    """One window of each size, with values around three times their spread, and one that is 0."""
    noise = np.random.default_rng(0).standard_normal((48, 2)).cumsum(axis=0) / 5
    windows = [size * (3 + noise) for size in SIZES]
    return np.stack([*windows, np.zeros((48, 2))]).astype("float32")


def in_python(model, scaler, histories):
    """As `Forecaster.forecast_histories`: statistics in float64."""
    center, scale = scaler.statistics(histories.astype("float64"))
    parameters = model.predict_on_batch(((histories - center) / scale).astype("float32"))
    head, (center, scale) = heads.of(model), scaler.settled(histories, center, scale)
    return head.outputs(head.rescale(parameters.astype("float64"), center, scale))


@pytest.mark.parametrize(
    "kind", ["standard", *(pytest.param(x, marks=pytest.mark.slow) for x in ("mean_abs", "mase"))]
)
@pytest.mark.parametrize("runtime", EACH_RUNTIME)
def test_every_size_of_history_is_forecast(runtime, kind, histories, tmp_path):
    suffix, run = RUNTIMES[runtime]
    scaler = WindowScaler(kind)
    model = zoo.build("dlinear", 48, 24, 2, head=heads.QuantileHead((0.1, 0.5, 0.9)))
    path = export(model, tmp_path / f"model{suffix}", scaler=scaler)
    outputs = run(path, histories)
    for name, expected in in_python(model, scaler, histories).items():
        assert np.isfinite(outputs[name]).all()
        for window, values, wanted in zip(SIZES, outputs[name], expected, strict=False):
            error = np.abs(values - wanted).max()  # what is below `TINY` may be taken for 0
            assert error < 1e-5 * np.abs(wanted).max() + TINY, f"{name} of a history near {window}"
        np.testing.assert_allclose(outputs[name][-1], expected[-1], atol=1e-6)


@pytest.mark.parametrize("runtime", EACH_RUNTIME)
def test_spreads_of_a_distribution_have_the_size_of_the_history(runtime, histories, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = zoo.build("dlinear", 48, 24, 2, head="student_t")
    path = export(model, tmp_path / f"model{suffix}", scaler=WindowScaler())
    outputs = run(path, histories)["parameters"][:-1]
    expected = in_python(model, WindowScaler(), histories[:-1])["parameters"]
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    assert (np.abs(outputs - expected) < 1e-5 * largest + TINY).all()
    spreads = largest[:, 0, 0, 1]
    np.testing.assert_allclose(spreads / spreads[SIZES.index(1.0)], SIZES, rtol=1e-3)
