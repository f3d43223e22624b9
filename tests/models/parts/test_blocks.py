import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerastrans.layers.masks import create_padding_mask
from kerastrans.layers.transformer.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.sublayers import position_wise_ffn
from tests.conftest import to_numpy

SIZES = st.integers(1, 9)
NORMS = st.sampled_from(["pre", "post"])
MODELS = settings(max_examples=8)  # each example is a model of its own


def decoder_model(width, encoder_width, heads, norm="pre", **masks):
    x, memory = keras.Input((None, width)), keras.Input((None, encoder_width))
    inputs = [x, memory]
    arguments = {}
    for name in masks:
        arguments[name] = keras.Input((None,), dtype="bool")
        inputs.append(arguments[name])
    return keras.Model(
        inputs,
        transformer_decoder(
            x, memory, num_heads=heads, key_dim=3, ff_dim=8, norm=norm, **arguments
        ),
    )


@MODELS
@given(
    batch=SIZES,
    time=st.integers(2, 9),
    memory_time=SIZES,
    width=st.integers(2, 4),
    norm=NORMS,
    data=st.data(),
)
def test_decoder_output_depends_on_no_later_input(batch, time, memory_time, width, norm, data):
    t = data.draw(st.integers(0, time - 2))
    rng = np.random.default_rng(batch)
    model = decoder_model(width, 5, 2, norm)
    x = rng.standard_normal((batch, time, width), "float32")
    memory = rng.standard_normal((batch, memory_time, 5), "float32")
    changed = x.copy()
    changed[:, t + 1 :] = 1e3 * rng.standard_normal(changed[:, t + 1 :].shape)
    before, after = to_numpy(model([x, memory])), to_numpy(model([changed, memory]))
    np.testing.assert_allclose(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-6)
    if norm == "pre":  # post-norm takes two channels to the same values, whatever they are
        assert np.abs(after[:, t + 1 :] - before[:, t + 1 :]).max() > 1e-3


@MODELS
@given(batch=SIZES, time=st.integers(2, 9), norm=NORMS, data=st.data())
def test_padding_changes_no_valid_position_of_the_encoder(batch, time, norm, data):
    lengths = data.draw(st.lists(st.integers(1, time), min_size=batch, max_size=batch))
    mask = to_numpy(create_padding_mask(np.array(lengths), time))
    x, padding_mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    outputs = transformer_encoder(
        x, num_heads=2, key_dim=3, ff_dim=8, norm=norm, padding_mask=padding_mask
    )
    model = keras.Model([x, padding_mask], outputs)
    rng = np.random.default_rng(time)
    values = rng.standard_normal((batch, time, 4), "float32")
    padded = np.where(mask[..., None], values, 1e3)
    np.testing.assert_allclose(
        to_numpy(model([padded, mask]))[mask], to_numpy(model([values, mask]))[mask], atol=1e-6
    )


@MODELS
@given(batch=SIZES, time=st.integers(2, 9), data=st.data())
def test_padding_changes_no_valid_position_of_the_decoder(batch, time, data):
    lengths = np.array(data.draw(st.lists(st.integers(1, time), min_size=batch, max_size=batch)))
    mask = to_numpy(create_padding_mask(lengths, time))
    model = decoder_model(4, 5, 2, padding_mask=True, encoder_padding_mask=True)
    rng = np.random.default_rng(time)
    x = rng.standard_normal((batch, time, 4), "float32")
    memory = rng.standard_normal((batch, time, 5), "float32")
    plain = to_numpy(model([x, memory, mask, mask]))
    x_padded, memory_padded = (np.where(mask[..., None], v, 1e3) for v in (x, memory))
    padded = to_numpy(model([x_padded, memory_padded, mask, mask]))
    np.testing.assert_allclose(padded[mask], plain[mask], atol=1e-6)


