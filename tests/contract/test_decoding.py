"""The cached loop is the full forward pass, for every option; what cannot be decoded is refused."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers, ops

import kerastrans
from kerastrans import generate, transformer_decoder, transformer_encoder
from kerastrans.decoding.cached_decoder import CachedDecoder, cached_decoder, round_up_steps
from kerastrans.layers import (
    CachedMultiHeadAttention,
    LearntPositionalEncoding,
    PositionalEncoding,
    TransformerDecoder,
    TransformerEncoder,
)
from kerastrans.layers.masks import create_padding_mask
from kerastrans.models.informer import ProbSparseAttention
from kerastrans.models.seq2seq_transformer import PaddingMask
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)
CONTEXT, WIDTH, STEPS = 6, 4, 5
HISTORY = RNG.standard_normal((2, CONTEXT, WIDTH), "float32")
VALID = np.arange(CONTEXT) < np.array([[4], [6]])
EARLY = np.array([[True, True, False, True, False], [True, False, False, True, True]])
TABLE = RNG.random((2, STEPS, STEPS)) < 0.6
TABLE[:, np.arange(STEPS), np.arange(STEPS)] = False  # also rows in which nothing is visible
POSITIONS = {"none": None, "sinusoids": PositionalEncoding, "learnt": LearntPositionalEncoding}


def assert_decodes(model, arrays, steps=STEPS, atol=1e-5):
    """Assert that the model, shown what its loop generated, returns just that."""
    first = HISTORY[:, -1:]
    generated = generate(model, arrays, steps, start_token=first)
    shown = np.concatenate([first, generated[:, :-1]], axis=1)
    forward = to_numpy(ops.cast(model([*arrays, shown]), "float32"))
    np.testing.assert_allclose(generated, forward, rtol=0, atol=atol)
    return generated


def model_of(decode, *extra, length=None):
    """A model of the history, extra inputs and decoder inputs, whose decoder is `decode`."""
    history = keras.Input((CONTEXT, WIDTH), name="history")
    target = keras.Input((length, WIDTH), name="target")
    outputs = layers.Dense(WIDTH)(decode(target, history, *extra))
    return keras.Model([history, *extra, target], outputs)


def attention(x, memory=None, causal=True, **masks):
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=causal and memory is None)
    return layers.Add()([x, layer(x, memory, **masks)])


@pytest.mark.slow
@settings(max_examples=10)
@given(
    norm=st.sampled_from(["pre", "post"]),
    normalization=st.sampled_from(["layer", "batch"]),
    activation=st.sampled_from(["relu", "gelu"]),
    positions=st.sampled_from(sorted(POSITIONS)),
    attention_dropout=st.sampled_from([None, 0.3]),
    masks=st.sets(st.sampled_from(["encoder", "cross", "own"])),
    blocks=st.integers(1, 2),
)
def test_every_option_of_the_blocks(
    norm, normalization, activation, positions, attention_dropout, masks, blocks
):
    history, target = keras.Input((CONTEXT, WIDTH)), keras.Input((None, WIDTH))
    valid, early = keras.Input((CONTEXT,), dtype="bool"), keras.Input((STEPS,), dtype="bool")
    options = {"norm": norm, "activation": activation}
    sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16, "dropout": 0.2}
    x = transformer_encoder(
        layers.Dense(8)(history),
        **sizes,
        normalization=normalization,
        attention_dropout=attention_dropout,
        padding_mask=valid if "encoder" in masks else None,
        **options,
    )
    y = layers.Dense(8)(target)
    if POSITIONS[positions] is not None:
        y = POSITIONS[positions](STEPS, 8)(y)
    for _ in range(blocks):
        y = transformer_decoder(
            *(y, x),
            **sizes,
            padding_mask=early if "own" in masks else None,
            encoder_padding_mask=valid if "cross" in masks else None,
            **options,
        )
    model = keras.Model([history, valid, early, target], layers.Dense(WIDTH)(y))
    assert_decodes(model, [HISTORY, VALID, EARLY])


@pytest.mark.parametrize(
    "policy", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.slow)]
)
def test_mixed_precision(policy):
    keras.config.set_dtype_policy(policy)
    model = kerastrans.build_transformer_model(
        (CONTEXT, WIDTH),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        d_model=8,
    )
    # The policy's own rounding: products over 5 keys and over 8 slots add up in another order.
    assert_decodes(model, [HISTORY], atol=2e-2 if policy == "mixed_float16" else 0.1)


def of_the_input(rank):
    """A mask that is made of the decoder's input: `(batch, time)` or `(batch, 1, time)`."""

    def decode(target, history):
        mask = ops.any(ops.greater(target, 0.3), axis=-1)
        if rank == 3:
            return attention(target, attention_mask=ops.expand_dims(mask, 1))
        return attention(target, padding_mask=mask)

    return decode


