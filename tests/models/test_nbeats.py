"""Where N-BEATS' forecast begins."""

import keras
import numpy as np

from kerastrans import zoo
from tests.conftest import to_numpy


def build(**options):
    keras.utils.set_random_seed(0)
    return zoo.build("nbeats", 12, 6, 2, hidden_dim=8, num_blocks=1, **options)


def test_it_draws_the_forecast_or_the_distance_to_the_last_known_value():
    windows = np.random.default_rng(0).normal(10, 1, (4, 12, 2)).astype("float32")
    added = to_numpy(build(from_last_value=True)(windows)) - to_numpy(build()(windows))
    np.testing.assert_allclose(added, np.repeat(windows[:, -1:], 6, axis=1), rtol=1e-5)
    windows[:, -3:, 1] = np.nan
    added = to_numpy(build(from_last_value=True)(windows)) - to_numpy(build()(windows))
    np.testing.assert_allclose(added[..., 1], windows[:, [-4] * 6, 1], rtol=1e-5)
