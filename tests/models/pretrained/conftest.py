"""Series that the ports of several models forecast."""

import numpy as np
import pytest


@pytest.fixture
def series():
    """Three channels at levels of their own, `(3, 50)`, one with a gap."""
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(50) / 2) + rng.normal(size=(3, 50)) / 4 + [[0], [20], [-3]]
    values[1, 30:35] = np.nan
    return values.astype("float32")
