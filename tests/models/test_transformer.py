import keras
import numpy as np
import pytest

import kerastrans
from kerastrans import build_transformer_model, generate_samples, zoo
from kerastrans.data import random_sequences, teacher_forcing_pairs
from tests.conftest import XLA, to_numpy


def test_decoder_length_is_free(small_model, small_inputs):
    for length in (1, 5, 30):
        decoder_inputs = np.zeros((2, length, 3), "float32")
        assert small_model([small_inputs, decoder_inputs]).shape == (2, length, 3)


def test_inputs_and_output_may_differ_in_width(small_inputs):
    model = build_transformer_model(
        (8, 3),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        d_model=10,
        output_dim=1,
    )
    outputs = model([small_inputs, np.zeros((2, 4, 1), "float32")])
    assert outputs.shape == (2, 4, 1)
    assert model.generate(small_inputs, 5, start_token=0.0).shape == (2, 5, 1)


def test_parameter_count_equals_the_closed_form():
    """As counted by hand: attention 4 d h k + 3 h k + d, network 2 d f + f + d, norm 2 d."""
    c, d, h, k, f, encoders, decoders = 7, 64, 4, 16, 128, 2, 3
    attention = 4 * d * h * k + 3 * h * k + d
    network = 2 * d * f + f + d
    encoder = encoders * (attention + network + 2 * 2 * d) + c * d + d + 2 * d
    decoder = decoders * (2 * attention + network + 3 * 2 * d) + c * d + d + 2 * d
    model = build_transformer_model(
        (24, c),
        num_heads=h,
        key_dim=k,
        ff_dim=f,
        num_encoder_blocks=encoders,
        num_decoder_blocks=decoders,
        d_model=d,
    )
    assert model.count_params() == encoder + decoder + d * c + c


