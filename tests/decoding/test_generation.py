import gc
import weakref

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers

import kerastrans
from kerastrans import generate, transformer_decoder, transformer_encoder
from kerastrans.data import random_sequences
from kerastrans.decoding.cached_decoder import CachedDecoder, cached_decoder
from kerastrans.layers import LearntPositionalEncoding
from kerastrans.utils.keras_internals import all_layers
from tests.conftest import assert_generated, naive_generate

TINY = {"num_heads": 2, "key_dim": 4, "ff_dim": 8, "num_encoder_blocks": 1, "num_decoder_blocks": 1}


@settings(max_examples=8)  # each example is a model of its own
@given(
    batch=st.integers(1, 4),
    context=st.integers(1, 12),
    steps=st.integers(1, 14),
    heads=st.integers(1, 3),
    blocks=st.integers(1, 3),
    norm=st.sampled_from(["pre", "post"]),
)
@pytest.mark.slow
def test_what_is_generated_is_what_the_model_puts_out(batch, context, steps, heads, blocks, norm):
    model = kerastrans.build_transformer_model(
        (context, 3),
        num_heads=heads,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=blocks,
        num_decoder_blocks=blocks,
        dropout=0.1,
        d_model=8,
        norm=norm,
    )
    inputs = random_sequences(batch, context, 3, seed=steps)
    result = generate(model, inputs, steps)
    assert result.dtype == np.float32
    assert_generated(model, inputs, result)


def test_cached_loop_equals_the_naive_loop_step_by_step(small_model, small_inputs):
    np.testing.assert_allclose(
        generate(small_model, small_inputs, 6),
        naive_generate(small_model, small_inputs, 6),
        rtol=0,
        atol=1e-4,
    )


@pytest.mark.parametrize(
    "start",
    [
        0.0,
        pytest.param([1.0, 2.0, 3.0], marks=pytest.mark.slow),
        pytest.param(np.ones((2, 1, 3), "float32"), marks=pytest.mark.slow),
    ],
)
def test_start_token_is_a_number_or_broadcasts(small_model, small_inputs, start):
    result = small_model.generate(small_inputs, 5, start_token=start)
    assert_generated(small_model, small_inputs, result, start)


def test_without_a_start_token_the_last_observed_value_starts(small_model, small_inputs):
    np.testing.assert_array_equal(
        generate(small_model, small_inputs, 3),
        generate(small_model, small_inputs, 3, start_token=small_inputs[:, -1:]),
    )


@pytest.mark.slow
def test_longer_generation_continues_the_shorter_one(small_model, small_inputs):
    np.testing.assert_allclose(
        generate(small_model, small_inputs, 20)[:, :6],
        generate(small_model, small_inputs, 6),
        atol=1e-5,
    )


@pytest.mark.slow
def test_one_trace_per_shape_is_reused(small_model, small_inputs, monkeypatch):
    traces = []
    decode = CachedDecoder.decode
    monkeypatch.setattr(
        CachedDecoder,
        "decode",
        lambda self, *args, **loop: traces.append(loop["room"]) or decode(self, *args, **loop),
    )
    for _ in range(3):
        generate(small_model, small_inputs, 4)
        generate(small_model, small_inputs, 5)
    if keras.backend.backend() == "torch":
        assert traces == [4, 5] * 3  # nothing is traced there: the loop runs as it is
    else:
        assert traces == [4, 5]


def test_new_weights_are_used_without_a_new_trace(small_model, small_inputs):
    before = generate(small_model, small_inputs, 4)
    small_model.set_weights([w * 1.5 for w in small_model.get_weights()])
    after = generate(small_model, small_inputs, 4)
    assert np.abs(after - before).max() > 1e-3
    assert_generated(small_model, small_inputs, after)


