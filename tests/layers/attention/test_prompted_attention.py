"""Causal attention to a prompt and to what follows it."""

import keras
import numpy as np

from kerastrans.layers import PromptedAttention
from tests.conftest import to_numpy


def test_prompt_and_sequence_equal_one_causal_sequence():
    layer = PromptedAttention(num_heads=2, key_dim=4)
    x = np.random.default_rng(0).normal(size=(3, 9, 8)).astype("float32")
    whole = to_numpy(layer(x))
    parts = [to_numpy(layer(x[:, :5])), to_numpy(layer(x[:, 5:], x[:, :5]))]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-6)
    changed = x.copy()
    changed[:, 6] += 1
    np.testing.assert_allclose(to_numpy(layer(changed))[:, :6], whole[:, :6], atol=1e-6)


def test_scores_depend_on_distances_alone():
    """What has the same predecessors has the same output, wherever it is."""
    layer = PromptedAttention(num_heads=1, key_dim=8, theta=100.0)
    x = np.random.default_rng(0).normal(size=(1, 2, 8)).astype("float32")
    repeated = np.concatenate([x, x], axis=1)
    layer(repeated)
    keys = to_numpy(layer._project(repeated, 0)[0])[0, 0]
    queries = to_numpy(layer._project(repeated, 3)[0])[0, 0]
    np.testing.assert_allclose(queries[0] @ keys[0], queries[2] @ keys[2], rtol=1e-4)
    assert abs(queries[0] @ keys[0] - queries[0] @ keys[2]) > 1e-4


def test_it_reloads(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, 4, 8)).astype("float32")
    inputs = keras.Input((4, 8))
    model = keras.Model(inputs, PromptedAttention(num_heads=2, key_dim=4, theta=50.0)(inputs))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(to_numpy(again(x)), to_numpy(model(x)), atol=1e-6)
    assert again.layers[1].theta == 50.0