def of_the_query(target, history):
    """A mask of the queries, over a memory."""
    mask = ops.any(ops.greater(target, 0.3), axis=-1, keepdims=True)
    return attention(target, history, attention_mask=mask)


@pytest.mark.slow
@pytest.mark.parametrize("decode", [of_the_input(2), of_the_input(3), of_the_query])
def test_masks_that_the_decoders_input_makes(decode):
    model = model_of(decode)
    masked = assert_decodes(model, [HISTORY])
    unmasked = model_of(lambda x, memory: attention(x, memory if decode is of_the_query else None))
    unmasked.set_weights(model.get_weights())
    plain = generate(unmasked, HISTORY, STEPS, start_token=HISTORY[:, -1:])
    assert np.abs(masked - plain).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["padding_mask", "attention_mask", "constant", "both"])
def test_masks_of_the_decoder_that_are_known_ahead(kind):
    early = keras.Input((STEPS,), dtype="bool")
    table = keras.Input((STEPS, STEPS), dtype="bool")
    masks = {
        "padding_mask": {"padding_mask": early},
        "attention_mask": {"attention_mask": table},
        "constant": {"attention_mask": ops.convert_to_tensor(TABLE[0])},
        "both": {"padding_mask": early, "attention_mask": table},
    }[kind]
    model = model_of(lambda x, *_: attention(x, **masks), early, table)
    masked = assert_decodes(model, [HISTORY, EARLY, TABLE])
    bare = model_of(lambda x, *_: attention(x), early, table)
    bare.set_weights(model.get_weights())
    plain = generate(bare, [HISTORY, EARLY, TABLE], STEPS, start_token=HISTORY[:, -1:])
    assert np.abs(masked - plain).max() > 1e-2


def test_masks_of_every_query_over_a_memory():
    lengths = keras.Input((STEPS,), dtype="int32")
    masks = create_padding_mask(lengths, CONTEXT)
    model = model_of(lambda x, memory, _: attention(x, memory, padding_mask=masks), lengths)
    assert_decodes(model, [HISTORY, np.array([[1, 2, 6, 0, 3], [6, 5, 4, 3, 2]])])


@pytest.mark.parametrize("sizes", [{}, {"value_dim": 5, "output_shape": 4}])
def test_attention_to_itself_named_in_full(sizes):
    layer = CachedMultiHeadAttention(num_heads=2, key_dim=3, causal=True, **sizes)
    assert_decodes(model_of(lambda x, _: layer(x, x, x)), [HISTORY])


def test_keys_apart_from_values():
    cross = CachedMultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)
    model = model_of(lambda x, memory: cross(x, memory, layers.Dense(7)(memory)))
    assert_decodes(model, [HISTORY])


def test_valid_lengths_of_the_decoder():
    lengths = keras.Input((), dtype="int32")
    model = model_of(
        lambda x, _, lengths: attention(x, padding_mask=PaddingMask()(x, lengths)), lengths
    )
    assert_decodes(model, [HISTORY, np.array([2, 5])])


