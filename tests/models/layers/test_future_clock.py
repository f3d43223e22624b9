import numpy as np

from kerastrans.models.tft import FutureClock
from tests.conftest import to_numpy


def test_future_clock_counts_to_one():
    found = to_numpy(FutureClock(4)(np.zeros((2, 9, 3))))
    np.testing.assert_allclose(found[..., 0], [[0.25, 0.5, 0.75, 1.0]] * 2)