def test_padding_gives_what_the_shorter_sequence_gives():
    x, padding_mask = keras.Input((None, 4)), keras.Input((None,), dtype="bool")
    model = keras.Model(
        [x, padding_mask],
        transformer_encoder(x, num_heads=2, key_dim=3, ff_dim=8, padding_mask=padding_mask),
    )
    values = np.random.default_rng(0).standard_normal((1, 9, 4), "float32")
    whole = to_numpy(model([values, np.arange(9)[None] < 6]))
    short = to_numpy(model([values[:, :6], np.ones((1, 6), bool)]))
    np.testing.assert_allclose(whole[:, :6], short, atol=1e-6)


def test_decoder_keeps_its_feed_forward_result():
    """The lesson computed it and dropped it."""
    model = decoder_model(4, 5, 2)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((1, 3, w), "float32") for w in (4, 5)]
    before = to_numpy(model(inputs))
    last = [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)][-1]
    last.set_weights([w + 1 for w in last.get_weights()])
    assert np.abs(to_numpy(model(inputs)) - before).max() > 0.1


def test_pre_norm_passes_the_input_through_and_post_norm_normalises_the_output():
    x = keras.Input((None, 6))
    values = np.random.default_rng(0).standard_normal((2, 5, 6), "float32")
    post = to_numpy(
        keras.Model(x, transformer_encoder(x, num_heads=2, key_dim=3, ff_dim=8, norm="post"))(
            values
        )
    )
    np.testing.assert_allclose(post.mean(axis=-1), 0, atol=1e-5)
    np.testing.assert_allclose(post.std(axis=-1), 1, atol=1e-3)
    model = keras.Model(x, transformer_encoder(x, num_heads=2, key_dim=3, ff_dim=8, norm="pre"))
    model.set_weights([np.zeros_like(w) for w in model.get_weights()])
    np.testing.assert_array_equal(to_numpy(model(values)), values)


def test_position_wise_ffn_treats_positions_alike():
    x = keras.Input((None, 4))
    model = keras.Model(x, position_wise_ffn(x, 8))
    values = np.ones((2, 3, 4), "float32")  # as in d2l: equal inputs, equal outputs
    result = to_numpy(model(values))
    assert result.shape == (2, 3, 4)
    np.testing.assert_allclose(result, np.broadcast_to(result[:1, :1], result.shape), atol=1e-6)


def test_names_and_activation_are_taken():
    x = keras.Input((5, 4))
    model = keras.Model(
        x, transformer_encoder(x, num_heads=2, key_dim=3, ff_dim=8, activation="gelu", name="block")
    )
    assert model.get_layer("block_ffn_expand").activation is keras.activations.gelu
    assert model.get_layer("block_self_attention").num_heads == 2


