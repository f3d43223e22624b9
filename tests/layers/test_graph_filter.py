import keras
import numpy as np
import pytest
from scipy.special import erf

from kerastrans.layers import GraphFilter
from kerastrans.layers.graph_filter import _kinds
from tests.conftest import to_numpy

CHANNELS, PATCHES, WIDTH = 2, 3, 4
TOKENS = CHANNELS * PATCHES


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((2, TOKENS, WIDTH)).astype("float32")


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def edges_of(layer, x):
    """Strength of all edges of a layer with one head, before the filters."""
    product = to_numpy(layer.source(x)) @ to_numpy(layer.target(x)).swapaxes(1, 2)
    return product * (1 + erf(product / 2**0.5)) / 2


def test_without_filters_it_is_attention_with_gelu_scores(x):
    layer = GraphFilter(CHANNELS, num_heads=1, removed=0.0, top_p=1.0)
    found = to_numpy(layer(x))
    expected = softmax(edges_of(layer, x)) @ to_numpy(layer.values(x))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_weakest_edges_are_removed(x):
    layer = GraphFilter(CHANNELS, num_heads=1, removed=0.5, top_p=1.0)
    layer(x)
    edges = edges_of(layer, x)
    edges[edges <= np.sort(edges, axis=-1)[..., 2:3]] = 0.0  # 3 of 6
    expected = softmax(edges) @ to_numpy(layer.values(x))
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=1e-5)


def test_the_gate_keeps_the_most_probable_kinds(x):
    layer = GraphFilter(CHANNELS, num_heads=1, removed=0.0, top_p=0.5)
    layer(x)
    logits = keras.ops.log(keras.ops.convert_to_tensor([1.0, 6.0, 3.0]))
    layer.gate.call = lambda edges, training=None: 0 * edges[..., :3] + logits
    kept = _kinds(CHANNELS, PATCHES)[1] + np.eye(TOKENS)  # 0.6 exceeds 0.5
    expected = softmax(edges_of(layer, x) * kept) @ to_numpy(layer.values(x))
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=1e-5)


def test_each_edge_has_one_kind():
    kinds = _kinds(CHANNELS, PATCHES)
    np.testing.assert_array_equal(kinds.sum(axis=0), 1 - np.eye(TOKENS))
    # Patch 1 of the first channel: patch 1 of the second, patches 0 and 2 of the first, the rest.
    assert kinds[:, 1].argmax(axis=0)[[0, 2, 3, 4, 5]].tolist() == [1, 1, 2, 0, 2]


def test_the_gates_learn_from_the_loss_only(x):
    layer = GraphFilter(CHANNELS, num_heads=1, balance=0.5)
    layer(x, training=True)
    assert float(to_numpy(layer.losses[0])) > 0
    layer(x)
    assert not layer.losses
