import numpy as np

from kerastrans.models.deepar import RecurrentForecaster
from tests.conftest import to_numpy


def test_recurrent_forecaster_feeds_back_its_forecasts():
    """Longer horizons begin with the shorter ones, and go on as from an observed forecast."""
    x = np.random.default_rng(0).standard_normal((2, 6, 1)).astype("float32")
    longer, one = RecurrentForecaster(5, 2, 4), RecurrentForecaster(5, 2, 1)
    forecast = to_numpy(longer(x))
    one(x)
    one.set_weights(longer.get_weights())
    for step in range(4):
        seen = np.concatenate([x, forecast[:, :step]], axis=1)
        np.testing.assert_allclose(to_numpy(one(seen))[:, 0], forecast[:, step], atol=1e-5)
