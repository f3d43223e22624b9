"""Our layers equal KerasHub's on recorded weights, see `tools/checks/keras_hub_layers.py`."""

import numpy as np
import pytest

from kerastrans import layers
from tests.conftest import to_numpy
from tools.checks.keras_hub_layers import FILE, LAYERS, arguments, inputs

GIVEN = inputs()
# KerasHub's names of the layers, and ours.
PARTS = {
    "self_attention_layer": "block_self_attention",
    "self_attention": "block_self_attention",
    "cross_attention": "block_cross_attention",
    "feedforward_intermediate_dense": "block_ffn_expand",
    "feedforward_output_dense": "block_ffn_contract",
    "self_attention_layer_norm": "block_self_attention_norm",
    "cross_attention_layer_norm": "block_cross_attention_norm",
    "feedforward_layer_norm": "block_ffn_norm",
}


def copy_weights(block, recorded):
    """Give the block KerasHub's weights; heads are flattened to one axis."""
    named = {layer.name: layer for layer in block.layers}
    for path, value in recorded.items():
        part, *names = path.split("/")
        layer = named[PARTS[part]]
        for name in names:
            name = {"attention_output": "output"}.get(name, name)
            layer = getattr(layer, name if hasattr(layer, name) else f"{name}_dense")
        layer.assign(value.reshape(layer.shape))


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_are_those_of_keras_hub(name):
    recorded = {
        path.removeprefix(f"{name}/"): value
        for path, value in np.load(FILE).items()
        if path.startswith(f"{name}/")
    }
    outputs = recorded.pop("outputs")
    kind, options, _, _ = LAYERS[name]
    layer = getattr(layers, kind)(**options)
    sequences, filled = arguments(name, GIVEN)
    layer(*sequences, **filled)
    assert len(layer.trainable_weights) == len(recorded)
    if name == "embedding":
        layer.set_weights([recorded["embeddings"]])
    elif recorded:
        copy_weights(layer.block, recorded)
    result = to_numpy(layer(*sequences, **filled))
    # What padded steps attend to is arbitrary: there is nothing that they may see.
    is_padded = any("padding" in key for key in filled)
    valid = GIVEN["x_mask"] if is_padded else np.ones((3, 5), bool)
    np.testing.assert_allclose(result[valid], outputs[valid], rtol=1e-5, atol=1e-5)
