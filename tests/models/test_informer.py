"""How Informer distils its memory."""

import keras
import numpy as np
import pytest

from kerastrans import zoo
from tests.conftest import to_numpy


@pytest.mark.parametrize("length", [8, 9])
def test_memory_is_halved_by_maxima_around_the_even_steps(length):
    model = zoo.build("informer", length, 4, 1, d_model=4, num_heads=2, ff_dim=4, dropout=0.0)
    (elu,) = [layer for layer in model.layers if isinstance(layer, keras.layers.ELU)]
    (pool,) = [layer for layer in model.layers if isinstance(layer, keras.layers.MaxPooling1D)]
    history = np.random.default_rng(0).standard_normal((2, length, 1)).astype("float32")
    x, outputs = keras.Model(model.input, [elu.output, pool.output])(history)
    x = np.pad(to_numpy(x), ((0, 0), (1, 1), (0, 0)), constant_values=-np.inf)
    expected = np.stack([x[:, i : i + 3].max(axis=1) for i in range(0, length, 2)], axis=1)
    np.testing.assert_array_equal(to_numpy(outputs), expected)
