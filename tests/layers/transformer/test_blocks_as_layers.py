import ast
from pathlib import Path

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.layers import (
    PositionEmbedding,
    RotaryEmbedding,
    SinePositionEncoding,
    TransformerDecoder,
    TransformerEncoder,
)
from kerastrans.layers.transformer import blocks
from tests.conftest import to_numpy
from tools.checks.size import lines_of_code

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 5, 6), "float32")
MEMORY = RANDOM.standard_normal((2, 7, 4), "float32")
SIZES = {"intermediate_dim": 8, "num_heads": 2}


KINDS = TransformerEncoder, TransformerDecoder


def forecaster():
    """A model of layers, with all the masks that a decoder takes."""
    history, target = keras.Input((7, 4)), keras.Input((None, 4))
    valid, early = keras.Input((7,), dtype="bool"), keras.Input((5,), dtype="bool")
    x = TransformerEncoder(**SIZES, normalize_first=True)(history, padding_mask=valid)
    y = keras.layers.Dense(6)(target)
    for _ in range(2):
        y = y + SinePositionEncoding()(y)
        decoder = TransformerDecoder(**SIZES, key_dim=5, activation="gelu", dropout=0.1)
        y = decoder(y, x, decoder_padding_mask=early, encoder_padding_mask=valid)
    return keras.Model([history, valid, early, target], keras.layers.Dense(4)(y))


def test_the_layer_is_the_function():
    inputs, memory = keras.Input((None, 6)), keras.Input((None, 4))
    sizes = {"num_heads": 2, "ff_dim": 8, "norm": "post", "layer_norm_epsilon": 1e-5}
    x = kerastrans.transformer_encoder(memory, key_dim=2, **sizes, name="encoder")
    y = kerastrans.transformer_decoder(inputs, x, key_dim=3, **sizes, name="decoder")
    model = keras.Model([inputs, memory], y)
    blocks = {"encoder": TransformerEncoder(**SIZES), "decoder": TransformerDecoder(**SIZES)}
    encoder, decoder = blocks.values()
    decoder(X, encoder(MEMORY))
    for name, block in blocks.items():
        for layer in block.block.layers:
            same = model.get_layer(layer.name.replace("block", name))
            layer.set_weights(same.get_weights())
    assert model.count_params() == encoder.count_params() + decoder.count_params()
    result, expected = decoder(X, encoder(MEMORY)), model([X, MEMORY])
    np.testing.assert_allclose(to_numpy(result), to_numpy(expected), atol=1e-6)


def test_a_model_of_layers_is_decoded_step_by_step():
    model = forecaster()
    valid = np.arange(7) < np.array([[4], [7]])
    early = np.array([[True, True, False, True, False], [True, False, False, True, True]])
    start = np.zeros((2, 1, 4), "float32")
    generated = kerastrans.generate(model, [MEMORY, valid, early], 5, start_token=0.0)
    shown = np.concatenate([start, generated[:, :-1]], axis=1)
    forward = to_numpy(model([MEMORY, valid, early, shown]))
    np.testing.assert_allclose(generated, forward, atol=1e-5)