def test_key_dim_and_num_heads_keep_their_places():
    """The lesson swapped them between the model and the blocks."""
    model = build_transformer_model(
        (8, 3), num_heads=2, key_dim=5, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    for name in ("encoder_0_self_attention", "decoder_0_cross_attention"):
        assert (model.get_layer(name).key_dim, model.get_layer(name).num_heads) == (5, 2)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_future_decoder_inputs_change_nothing(norm):
    model = build_transformer_model(
        (8, 3),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        d_model=12,
        norm=norm,
    )
    context, decoder_inputs = random_sequences(2, 8, 3, seed=1), random_sequences(2, 9, 3, seed=2)
    before = to_numpy(model([context, decoder_inputs]))
    for t in range(8):
        changed = decoder_inputs.copy()
        changed[:, t + 1 :] = 99.0
        after = to_numpy(model([context, changed]))
        np.testing.assert_allclose(after[:, : t + 1], before[:, : t + 1], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_every_weight_gets_a_gradient(small_model, small_inputs):
    small_model.compile(keras.optimizers.SGD(0.1), "mse", **XLA)
    before = [w.copy() for w in small_model.get_weights()]
    decoder_inputs, targets = teacher_forcing_pairs(small_inputs, start_token=0.0)
    small_model.fit([small_inputs, decoder_inputs], targets, epochs=2, verbose=0)
    for weight, old, new in zip(
        small_model.weights, before, small_model.get_weights(), strict=True
    ):
        # A bias of the keys shifts all scores of a query alike: softmax ignores it.
        assert (old != new).any() or weight.path.endswith("key/bias"), weight.path


def test_decoder_noise_acts_in_training_alone(small_inputs):
    model = build_transformer_model(
        (8, 3),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        decoder_noise=1.0,
    )
    inputs = [small_inputs, small_inputs]
    np.testing.assert_array_equal(to_numpy(model(inputs)), to_numpy(model(inputs)))
    noisy = to_numpy(model(inputs, training=True)) - to_numpy(model(inputs))
    assert np.abs(noisy).max() > 0.01


@pytest.mark.slow
def test_copy_task_is_learnt_autoregressively():
    """A short form of benchmarks.accuracy.copy_task: well below the data's variance, which is 1."""
    sequences = random_sequences(2000, 3, 4, seed=0)
    model = build_transformer_model(
        (3, 4),
        num_heads=2,
        key_dim=16,
        ff_dim=64,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
        d_model=32,
    )
    decoder_inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0, end_token=0.0)
    model.compile(keras.optimizers.Adam(3e-3), "mse", **XLA)
    model.fit([sequences, decoder_inputs], targets, epochs=12, batch_size=64, verbose=0)
    unseen = random_sequences(200, 3, 4, seed=1)
    assert np.mean((model.generate(unseen, 3, start_token=0.0) - unseen) ** 2) < 0.1


@pytest.mark.slow
@pytest.mark.exhaustive
def test_same_seed_same_model(small_inputs):
    results = []
    for _ in range(2):
        keras.utils.set_random_seed(7)
        model = build_transformer_model(
            (8, 3),
            num_heads=2,
            key_dim=4,
            ff_dim=16,
            num_encoder_blocks=1,
            num_decoder_blocks=1,
            dropout=0.1,
        )
        model.compile("adam", "mse", **XLA)
        model.fit([small_inputs, small_inputs], small_inputs, epochs=3, verbose=0)
        results.append(model.get_weights())
    for first, second in zip(*results, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("head", [None, "student_t"])
def test_with_patches_it_is_the_forecaster_of_the_zoo(small_inputs, head):
    sizes = {"d_model": 16, "num_heads": 2, "ff_dim": 16, "num_decoder_blocks": 2}
    sizes |= {"num_encoder_blocks": 1, "patch_length": 2, "lags": (4,), "head": head}
    expected = zoo.build("time_series_transformer", 8, 6, 3, **sizes)
    model = build_transformer_model((8, 3), key_dim=8, activation="gelu", **sizes)
    model.set_weights(expected.get_weights())
    if head is None:
        forecast = model.generate(small_inputs, 6)
        np.testing.assert_allclose(forecast, to_numpy(expected(small_inputs)), atol=1e-5)
    else:
        inputs = [small_inputs, small_inputs[:, 2:]]
        np.testing.assert_allclose(to_numpy(model(inputs)), to_numpy(expected(inputs)), atol=1e-6)
        assert generate_samples(model, small_inputs, 5, num_samples=2).shape == (2, 2, 5, 3)


@pytest.mark.slow
def test_with_patches_the_forecast_moves_with_level_and_unit(small_inputs):
    sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
    blocks = {"num_encoder_blocks": 1, "num_decoder_blocks": 1}
    model = build_transformer_model((8, 3), patch_length=4, **sizes, **blocks)
    forecast = model.generate(small_inputs, 6)
    moved = model.generate(100 * small_inputs + 1000, 6)
    np.testing.assert_allclose(moved, 100 * forecast + 1000, rtol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"input_shape": (8,)},
            r"input_shape must be \(context_length, num_channels\), got \(8,\)",
        ),
        ({"input_shape": 8}, r"input_shape must be \(context_length, num_channels\), got 8\."),
        ({"input_shape": (0, 3)}, "context_length must be"),
        ({"key_dim": 0}, "key_dim must be"),
        ({"num_heads": -2}, "num_heads must be"),
        ({"ff_dim": 1.5}, "ff_dim must be"),
        ({"num_decoder_blocks": 0}, "num_decoder_blocks must be"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"d_model": 0}, "d_model must be"),
        ({"output_dim": 0}, "output_dim must be"),
        ({"norm": "none"}, "norm must be one of"),
        ({"decoder_noise": -1.0}, "decoder_noise must be"),
        ({"patch_length": 0}, "patch_length must be"),
        ({"patch_length": 9}, "a patch_length of 9 steps is longer than the context of 8"),
        ({"lags": [4]}, r"lags=\[4\] requires a patch_length"),
        ({"patch_length": 4, "lags": [2]}, "a lag must be at least the patch_length of 4, got 2"),
        ({"head": "gauss"}, "unknown head 'gauss'"),
        ({"head": "normal", "decoder_noise": 1.0}, "decoder_noise=1.0 cannot be combined with"),
        ({"patch_length": 2, "output_dim": 2}, "output_dim=2 cannot be combined with"),
        ({"patch_length": 2, "d_model": None}, "d_model=None cannot be combined with"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    sizes = {
        "input_shape": (8, 3),
        "key_dim": 4,
        "num_heads": 2,
        "ff_dim": 16,
        "num_encoder_blocks": 1,
        "num_decoder_blocks": 1,
    }
    with pytest.raises(ValueError, match=message):
        kerastrans.build_transformer_model(**{**sizes, **arguments})


def test_without_a_projection_the_blocks_are_as_wide_as_the_inputs():
    sizes = {"key_dim": 4, "num_heads": 2, "ff_dim": 16, "d_model": None}
    model = kerastrans.build_transformer_model(
        (8, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
    )
    blocks = [x for x in model.layers if isinstance(x, keras.layers.LayerNormalization)]
    assert {block.output.shape[-1] for block in blocks} == {3}