def test_parameter_count_is_that_of_the_paper():
    """Encoder block of width d: attention 4 d^2 + 4 d, network 2 d f + f + d, two norms 4 d."""
    d, f = 512, 2048
    x = keras.Input((5, d))
    model = keras.Model(x, transformer_encoder(x, num_heads=8, key_dim=64, ff_dim=f))
    assert model.count_params() == 4 * d * d + 4 * d + 2 * d * f + f + d + 4 * d


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_heads": 0}, "num_heads must be"),
        ({"key_dim": 0}, "key_dim must be"),
        ({"ff_dim": 0}, "ff_dim must be"),
        ({"dropout": -0.1}, "dropout must be"),
        ({"dropout": 1}, "dropout must be"),
        ({"norm": "middle"}, "norm must be one of 'pre', 'post', got 'middle'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    sizes = {"num_heads": 2, "key_dim": 3, "ff_dim": 8}
    with pytest.raises(ValueError, match=message):
        transformer_encoder(keras.Input((5, 4)), **{**sizes, **arguments})
    with pytest.raises(ValueError, match=message):
        transformer_decoder(keras.Input((5, 4)), keras.Input((6, 4)), **{**sizes, **arguments})


def test_a_padding_mask_is_refused_beside_an_attention_that_does_not_see_it():
    inputs, mask = keras.Input((5, 8)), keras.Input((5,), dtype="bool")
    with pytest.raises(ValueError, match="leave self_attention out"):
        transformer_encoder(
            inputs,
            num_heads=2,
            key_dim=4,
            ff_dim=8,
            padding_mask=mask,
            self_attention=lambda x: 2 * x,
        )


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_an_encoder_the_decoder_sees_no_later_input(norm):
    inputs = keras.Input((6, 8))
    model = keras.Model(
        inputs,
        transformer_decoder(
            inputs, None, num_heads=2, key_dim=4, ff_dim=16, dropout=0.0, norm=norm
        ),
    )
    x = np.random.default_rng(0).standard_normal((2, 6, 8), "float32")
    changed = x.copy()
    changed[:, 4:] += 1
    difference = np.abs(to_numpy(model(changed)) - to_numpy(model(x))).max(axis=(0, 2))
    assert difference[:4].max() < 1e-6
    assert difference[4:].min() > 1e-3
    assert not [layer for layer in model.layers if "cross" in layer.name]


@pytest.mark.parametrize(
    ("shape", "masks", "message"),
    [
        ((8,), {}, r"inputs must have shape \(batch, time, width\), got \(None, 8\)"),
        ((6, 8), {"padding_mask": ((5,), "bool")}, r"padding_mask must have shape \(batch, 6\)"),
        ((6, 8), {"padding_mask": ((6,), "float32")}, "masks are boolean, .* got float32"),
        ((6, 8), {"attention_mask": ((6, 5), "bool")}, r"broadcast to \(batch, 6, 6\)"),
    ],
)
def test_ranks_and_masks_are_checked_when_a_block_is_built(shape, masks, message):
    inputs = keras.Input(shape)
    masks = {name: keras.Input(size, dtype=dtype) for name, (size, dtype) in masks.items()}
    for block in (transformer_encoder, transformer_decoder):
        with pytest.raises(ValueError, match=message):
            block(inputs, num_heads=2, key_dim=4, ff_dim=16, **masks)


def test_a_padding_mask_of_another_memory_is_refused():
    inputs, memory = keras.Input((6, 8)), keras.Input((5, 8))
    mask = keras.Input((6,), dtype="bool")
    with pytest.raises(ValueError, match=r"padding_mask must have shape \(batch, 5\), got"):
        transformer_decoder(
            inputs, memory, num_heads=2, key_dim=4, ff_dim=16, encoder_padding_mask=mask
        )


def test_called_on_arrays_a_block_has_new_weights_each_time():
    values = np.random.default_rng(0).standard_normal((1, 3, 4), "float32")
    first, second = (
        to_numpy(transformer_encoder(values, num_heads=2, key_dim=3, ff_dim=8)) for _ in range(2)
    )
    assert np.abs(first - second).max() > 1e-2


def test_a_padding_mask_of_no_encoder_is_refused():
    inputs, mask = keras.Input((6, 8)), keras.Input((5,), dtype="bool")
    with pytest.raises(ValueError, match="encoder_padding_mask requires encoder_output, got None"):
        transformer_decoder(
            inputs, None, num_heads=2, key_dim=4, ff_dim=16, encoder_padding_mask=mask
        )


def test_a_block_of_one_feature_is_refused_where_normalisation_makes_it_constant():
    inputs, memory = keras.Input((6, 1)), keras.Input((5, 8))
    sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
    message = r"\(None, 6, 1\) have one feature, .* keras.layers.Dense\(d_model\)"
    for norm in ("pre", "post"):
        with pytest.raises(ValueError, match=message):
            transformer_encoder(inputs, **sizes, norm=norm)
        with pytest.raises(ValueError, match=message):
            transformer_decoder(inputs, memory, **sizes, norm=norm)
    transformer_decoder(memory, inputs, **sizes)  # a memory of one feature is not normalised
    model = keras.Model(inputs, transformer_encoder(inputs, **sizes, normalization="batch"))
    values = np.random.default_rng(0).standard_normal((2, 6, 1), "float32")
    assert to_numpy(model(values)).std() > 0.1
