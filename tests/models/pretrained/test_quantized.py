"""What LiteRT files of half and of a quarter of the size lose."""

import numpy as np
import pytest
from keras import ops

from kerastrans.export import export_litert
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from kerastrans.models.pretrained.shipped import FOLDER
from tests.helpers.checkpoints import CHRONOS_BOLT, changed, random_tensors

from .test_exports import run_litert

pytestmark = [pytest.mark.slow, pytest.mark.tensorflow]

CONTEXT, STEPS = 64, 12


def bolt():
    sizes = {"d_model": 128, "d_kv": 32, "d_ff": 256, "num_heads": 4, "num_layers": 2}
    patches = {"input_patch_size": 8, "input_patch_stride": 8, "prediction_length": STEPS}
    config = changed(CHRONOS_BOLT, **sizes, **patches, context_length=CONTEXT)
    tensors = random_tensors(chronos_bolt.build_network(config)[1], scale=0.1)
    return chronos_bolt.load(config, tensors)


# Share of the float32 file's size, and the largest difference to Keras relative to the largest
# forecast of each row, both at most; see docs/pretrained.md for what was measured.
LIMITS = {None: (1, 1e-4), "float16": (0.55, 1e-4), "int8": (0.35, 1e-2)}


@pytest.mark.exhaustive
def test_a_smaller_file_forecasts_nearly_the_same(tmp_path):
    model = bolt().build(CONTEXT, STEPS)
    steps = np.arange(CONTEXT) + np.array([[0.0], [5.0]])
    history = 20 + 5 * np.sin(steps / 4) + np.random.default_rng(0).normal(size=(2, CONTEXT))
    history = history.astype("float32")[..., None]
    quantiles = ops.convert_to_numpy(model(history))
    expected = quantiles[..., quantiles.shape[-1] // 2]
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    sizes = {}
    for precision in LIMITS:
        path = export_litert(
            model, tmp_path / f"{precision}.tflite", quantize=precision, batch_size=2
        )
        sizes[precision] = path.stat().st_size
        loss = (np.abs(run_litert(path, history) - expected) / largest).max()
        share, limit = LIMITS[precision]
        assert sizes[precision] <= share * sizes[None]
        assert loss <= limit


def test_kerastrans_zero_forecasts_short_series_by_an_int8_file(tmp_path):
    model = load(FOLDER / "kerastrans_zero_2").build(CONTEXT, 6)
    random = np.random.default_rng(0)
    history = np.full((8, CONTEXT, 1), np.nan, "float32")
    history[:, -12:, 0] = 30 + 2 * np.arange(12) + random.normal(size=(8, 12)).cumsum(axis=1)
    quantiles = ops.convert_to_numpy(model(history))
    path = export_litert(model, tmp_path / "zero.tflite", quantize="int8", batch_size=8)
    found = run_litert(path, history)
    median = quantiles[..., quantiles.shape[-1] // 2]
    # It was 0.4 deviations while the times of the slopes were rounded.
    assert np.abs(found - median).mean() < 0.03 * np.nanstd(history)
