import numpy as np
import pytest

from kerastrans.models.parts.ensemble import Median
from tests.conftest import to_numpy


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_median_equals_numpy(count):
    parts = np.random.default_rng(count).normal(size=(count, 3, 4)).astype("float32")
    np.testing.assert_allclose(to_numpy(Median()(list(parts))), np.median(parts, axis=0), rtol=1e-6)
