import numpy as np

from kerastrans.layers import RecurrentCycle
from tests.conftest import to_numpy


def test_recurrent_cycle_starts_at_the_position():
    layer = RecurrentCycle(5, 2)
    position = np.array([0, 3, 12], "int32")
    assert not to_numpy(layer(position, length=4)).any()
    cycle = np.arange(10.0).reshape(5, 2)
    layer.set_weights([cycle])
    found = to_numpy(layer(position, length=7, offset=4))
    for row, start in zip(found, position, strict=True):
        np.testing.assert_array_equal(row, cycle[(start + 4 + np.arange(7)) % 5])
