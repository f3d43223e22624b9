import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers, ops

import kerastrans
from kerastrans.data import random_sequences, teacher_forcing_pairs
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.layers import CachedMultiHeadAttention
from kerastrans.models.informer import ProbSparseAttention
from kerastrans.text.tokens import START
from tests.conftest import to_numpy


def check_rows(scores):
    for weights in scores.values():
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert (np.triu(scores["decoder_self"], k=1) == 0).all()


def test_numeric_model_teacher_forced(small_model, small_inputs):
    seen = random_sequences(1, 5, 3, seed=2)
    scores = kerastrans.attention_scores(small_model, [small_inputs[:1], seen])
    shapes = {kind: weights.shape for kind, weights in scores.items()}
    assert shapes == {
        "encoder_self": (1, 2, 8, 8),
        "decoder_self": (2, 2, 5, 5),
        "cross": (2, 2, 5, 8),
    }
    check_rows(scores)


@pytest.mark.slow
@settings(max_examples=8)
@given(length=st.integers(1, 9), steps=st.integers(1, 6), padding=st.integers(0, 4))
def test_token_model_gives_padding_nothing(length, steps, padding):
    model = kerastrans.build_seq2seq_transformer(
        9, 9, d_model=8, num_heads=2, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=2
    )
    random = np.random.default_rng(length)
    source = random.integers(0, 9, (1, length + padding)).astype("int32")
    target = random.integers(0, 9, (1, steps)).astype("int32")
    scores = kerastrans.attention_scores(model, [source, np.array([length]), target])
    check_rows(scores)
    assert scores["cross"].shape == (2, 2, steps, length + padding)
    assert (scores["encoder_self"][..., length:] == 0).all()
    assert (scores["cross"][..., length:] == 0).all()


def test_first_blocks_weights_are_the_softmax_of_its_scaled_products(small_model, small_inputs):
    history, seen = small_inputs[:1], random_sequences(1, 5, 3, seed=2)
    scores = kerastrans.attention_scores(small_model, [history, seen])
    x = small_model.get_layer("encoder_dropout")(
        small_model.get_layer("encoder_positions")(
            small_model.get_layer("encoder_projection")(history)
        )
    )
    x = to_numpy(small_model.get_layer("encoder_0_self_attention_norm")(x)).astype("float64")
    query_kernel, query_bias, key_kernel, key_bias = (
        to_numpy(weight) for weight in small_model.get_layer("encoder_0_self_attention").weights[:4]
    )
    queries = (x @ query_kernel + query_bias).reshape(8, 2, 4).transpose(1, 0, 2)
    keys = (x @ key_kernel + key_bias).reshape(8, 2, 4).transpose(1, 0, 2)
    products = np.exp(queries @ keys.transpose(0, 2, 1) / 4**0.5)
    expected = products / products.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(scores["encoder_self"][0], expected, atol=1e-5)


def test_scores_of_what_was_generated_are_those_while_generating(monkeypatch):
    model = kerastrans.build_seq2seq_transformer(
        12,
        9,
        d_model=16,
        num_heads=2,
        ff_dim=32,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
    )
    source, lengths = np.array([[4, 7, 5, 9]]), np.array([4])
    tokens = model.generate(source, lengths, 5)
    seen = np.concatenate([[[START]], tokens[:, :-1]], axis=1)
    scores = kerastrans.attention_scores(model, [source, lengths, seen])

    during, weights_of = [], CachedMultiHeadAttention._weights

    def record(layer, *arguments):
        weights = weights_of(layer, *arguments)
        if layer.name == "decoder_0_cross_attention":
            during.append(to_numpy(weights)[0, :, 0])
        return weights

    monkeypatch.setattr(CachedMultiHeadAttention, "_weights", record)
    decoder = cached_decoder(model)
    inputs, sizes = [source, lengths, seen[:, :1]], {"room": 5, "copies": 1}
    tensors = [ops.convert_to_tensor(x, "int32") for x in inputs]
    sampler = kerastrans.GreedySampler()
    context, state = decoder.start((tensors[:2], tensors[2], None, []), sampler=sampler, **sizes)
    for _ in range(5):
        state = decoder._advance(sampler, 1, context, *state)
    np.testing.assert_allclose(scores["cross"][0], np.stack(during, axis=1), atol=1e-5)


