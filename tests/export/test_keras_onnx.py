"""ONNX files that Keras's own `export` writes of models with any number of steps."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import kerastrans
from kerastrans.layers import CachedMultiHeadAttention, UnscaledAttention
from tests.conftest import to_numpy

pytestmark = pytest.mark.tensorflow
RNG = np.random.default_rng(0)
BLOCK = {"num_heads": 2, "key_dim": 4, "ff_dim": 8}
STACKS = {"num_encoder_blocks": 1, "num_decoder_blocks": 1}


def masked_blocks():
    x = keras.Input((None, 8))
    mask = ops.any(x > 0.5, axis=-1)
    memory = kerastrans.transformer_encoder(layers.Masking()(x), **BLOCK, padding_mask=mask)
    y = kerastrans.transformer_decoder(x, memory, **BLOCK, encoder_padding_mask=mask)
    return keras.Model(x, y)


def attention(layer):
    x = keras.Input((None, 8))
    return keras.Model(x, layer(x))


def encoder_decoder(**options):
    return kerastrans.build_transformer_model((12, 3), **BLOCK, **STACKS, d_model=8, **options)


def tokens():
    sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 8}
    return kerastrans.build_seq2seq_transformer(9, 9, **sizes, **STACKS)


def inputs_of(model, batch, steps):
    """Return random inputs of this number of steps wherever it is free."""
    shapes = [(batch, *(size or steps for size in x.shape[1:])) for x in model.inputs]
    inputs = [
        RNG.integers(1, 5, shape).astype("int32")
        if x.dtype == "int32"
        else RNG.standard_normal(shape, "float32")
        for x, shape in zip(model.inputs, shapes, strict=True)
    ]
    return inputs if len(inputs) > 1 else inputs[0]


def check(model, path, *, missing=False):
    """Export the model, and require its own outputs of the file at sizes that were not traced."""
    import onnxruntime

    model(inputs_of(model, 2, 5))  # Keras only exports what was called
    model.export(path, format="onnx", verbose=False)
    session = onnxruntime.InferenceSession(path)
    for batch, steps in ((1, 7), (3, 7), (2, 11)):
        inputs = inputs_of(model, batch, steps)
        if missing:
            inputs[0][0, :3] = np.nan
        names = [x.name for x in session.get_inputs()]
        (found,) = session.run(None, dict(zip(names, keras.tree.flatten(inputs), strict=True)))
        expected = to_numpy(model(inputs, training=False))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


# New biases are zero, and left out: the converter then merges reshapes of a projection.
@pytest.mark.parametrize("num_heads", [1, 2])
def test_attention(num_heads, tmp_path):
    model = attention(CachedMultiHeadAttention(num_heads=num_heads, key_dim=4, causal=True))
    check(model, str(tmp_path / "model.onnx"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        lambda: attention(UnscaledAttention(num_heads=2, key_dim=4)),
        lambda: attention(kerastrans.TransformerEncoder(intermediate_dim=8, num_heads=2)),
        masked_blocks,
        encoder_decoder,
        lambda: encoder_decoder(patch_length=1, lags=[3]),
        lambda: encoder_decoder(head="normal"),
        tokens,
    ],
)
def test_other_models(build, tmp_path):
    check(build(), str(tmp_path / "model.onnx"))


@pytest.mark.slow
def test_patches_of_a_history_with_missing_values(tmp_path):
    """A last patch that is incomplete has missing values too."""
    check(encoder_decoder(patch_length=4), str(tmp_path / "model.onnx"), missing=True)