def test_a_mask_that_does_not_reach_is_refused():
    early = keras.Input((STEPS,), dtype="bool")
    model = model_of(lambda x, *_: attention(x, padding_mask=early), early)
    with pytest.raises(ValueError, match=r"6 steps require a mask of as many, got .*\(2, 1, 5\)"):
        generate(model, [HISTORY, EARLY], STEPS + 1)


class Reversed(CachedMultiHeadAttention):
    def call(self, query, value=None, key=None):
        return super().call(query[:, ::-1], value, key)


class Shuffling(layers.Dense):
    def call(self, inputs):
        return ops.roll(super().call(inputs), 1, axis=1)


def both_ways(target, _):
    positive = ops.any(ops.greater(target, 0), axis=-1)
    mask = ops.logical_and(ops.expand_dims(positive, 1), ops.expand_dims(positive, 2))
    return attention(target, attention_mask=mask)


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        (
            lambda x, m: ProbSparseAttention(num_heads=2, key_dim=3, causal=True)(x),
            r"ProbSparseAttention\) step by",
        ),
        (
            lambda x, m: Reversed(num_heads=2, key_dim=3, causal=True)(x),
            r"\(Reversed\) .*overrides `call`, but inherits",
        ),
        (lambda x, m: Shuffling(WIDTH)(x), r"\(Shuffling\) step by step"),
        (lambda x, m: x + m, r"\(Add\) step by step"),
        (lambda x, m: layers.Add()([x, m]), r"\(Add\) step by step"),
        (lambda x, m: x + np.ones((STEPS, WIDTH), "float32"), r"\(Add\) step by step"),
        (lambda x, m: x + ops.mean(x, axis=1, keepdims=True), r"\(Mean\) step by step"),
        (lambda x, m: ops.cumsum(x, axis=1), r"\(Cumsum\) step by step"),
        (lambda x, m: x[:, ::-1], r"\(GetItem\) step by step"),
        (lambda x, m: layers.BatchNormalization()(x), "BatchNormaliz"),
        (lambda x, m: attention(x, causal=False), "sees later positions"),
        (
            lambda x, m: TransformerEncoder(intermediate_dim=8, num_heads=2)(x),
            "block_self_attention sees later positions",
        ),
        (
            lambda x, m: TransformerDecoder(intermediate_dim=8, num_heads=2)(
                x, use_causal_mask=False
            ),
            "sees later positions",
        ),
        (lambda x, m: attention(x, layers.Dense(3)(x)), "a memory that depends on the decoder's"),
        (both_ways, r"\(LogicalAnd\) step by step: .* one axis must be the time axis"),
        (
            lambda x, m: transformer_encoder(x, num_heads=2, key_dim=4, ff_dim=16),
            "sees later positions",
        ),
    ],
)
def test_what_cannot_be_decoded_is_refused_by_name_before_any_work(decode, message):
    model = model_of(decode, length=STEPS if "ProbSparse" in message else None)
    with pytest.raises(ValueError, match=message):
        CachedDecoder(model)


@pytest.mark.slow
@given(num_steps=st.integers(1, 5000))
def test_a_loop_has_room_for_a_quarter_more_at_most(num_steps):
    room = round_up_steps(num_steps)
    assert num_steps <= room <= max(num_steps, 1.25 * num_steps)
    assert round_up_steps(room) == room


@pytest.mark.slow
@pytest.mark.exhaustive
def test_32_lengths_take_few_loops(small_model, small_inputs):
    decoder = cached_decoder(small_model)
    whole = generate(small_model, small_inputs, 36)
    for num_steps in range(5, 37):
        result = generate(small_model, small_inputs, num_steps)
        assert result.shape == (2, num_steps, 3)
        np.testing.assert_allclose(result, whole[:, :num_steps], atol=1e-4)
    assert len(decoder._compiled) <= 13
