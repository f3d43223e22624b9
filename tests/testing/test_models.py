"""`check_model` finds the fault in models that have just one, and none in models that have none."""

import random
import re

import keras
import numpy as np
import pytest
from keras import layers, ops

import kerastrans
from kerastrans.testing import check_model
from kerastrans.utils.validation import check_positive_integers

SIZES = {"context_length": 8, "prediction_length": 4, "num_channels": 2}


def linear(context_length, prediction_length, num_channels, width=None, before=None, **options):
    """A dense layer over time; `before` changes what enters it."""
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
    )
    history = keras.Input((context_length, num_channels), name="history")
    x = history if before is None else before(history)
    x = layers.Permute((2, 1))(x)
    x = layers.Dense(prediction_length if width is None else width, **options)(x)
    return keras.Model(history, layers.Permute((2, 1), dtype="float32")(x), name="linear")


@keras.saving.register_keras_serializable(package="tests")
class NewValues(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        return ops.convert_to_tensor(np.random.default_rng().standard_normal(shape), dtype)


class Frozen(layers.Layer):
    def build(self, input_shape):
        self.offset = self.add_weight(shape=(1,), name="offset")

    def call(self, x):
        return x + ops.stop_gradient(self.offset)


def half(context_length, prediction_length, num_channels):
    history = keras.Input((context_length, num_channels), name="history")
    x = layers.Dense(prediction_length)(layers.Permute((2, 1))(history))
    return keras.Model(history, layers.Permute((2, 1))(x))


def subclassed(context_length, prediction_length, num_channels):
    class Mine(keras.Model):
        def call(self, x):
            return x

    return Mine()


FAULTS = {
    "contract": (linear, {"width": 5}, "linear was built for prediction_length=5, got 4"),
    "invalid sizes": (half, {}, "context_length=0 is accepted"),
    "finite": (linear, {"before": lambda x: x / 0.0}, "of the output is not finite"),
    "batch independence": (
        linear,
        {"before": lambda x: x - ops.mean(x, axis=0, keepdims=True)},
        "a window's forecast differs by",
    ),
    "channels": (
        linear,
        {"mixes_channels": True},
        "mixes_channels=True, but one channel does not change the others' forecasts",
    ),
    "equivariance": (
        linear,
        {"equivariance": "affine"},
        "equivariance='affine', but if",
    ),
    "seed": (linear, {"kernel_initializer": NewValues()}, "kernel differs between two models"),
    "reload": (
        linear,
        {"before": lambda x: layers.Lambda(lambda x: x)(x)},
        "ValueError: .*Lambda",
    ),
    "mixed float16": (half, {}, "under mixed_float16 the output is float16, not float32"),
    "mixed bfloat16": (half, {}, "under mixed_bfloat16 the output is bfloat16, not float32"),
    "training": (linear, {"before": lambda x: Frozen()(x)}, "no gradient reaches .*offset"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.filterwarnings("ignore:Gradients do not exist for variables")
def test_a_fault_is_found_by_the_check_that_looks_for_it(fault):
    build, options, message = FAULTS[fault]
    report = check_model(build, **SIZES, **options, raise_failures=False)
    assert report[fault].status == "failed"
    assert re.search(message, report[fault].reason), report[fault].reason


def test_a_window_that_sees_earlier_ones_and_a_channel_that_sees_later_ones_are_found():
    sees_earlier = {"before": lambda x: ops.cumsum(x, axis=0), "raise_failures": False}
    report = check_model(linear, **SIZES, **sees_earlier)
    assert report["batch independence"].status == "failed"
    sees_later = {"before": lambda x: x + ops.concatenate([x[..., 1:], 0 * x[..., :1]], axis=-1)}
    report = check_model(linear, **SIZES, **sees_later, mixes_channels=False, raise_failures=False)
    assert report["channels"].status == "failed"
    report = check_model(linear, **SIZES, **sees_later, mixes_channels=True)
    assert report["channels"].status == "passed"


def test_a_model_that_keeps_the_contract_passes_and_what_does_not_apply_says_why():
    report = check_model(
        linear, **SIZES, mixes_channels=False, equivariance="scale", use_bias=False
    )
    assert report["channels"].status == report["equivariance"].status == "passed"
    assert report["decoding"].reason == "the model returns the whole horizon at once"
    assert check_model(linear, **SIZES)["equivariance"].reason == "equivariance was not given"


def test_a_broken_claim_is_raised_with_its_reason():
    with pytest.raises(
        AssertionError, match="linear fails 1 checks:\nequivariance: equivariance='a"
    ):
        check_model(linear, **SIZES, equivariance="affine")


def test_a_model_that_is_not_functional_fails_at_once():
    report = check_model(subclassed, **SIZES, raise_failures=False)
    assert "must be functional" in report["contract"].reason
    assert {x.status for x in report.results[1:]} == {"not applicable"}


@pytest.mark.slow
def test_a_built_model_is_checked_and_left_as_it_was():
    model = kerastrans.build_transformer_model(
        (8, 2),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        d_model=8,
    )
    before = model.get_weights()
    report = check_model(model, **SIZES)
    assert report["causality"].status == report["decoding"].status == "passed"
    assert report["seed"].reason == "the model is already built: pass a function that builds it"
    assert not model.compiled
    for weight, value in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_an_input_without_a_name_reloads():
    history = keras.Input((24, 3))
    model = keras.Model(history, keras.layers.Dense(3)(history)[:, -12:])
    assert check_model(model, skip=["training", "same training"])["reload"].status == "passed"


@pytest.mark.slow
def test_a_decoder_that_sees_what_comes_later_is_found():
    history = keras.Input((8, 2), name="history")
    decoder = keras.Input((None, 2), name="decoder_inputs")
    x = layers.MultiHeadAttention(1, 4)(decoder, decoder)
    x = layers.MultiHeadAttention(1, 4)(x, history)
    report = check_model(
        keras.Model([history, decoder], layers.Dense(2)(x)), **SIZES, raise_failures=False
    )
    assert report["causality"].reason.startswith("an output before the change differs by")
    assert "step by step" in report["decoding"].reason


@pytest.mark.parametrize("reads_lengths", [True, False])
@pytest.mark.slow
def test_tokens_are_decoded_and_padding_is_hidden(reads_lengths):
    model = kerastrans.build_seq2seq_transformer(
        8, 8, d_model=8, num_heads=2, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    if not reads_lengths:
        source, lengths, target = (
            keras.Input(x.shape[1:], dtype="int32", name=x.name) for x in model.inputs
        )
        steps = ops.sum(ops.ones_like(source), axis=1)
        logits = model([source, steps + 0 * lengths, target])
        model = keras.Model([source, lengths, target], logits)
    report = check_model(model, **SIZES, raise_failures=reads_lengths)
    assert report["causality"].status == "passed"
    assert report["padding"].status == ("passed" if reads_lengths else "failed")
    if reads_lengths:
        assert report["decoding"].status == "passed"
        bias = model.weights[-1]
        bias.assign(np.where(np.arange(8) < 2, 9.0, 0.0))  # padding and start are never chosen
        others = ["training", "same training"]
        assert check_model(model, **SIZES, skip=others)["decoding"].status == "passed"


def test_global_generators_and_the_dtype_policy_are_left_alone():
    states = random.getstate(), np.random.get_state()[1].copy()
    check_model("nlinear", **SIZES)
    assert random.getstate() == states[0]
    np.testing.assert_array_equal(np.random.get_state()[1], states[1])
    assert (keras.config.dtype_policy().name, keras.config.floatx()) == ("float32", "float32")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context_length": 0}, "context_length must be an integer of at least 1, got 0"),
        ({"equivariance": "shfit"}, "equivariance must be one of None, '', 'shift'"),
        ({"build": "nlinaer"}, "unknown model 'nlinaer': did you mean 'nlinear'"),
        ({"width": 3}, "nlinear has no hyperparameter 'width'"),
        ({"skip": ["sed"]}, r"skip must name checks of .*, got \['sed'\]"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message):
        check_model(**{"build": "nlinear", **SIZES, **options})