def test_a_saved_model_and_a_copy_are_the_model(tmp_path):
    model = forecaster()
    inputs = [MEMORY, np.ones((2, 7), bool), np.ones((2, 5), bool), X[..., :4]]
    expected = to_numpy(model(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    copy = keras.models.clone_model(model)
    assert np.abs(to_numpy(copy(inputs)) - expected).max() > 1e-3
    copy.set_weights(model.get_weights())
    for other in (loaded, copy):
        np.testing.assert_array_equal(to_numpy(other(inputs)), expected)
        blocks, ours = ([x for x in m.layers if isinstance(x, KINDS)] for m in (other, model))
        assert [x.get_config() for x in blocks] == [x.get_config() for x in ours]


def test_without_an_encoder_it_is_causal_and_has_no_cross_attention():
    layer = TransformerDecoder(**SIZES)
    changed = X.copy()
    changed[:, 3:] += 1
    difference = np.abs(to_numpy(layer(changed)) - to_numpy(layer(X))).max(axis=(0, 2))
    assert difference[:3].max() < 1e-6 < 1e-3 < difference[3:].min()
    both_ways = to_numpy(layer(X, use_causal_mask=False)) - to_numpy(layer(X))
    assert np.abs(both_ways[:, 0]).max() > 1e-3
    assert layer.block.cross_attention is None
    with pytest.raises(ValueError, match="was built with no encoder_sequence, got one"):
        layer(X, MEMORY)
    other = TransformerDecoder(**SIZES)
    other(X, MEMORY)
    with pytest.raises(ValueError, match="was built with an encoder_sequence, got none"):
        other(X)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_half_precision_is_finite_with_all_keys_hidden(policy):
    encoder, decoder = (kind(**SIZES, dtype=policy) for kind in KINDS)
    nothing = np.zeros((2, 7), bool)
    outputs = decoder(X, encoder(MEMORY, padding_mask=nothing), encoder_padding_mask=nothing)
    assert keras.backend.standardize_dtype(outputs.dtype) == encoder.compute_dtype
    assert np.isfinite(to_numpy(keras.ops.cast(outputs, "float32"))).all()
    assert {layer.dtype_policy.name for layer in decoder.block.layers} == {policy}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("arguments", "shape", "message"),
    [
        ({"num_heads": 0}, (3, 6), "num_heads must be an integer of at least 1, got 0"),
        ({"intermediate_dim": 1.5}, (3, 6), "intermediate_dim must be an integer"),
        ({"key_dim": 0}, (3, 6), "key_dim must be an integer"),
        ({"dropout": 1.0}, (3, 6), r"dropout must be a number in \[0, 1\)"),
        ({"num_heads": 4}, (3, 6), "num_heads must divide the width of the inputs, 6, got 4; or"),
        ({}, (6,), r"inputs must have shape \(batch, time, width\), got \(None, 6\)"),
    ],
)
def test_bad_arguments_are_refused(kind, arguments, shape, message):
    with pytest.raises(ValueError, match=message):
        kind(**{**SIZES, **arguments})(keras.Input(shape))


@pytest.mark.parametrize("layer", [SinePositionEncoding(500), PositionEmbedding(9)])
def test_positions_that_are_given(layer):
    whole = to_numpy(layer(np.zeros((1, 9, 4), "float32")))[0]
    later = to_numpy(layer(np.zeros((2, 3, 4), "float32"), start_index=4))
    np.testing.assert_allclose(later[1], whole[4:7], atol=1e-6)
    chosen = to_numpy(layer(np.zeros((2, 2, 4), "float32"), positions=np.array([[1, 8], [0, 2]])))
    np.testing.assert_allclose(chosen, np.stack([whole[[1, 8]], whole[[0, 2]]]), atol=1e-6)
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


def test_a_rotation_keeps_lengths_and_depends_on_the_distance():
    layer = RotaryEmbedding(max_wavelength=50)
    x = np.broadcast_to(RANDOM.standard_normal((1, 1, 6)), (1, 8, 6)).astype("float32")
    turned = to_numpy(layer(x))[0].astype("float64")
    products = turned @ turned.T
    for distance in range(4):
        np.testing.assert_allclose(np.diag(products, distance), products[0, distance], rtol=1e-4)
    half = RotaryEmbedding(max_wavelength=50, scaling_factor=0.5)
    np.testing.assert_allclose(to_numpy(half(x))[0, 2], turned[4], atol=1e-5)


def test_positions_beyond_the_embedding_are_refused():
    with pytest.raises(ValueError, match="sequence_length=4 positions, got a sequence of 5"):
        PositionEmbedding(4)(X)
    with pytest.raises(ValueError, match="even width, got"):
        RotaryEmbedding()(X[..., :5])


@pytest.mark.parametrize("kind", KINDS)
def test_one_feature_is_refused_in_a_new_block_but_not_in_a_file(kind, tmp_path, monkeypatch):
    message = r"\(None, 5, 1\) have one feature, .* keras.layers.Dense\(d_model\)"
    inputs, sizes = keras.Input((5, 1)), {"intermediate_dim": 8, "num_heads": 1}
    with pytest.raises(ValueError, match=message):
        kind(**sizes)(inputs)
    with monkeypatch.context() as context:
        context.setattr(
            "kerastrans.layers.transformer.block_layers.check_width", lambda shape: None
        )
        model = keras.Model(inputs, kind(**sizes)(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    x = RANDOM.standard_normal((2, 5, 1), "float32")
    np.testing.assert_array_equal(to_numpy(loaded(x)), to_numpy(model(x)))


def test_the_figure_is_read_in_one_file():
    source = Path(blocks.__file__).read_text("utf-8")
    assert lines_of_code(source) <= 150
    assert not any(isinstance(x, ast.Lambda) for x in ast.walk(ast.parse(source)))