def test_bad_inputs(small_model, small_inputs):
    seen = small_inputs[:, :4]
    with pytest.raises(ValueError, match=r"requires inputs with a batch of 1, got \[2, 2\]"):
        kerastrans.attention_scores(small_model, [small_inputs, seen])
    with pytest.raises(ValueError, match=r"attention_scores requires 2 inputs of the model, got 1"):
        kerastrans.attention_scores(small_model, small_inputs[:1])
    with pytest.raises(ValueError, match="decoder_inputs must be finite"):
        kerastrans.attention_scores(small_model, [small_inputs[:1], np.nan * seen[:1]])


def test_model_without_attention_is_refused():
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, layers.Dense(2)(inputs))
    with pytest.raises(ValueError, match="has no kerastrans attention"):
        kerastrans.attention_scores(model, np.zeros((1, 4, 3), "float32"))


def test_only_the_kinds_that_a_model_has_are_shown():
    inputs = keras.Input((4, 3))
    model = keras.Model(
        inputs, kerastrans.transformer_encoder(inputs, num_heads=2, key_dim=4, ff_dim=8)
    )
    scores = kerastrans.attention_scores(model, random_sequences(1, 4, 3, seed=0))
    assert {kind: x.shape for kind, x in scores.items()} == {"encoder_self": (1, 2, 4, 4)}


def test_the_attention_inside_a_block_that_is_one_layer_is_shown():
    history, target = keras.Input((4, 6)), keras.Input((None, 6))
    memory = kerastrans.TransformerEncoder(intermediate_dim=8, num_heads=2)(history)
    decoder = kerastrans.TransformerDecoder(intermediate_dim=8, num_heads=3)
    model = keras.Model([history, target], decoder(target, memory))
    scores = kerastrans.attention_scores(model, [np.ones((1, 4, 6)), np.ones((1, 5, 6))])
    shapes = {kind: x.shape[1:] for kind, x in scores.items()}
    assert shapes == {"encoder_self": (2, 4, 4), "decoder_self": (3, 5, 5), "cross": (3, 5, 4)}


class Doubled(CachedMultiHeadAttention):
    def call(self, query, value=None, key=None):
        return super().call(2 * query, value, key)


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (ProbSparseAttention(num_heads=2, key_dim=3), "ProbSparseAttention"),
        (Doubled(num_heads=2, key_dim=3), "Doubled"),
    ],
)
def test_weights_that_were_never_used_are_not_shown(layer, name):
    inputs = keras.Input((12, 3))
    model = keras.Model(inputs, layer(inputs))
    with pytest.raises(ValueError, match=rf"cannot show .*\({name}\): it has no weights"):
        kerastrans.attention_scores(model, np.zeros((1, 12, 3), "float32"))


def test_channels_that_are_examples_of_their_own_are_refused():
    model = kerastrans.zoo.build("patchtst", 16, 4, 2, patch_length=4, stride=4, d_model=8)
    with pytest.raises(ValueError, match=r"a single sequence .* splits one example into 2"):
        kerastrans.attention_scores(model, np.zeros((1, 16, 2), "float32"))


@pytest.mark.slow
def test_example_of_the_docstring():
    model = kerastrans.build_transformer_model(
        (6, 12),
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        d_model=64,
    )
    history = random_sequences(1, 6, 12, seed=0)
    seen, _ = teacher_forcing_pairs(model.generate(history, 9), history[:, -1:])
    assert kerastrans.attention_scores(model, [history, seen])["cross"].shape == (2, 4, 9, 6)