@pytest.mark.slow
def test_variables_that_are_added_later_are_used(small_inputs):
    sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 8}
    model = kerastrans.build_transformer_model(
        (8, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
    )
    generate(model, small_inputs, 3)
    dense = [x for x in all_layers(model) if type(x) is layers.Dense and x.kernel.shape[0] == 8]
    for layer in dense:
        layer.enable_lora(2)
        layer.lora_kernel_b.assign(np.ones(layer.lora_kernel_b.shape))
    assert dense
    assert_generated(model, small_inputs, generate(model, small_inputs, 3))


def test_values_beyond_the_range_of_floats_are_refused(small_model, small_inputs):
    bias = small_model.get_layer("head").bias
    bias.assign(np.full(bias.shape, np.inf))
    with pytest.raises(ValueError, match="exceeds the range of floats: scale the series down, or"):
        generate(small_model, small_inputs, 4)


@pytest.mark.slow
def test_a_model_of_patches_whose_weights_are_lost_is_refused():
    model = kerastrans.build_transformer_model((8, 1), patch_length=2, **TINY)
    model.set_weights([weight * np.nan for weight in model.get_weights()])
    with pytest.raises(ValueError, match="exceeds the range of floats"):
        generate(model, np.zeros((1, 8, 1)), 3)
    with pytest.raises(ValueError, match="exceeds the range of floats"):
        generate(model, np.full((1, 8, 1), np.nan), 3)


def test_numbers_of_numpy_are_numbers(small_model, small_inputs):
    expected = generate(small_model, small_inputs, 5)
    found = generate(small_model, small_inputs.astype(object), np.int64(5))
    np.testing.assert_array_equal(found, expected)


def test_generating_leaves_the_model_as_it_was(small_model, small_inputs):
    config = small_model.get_config()
    nodes = [len(layer._inbound_nodes) for layer in small_model.layers]
    generate(small_model, small_inputs, 4)
    assert small_model.get_config() == config
    assert [len(layer._inbound_nodes) for layer in small_model.layers] == nodes


@pytest.mark.slow
def test_a_dropped_model_is_not_kept_alive(small_inputs):
    def drop():
        model = kerastrans.build_transformer_model(
            (8, 3), num_heads=2, key_dim=4, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
        )
        generate(model, small_inputs, 2)
        return weakref.ref(model)

    gone = drop()  # a frame can keep a copy of its variables, which a `del` does not reach
    gc.collect()
    assert gone() is None


def by_hand(positions=None, decoder=transformer_decoder):
    """A model put together by a user, with a mean and a residual that cross to the decoder."""
    encoder_inputs, decoder_inputs = keras.Input((8, 3)), keras.Input((None, 3))
    level = encoder_inputs[:, -1:, :]
    memory = transformer_encoder(
        layers.Dense(10)(encoder_inputs - level), num_heads=2, key_dim=4, ff_dim=16
    )
    x = layers.Dense(10)(decoder_inputs - level)
    if positions is not None:
        x = positions(x)
    x = decoder(x, memory, num_heads=2, key_dim=4, ff_dim=16)
    x = decoder(x, memory, num_heads=2, key_dim=4, ff_dim=16)
    return keras.Model([encoder_inputs, decoder_inputs], layers.Dense(3)(x) + level)


def test_any_functional_model_of_our_blocks_generates(small_inputs):
    model = by_hand()
    assert_generated(model, small_inputs, generate(model, small_inputs, 6))


def test_padded_memory_generates(small_inputs):
    encoder_inputs, mask = keras.Input((8, 3)), keras.Input((8,), dtype="bool")
    decoder_inputs = keras.Input((None, 3))
    memory = transformer_encoder(
        encoder_inputs, num_heads=2, key_dim=4, ff_dim=16, padding_mask=mask
    )
    x = transformer_decoder(
        decoder_inputs, memory, num_heads=2, key_dim=4, ff_dim=16, encoder_padding_mask=mask
    )
    model = keras.Model([encoder_inputs, mask, decoder_inputs], layers.Dense(3)(x))
    valid = np.arange(8)[None] < np.array([[5], [8]])
    result = generate(model, [small_inputs, valid], 4, start_token=0.0)
    changed = np.where(valid[..., None], small_inputs, 1e3)
    np.testing.assert_allclose(
        generate(model, [changed, valid], 4, start_token=0.0), result, atol=1e-5
    )


@pytest.mark.slow
def test_learnt_positions_generate_and_refuse_past_their_range(small_inputs):
    model = by_hand(LearntPositionalEncoding(6, 10))
    assert_generated(model, small_inputs, generate(model, small_inputs, 6))
    with pytest.raises(ValueError, match="holds max_len=6 positions, got a sequence of 7"):
        generate(model, small_inputs, 7)


@pytest.mark.slow
def test_sinusoidal_positions_go_on_past_the_context(small_model, small_inputs):
    result = generate(small_model, small_inputs, 50)
    assert np.isfinite(result).all()
    assert_generated(small_model, small_inputs, result)


def test_reloaded_model_generates_the_same(small_model, small_inputs, tmp_path):
    small_model.save(tmp_path / "model.keras")
    reloaded = keras.saving.load_model(tmp_path / "model.keras", safe_mode=True)
    np.testing.assert_allclose(
        reloaded.generate(small_inputs, 5), small_model.generate(small_inputs, 5), atol=1e-6
    )


def test_encoding_happens_once_and_a_step_reads_one_value(small_model):
    decoder = cached_decoder(small_model)
    encoding = {call.operation.name for call in decoder.encode_calls}
    stepping = {call.operation.name for call in decoder.step_calls}
    assert "encoder_0_self_attention" in encoding
    assert "decoder_1_cross_attention" in stepping
    assert not encoding & stepping


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (layers.GRU(10, return_sequences=True), "GRU"),
        (layers.Conv1D(10, 3, padding="causal"), "Conv1D"),
        (layers.LayerNormalization(axis=1), "LayerNormalization"),
        (layers.BatchNormalization(), "BatchNormalization"),
    ],
)
def test_layers_that_cannot_decode_are_refused_by_name(small_inputs, layer, name):
    encoder_inputs, decoder_inputs = keras.Input((8, 3)), keras.Input((4, 3))
    memory = transformer_encoder(encoder_inputs, num_heads=2, key_dim=4, ff_dim=16)
    x = transformer_decoder(layer(decoder_inputs), memory, num_heads=2, key_dim=4, ff_dim=16)
    model = keras.Model([encoder_inputs, decoder_inputs], layers.Dense(3)(x))
    with pytest.raises(ValueError, match=rf"cannot decode .*\({name}\) step by step"):
        generate(model, small_inputs, 3)


