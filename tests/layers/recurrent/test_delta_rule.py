"""The delta rule in chunks is that step by step."""

import numpy as np
import pytest
from keras import ops

from kerastrans.layers import DeltaRule


def by_steps(queries, keys, values, strengths):
    outputs = np.zeros(values.shape)
    for row in np.ndindex(values.shape[:2]):
        state = np.zeros((keys.shape[-1], values.shape[-1]))
        for step in range(values.shape[2]):
            key = keys[row][step]
            error = values[row][step] - key @ state
            state += np.outer(key, strengths[row][step] * error)
            outputs[row][step] = queries[row][step] @ state
    return outputs


@pytest.mark.parametrize("length", [1, 5, 32, 100])
def test_chunks_are_steps(length):
    rng = np.random.default_rng(length)
    shape = (2, 3, length)
    queries, keys, values = (rng.normal(size=(*shape, dim)).astype("float32") for dim in (4, 4, 6))
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    strengths = rng.random((*shape, 1)).astype("float32")
    found = ops.convert_to_numpy(DeltaRule()(queries, keys, values, strengths))
    expected = by_steps(queries, keys, values, strengths)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_equal_keys_lose_no_digits():
    keys = np.full((1, 1, 64, 4), 0.5, "float32")
    values = np.random.default_rng(0).normal(size=(1, 1, 64, 2)).astype("float32")
    strengths = np.ones((1, 1, 64, 1), "float32")
    found = ops.convert_to_numpy(DeltaRule()(keys, keys, values, strengths))
    np.testing.assert_allclose(found, values, atol=1e-5)
