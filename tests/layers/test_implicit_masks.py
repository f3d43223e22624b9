"""Keras's implicit masks: padded steps change no valid output, in any block and in decoding."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import kerastrans
from kerastrans.decoding.cached_decoder import CachedDecoder, _repeat_rows
from kerastrans.layers import (
    CachedMultiHeadAttention,
    Dropout,
    LearntPositionalEncoding,
    PositionalEncoding,
    TransformerDecoder,
    TransformerEncoder,
    UnscaledAttention,
)
from kerastrans.models.patchtst import ResidualAttention
from kerastrans.utils.keras_internals import mask_of
from tests.conftest import to_numpy

SIZES = {"num_heads": 2, "key_dim": 3, "ff_dim": 8}
RANDOM = np.random.default_rng(0)
SOURCE = RANDOM.integers(1, 9, (3, 6)).astype("int32")
TARGET = RANDOM.integers(1, 9, (3, 5)).astype("int32")
SOURCE[0, 4:] = SOURCE[1, :2] = 0  # padding at the end, and at the start
TARGET[0, 3:] = TARGET[2, 1] = 0  # and one step in the middle


def named_in_full(y, x):
    """Two attention layers with a residual connection, called as in Keras."""
    for causal, memory in ((True, None), (False, x)):
        layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=causal)
        memory = y if memory is None else memory
        y = layers.Add()([y, layer(query=y, value=memory, key=memory)])
    return kerastrans.transformer_decoder(y, x, **SIZES)


BLOCKS = {
    "named": (lambda x: TransformerEncoder(intermediate_dim=8, num_heads=2)(x), named_in_full),
    "functions": (
        lambda x: kerastrans.transformer_encoder(x, **SIZES),
        lambda y, x: kerastrans.transformer_decoder(y, x, **SIZES),
    ),
    "post": (
        lambda x: kerastrans.transformer_encoder(x, **SIZES, norm="post"),
        lambda y, x: kerastrans.transformer_decoder(y, x, **SIZES, norm="post"),
    ),
    "layers": (
        lambda x: TransformerEncoder(intermediate_dim=8, num_heads=2)(x),
        lambda y, x: TransformerDecoder(intermediate_dim=8, num_heads=2)(y, x),
    ),
}


def embed(tokens, positions):
    x = layers.Embedding(9, 4, mask_zero=True)(tokens)
    return Dropout(0.1)(positions(x))


def token_model(blocks="functions", target=True):
    """A model of source and target tokens, whose zeros are padding."""
    encoder, decoder = BLOCKS[blocks]
    source, tokens = keras.Input((6,), dtype="int32"), keras.Input((None,), dtype="int32")
    x = encoder(embed(source, PositionalEncoding(None, 4)))
    if not target:
        return keras.Model(source, x)
    y = decoder(embed(tokens, LearntPositionalEncoding(20, 4)), x)
    return keras.Model([source, tokens], layers.Dense(9)(y))


def move_padding(model):
    """Change the vector of the padding token, which nothing valid may notice."""
    for layer in model.layers:
        if isinstance(layer, layers.Embedding):
            vectors = layer.get_weights()[0]
            vectors[0] += 3
            layer.set_weights([vectors])


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.filterwarnings("error::UserWarning")
def test_padding_of_both_sequences_changes_no_valid_output(blocks):
    model = token_model(blocks)
    before = to_numpy(model([SOURCE, TARGET]))
    move_padding(model)
    after = to_numpy(model([SOURCE, TARGET]))
    np.testing.assert_allclose(after[TARGET > 0], before[TARGET > 0], atol=1e-6)
    assert np.abs(after - before)[TARGET == 0].max() > 1e-3
    longer = np.pad(TARGET, ((0, 0), (0, 4)))
    np.testing.assert_allclose(to_numpy(model([SOURCE, longer]))[:, :5], after, atol=1e-5)


def test_outputs_carry_the_mask_of_the_query():
    outputs = token_model()([SOURCE, TARGET])
    mask = mask_of(outputs)
    np.testing.assert_array_equal(to_numpy(mask), TARGET > 0)


def test_implicit_and_given_masks_are_combined():
    source, given = keras.Input((6,), dtype="int32"), keras.Input((6,), dtype="bool")
    x = layers.Embedding(9, 4, mask_zero=True)(source)
    attended = CachedMultiHeadAttention(num_heads=2, key_dim=3)(x, padding_mask=given)
    model = keras.Model([source, given], attended)
    mask = np.ones((3, 6), bool)
    mask[:, 2] = False
    both = to_numpy(model([SOURCE, mask]))
    explicit = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    vectors = model.layers[1](SOURCE)
    explicit.build(vectors.shape)
    explicit.set_weights(model.layers[-1].get_weights())
    plain = ops.convert_to_tensor(to_numpy(vectors))  # without its mask
    expected = explicit(plain, padding_mask=mask & (SOURCE > 0))
    np.testing.assert_allclose(both, to_numpy(expected), atol=1e-6)
    assert np.abs(both - to_numpy(explicit(plain, padding_mask=mask))).max() > 1e-3


def test_valid_outputs_equal_those_of_keras():
    x = layers.Embedding(9, 4, mask_zero=True)(SOURCE)
    memory = layers.Embedding(9, 5, mask_zero=True)(TARGET)
    ours = CachedMultiHeadAttention(num_heads=2, key_dim=3)
    theirs = layers.MultiHeadAttention(num_heads=2, key_dim=3)
    ours(x, memory)
    theirs(x, memory)
    weights = [RANDOM.standard_normal(w.shape) for w in theirs.weights]
    theirs.set_weights(weights)
    ours.set_weights([w.reshape(v.shape) for w, v in zip(weights, ours.weights, strict=True)])
    valid = SOURCE > 0
    result, expected = to_numpy(ours(x, memory)), to_numpy(theirs(x, memory))
    np.testing.assert_allclose(result[valid], expected[valid], atol=1e-5)


@pytest.mark.parametrize("kind", [UnscaledAttention, ResidualAttention])
@pytest.mark.filterwarnings("error::UserWarning")
def test_other_attention_layers(kind):
    embed, layer = layers.Embedding(9, 4, mask_zero=True), kind(num_heads=2, key_dim=3)
    before = layer(embed(SOURCE))
    vectors = embed.get_weights()[0]
    vectors[0] += 3
    embed.set_weights([vectors])
    after = layer(embed(SOURCE))
    before, after = (x[0] if isinstance(x, tuple) else x for x in (before, after))
    np.testing.assert_array_equal(to_numpy(mask_of(after)), SOURCE > 0)
    valid = SOURCE > 0
    np.testing.assert_allclose(to_numpy(after)[valid], to_numpy(before)[valid], atol=1e-6)


def test_masking_of_numbers():
    history = keras.Input((None, 4))
    x = layers.Dense(6)(layers.Masking(-1.0)(history))
    model = keras.Model(history, kerastrans.transformer_encoder(x, **SIZES))
    values = RANDOM.standard_normal((1, 7, 4), "float32")
    padded = np.concatenate([values, np.full((1, 3, 4), -1, "float32")], axis=1)
    short, long = to_numpy(model(values)), to_numpy(model(padded))
    np.testing.assert_allclose(long[:, :7], short, atol=1e-6)


def decoded(model):
    """Return the outputs of every step, decoded one by one with the true targets."""
    decoder = CachedDecoder(model)
    encoded = decoder._encode([ops.convert_to_tensor(SOURCE)])
    shared = decoder._start_shared(encoded)
    context = {"encoded": encoded, "shared": shared, "starts": None}
    caches, outputs = decoder._start_caches(encoded, 3, 5), []
    for index in range(5):
        newest = ops.convert_to_tensor(TARGET[:, index : index + 1])
        output, caches = decoder._step(context, newest, caches, ops.convert_to_tensor(index), 1)
        outputs.append(to_numpy(output))
    return np.concatenate(outputs, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", BLOCKS)
def test_decoding_step_by_step_sees_the_same_masks(blocks):
    model = token_model(blocks)
    np.testing.assert_allclose(decoded(model), to_numpy(model([SOURCE, TARGET])), atol=1e-5)


def test_a_generated_value_that_is_masked_is_hidden_from_later_steps():
    history, target = keras.Input((6, 4)), keras.Input((None, 4))
    x = kerastrans.transformer_encoder(layers.Masking(0.0)(history), **SIZES)
    y = kerastrans.transformer_decoder(layers.Masking(0.0)(target), x, **SIZES)
    model = keras.Model([history, target], layers.Dense(4, activation="relu")(y))
    values = RANDOM.standard_normal((2, 6, 4), "float32")
    values[0, 4:] = 0
    start = RANDOM.standard_normal((2, 1, 4), "float32")
    generated = kerastrans.generate(model, values, 5, start_token=start)
    shown = np.concatenate([start, generated[:, :-1]], axis=1)
    np.testing.assert_allclose(generated, to_numpy(model([values, shown])), atol=1e-5)


def test_samples_of_a_sequence_share_the_mask_of_its_memory():
    model = token_model()
    decoder = CachedDecoder(model)
    encoded = decoder._encode([ops.convert_to_tensor(SOURCE)])
    (memory,) = (x for x in encoded.values() if mask_of(x) is not None)
    repeated = _repeat_rows(memory, 3, 2)
    mask = to_numpy(mask_of(repeated))
    np.testing.assert_array_equal(mask, np.repeat(SOURCE > 0, 2, axis=0))


def test_a_saved_model_and_a_copy_use_the_masks(tmp_path):
    model = token_model("layers")
    before = to_numpy(model([SOURCE, TARGET]))
    model.save(tmp_path / "model.keras")
    copies = [keras.saving.load_model(tmp_path / "model.keras"), keras.models.clone_model(model)]
    copies[1].set_weights(model.get_weights())
    for copy in copies:
        np.testing.assert_allclose(to_numpy(copy([SOURCE, TARGET])), before, atol=1e-6)
        move_padding(copy)
        after = to_numpy(copy([SOURCE, TARGET]))
        np.testing.assert_allclose(after[TARGET > 0], before[TARGET > 0], atol=1e-6)


def test_attention_scores_of_padding_are_zero():
    scores = kerastrans.attention_scores(token_model(), [SOURCE[:1], TARGET[:1]])
    assert (scores["encoder_self"][..., 4:] == 0).all()
    assert (scores["cross"][..., 4:] == 0).all()
    assert (scores["decoder_self"][..., 3:] == 0).all()
    np.testing.assert_allclose(scores["cross"].sum(axis=-1), 1, atol=1e-5)
