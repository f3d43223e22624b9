import numpy as np
import pytest

from kerastrans.models.parts.normalized_window import MissingHistory
from tests.conftest import to_numpy

HISTORY = np.array([[[1.0], [2.0], [3.0]], [[np.nan], [2.0], [np.nan]]], "float32")


@pytest.mark.parametrize("shape", [(2, 4, 1), (2, 4, 1, 3)])
def test_untrained_layer_changes_nothing(shape):
    raw = np.random.default_rng(0).normal(size=shape).astype("float32")
    np.testing.assert_array_equal(to_numpy(MissingHistory()(raw, HISTORY)), raw)


def test_layer_adds_weights_for_missing_lags_and_number_of_missing_steps():
    layer, raw = MissingHistory(), np.zeros((2, 4, 1, 3), "float32")
    layer(raw, HISTORY)
    rng = np.random.default_rng(1)
    by_lag, by_step = rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    layer.set_weights([by_lag, by_step])
    whole, gappy = to_numpy(layer(raw, HISTORY))[:, :, 0]
    np.testing.assert_array_equal(whole, 0)
    expected = by_lag[0] + by_lag[2] + (np.sqrt(4 / 2) - 1) * by_step
    np.testing.assert_allclose(gappy, expected, rtol=1e-5)
