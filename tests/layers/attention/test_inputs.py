"""The inputs of attention layers have the names and the order of Keras's."""

import inspect

import keras
import numpy as np
import pytest

from kerastrans import layers
from kerastrans.models.fedformer import MultiwaveletCrossAttention
from kerastrans.models.nonstationary_transformer import DestationaryAttention
from kerastrans.models.simpletm import GeometricAttention
from kerastrans.models.tft import InterpretableMultiHeadAttention
from tests.conftest import to_numpy

RANDOM = np.random.default_rng(0)
LAYERS = {
    layers.AutoCorrelation: {"dim": 4},
    layers.CachedMultiHeadAttention: {"num_heads": 2, "key_dim": 4},
    layers.FourierCrossAttention: {"num_heads": 2, "dim": 4},
    layers.PromptedAttention: {"num_heads": 2, "key_dim": 4},
    layers.UnscaledAttention: {"num_heads": 2, "key_dim": 4},
    DestationaryAttention: {"num_heads": 2, "key_dim": 4},
    InterpretableMultiHeadAttention: {"num_heads": 2, "key_dim": 4},
    MultiwaveletCrossAttention: {"channels": 2, "num_polynomials": 3},
}


@pytest.mark.parametrize("kind", [*LAYERS, GeometricAttention])
def test_the_second_input_is_the_value(kind):
    names = [x for x in inspect.signature(kind.call).parameters if x not in ("self", "training")]
    expected = list(inspect.signature(keras.layers.MultiHeadAttention.call).parameters)[1:4]
    assert expected == ["query", "value", "key"]
    assert names[:2] == expected[:2]
    assert "key" not in names or names[2] == "key"


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("former", ["memory_shape", "prompt_shape"])
def test_layers_of_files_with_the_former_names_are_built(kind, former):
    shape = (2, 8, 6)
    layer = kind(**LAYERS[kind])
    layer.build_from_config({"shapes_dict": {"query_shape": shape, former: shape}})
    assert layer.query_dense.built


def test_files_that_give_geometric_attention_the_key_first_load_as_before():
    query, value, key = RANDOM.standard_normal((3, 2, 1, 4, 5)).astype("float32")
    layer = GeometricAttention()
    config = layer.get_config()
    del config["key_first"]  # as in the files
    former = GeometricAttention.from_config(config)
    expected = to_numpy(layer(query, value, key))
    np.testing.assert_array_equal(to_numpy(former(query, key, value)), expected)
    again = GeometricAttention.from_config(former.get_config())
    np.testing.assert_array_equal(to_numpy(again(query, key, value)), expected)
    assert not GeometricAttention.from_config(layer.get_config()).key_first