def test_attention_to_later_positions_is_refused(small_inputs):
    encoder_inputs, decoder_inputs = keras.Input((8, 3)), keras.Input((None, 3))
    x = layers.Add()([decoder_inputs, layers.Dense(3)(encoder_inputs[:, -1:])])
    x = transformer_encoder(x, num_heads=2, key_dim=4, ff_dim=16)  # not causal
    model = keras.Model([encoder_inputs, decoder_inputs], layers.Dense(3)(x))
    with pytest.raises(ValueError, match="sees later positions"):
        generate(model, small_inputs, 3)


def test_models_that_cannot_feed_back_are_refused(small_inputs):
    model = kerastrans.build_transformer_model(
        (8, 3), num_heads=2, key_dim=4, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    head = keras.Model(model.inputs, layers.Dense(5)(model.outputs[0]))
    with pytest.raises(ValueError, match="their widths must agree, got 5 and 3"):
        generate(head, small_inputs, 3)
    with pytest.raises(ValueError, match="requires a functional model"):
        generate(keras.Sequential([layers.Dense(3)]), small_inputs, 3)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((8, 3)), r"encoder_inputs must have shape \(None, 8, 3\).*got \(8, 3\)"),
        (np.zeros((1, 8, 4)), r"must have shape \(None, 8, 3\)"),
        (np.zeros((1, 7, 3)), r"must have shape \(None, 8, 3\)"),
        (np.zeros((0, 8, 3)), "must not be empty"),
        (np.full((1, 8, 3), np.nan), "must be finite"),
        (np.full((1, 8, 3), np.inf), "must be finite"),
        (np.full((1, 8, 3), "a"), "must hold real numbers, got <U1"),
        (np.zeros((1, 8, 3), complex), "must hold real numbers, got complex128"),
        ([np.zeros((1, 8, 3))] * 2, r"requires 1 encoder input\(s\), got 2"),
    ],
)
def test_bad_inputs_are_refused(small_model, inputs, message):
    with pytest.raises(ValueError, match=message):
        generate(small_model, inputs, 3)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True])
def test_bad_num_steps_is_refused(small_model, small_inputs, steps):
    with pytest.raises(ValueError, match="num_steps must be an integer of at least 1"):
        generate(small_model, small_inputs, steps)


def test_bad_start_token_is_refused(small_model, small_inputs):
    with pytest.raises(ValueError, match=r"must broadcast to .* = \(2, 1, 3\), got shape \(4,\)"):
        generate(small_model, small_inputs, 3, start_token=[1.0, 2.0, 3.0, 4.0])


def test_a_start_token_that_is_no_number_is_refused(small_model, small_inputs):
    with pytest.raises(ValueError, match="start_token must be finite"):
        generate(small_model, small_inputs, 3, start_token=np.nan)


@pytest.mark.parametrize("name", ["model.h5", "model.hdf5"])
def test_h5_files_are_refused_before_anything_is_written(name, tmp_path):
    model = kerastrans.build_transformer_model(
        (6, 3), num_heads=2, key_dim=4, ff_dim=8, num_encoder_blocks=1, num_decoder_blocks=1
    )
    with pytest.raises(ValueError, match=r"could not be loaded.* as \.keras.*weights\.h5"):
        model.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
    model.save_weights(tmp_path / "model.weights.h5")
