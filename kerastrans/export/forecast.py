"""The function of every exported file: from raw history to the forecast in its units."""

import functools
import json
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from kerastrans import heads
from kerastrans.data.missing import after_missing_ends, count_missing_ends, move_steps
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.graph import (
    any_length,
    history_input,
    inputs_of,
    is_autoregressive,
    missing_inputs,
    takes_missing,
)
from kerastrans.decoding.rollout import decode_fixed
from kerastrans.decoding.samplers import AncestralSampler, FeedBack
from kerastrans.export.encodings import Encoder, Encodings, Input
from kerastrans.export.scaling import check_bounded, check_scaler, masked, unscaled, within
from kerastrans.export.widths import check_head
from kerastrans.heads.bounded import bound_inputs, check_bounds
from kerastrans.models.parts.forecast_graph import least_inputs
from kerastrans.utils.validation import (
    check_choice,
    check_positive_integers,
    check_prediction_length,
)
from kerastrans.version import __version__

SHORT = ("refuse", "pad")
MISSING_END = (  # by whether forecasts begin after the last known value
    "a missing value is 0",
    "forecasts begin after the last known value of the history; those of the last steps, as many "
    "as are missing at its end, are NaN",
)


@dataclass(frozen=True)
class Forecast:
    """A model's forecast as a function of tensors, and the metadata of an exported file.

    Attributes:
        function: Function from the tensors of the inputs, in their order, to a dict of outputs.
        inputs: Dict of name -> `Input`.
        batch_size: int, number of windows in a call; None for any number.
        metadata: Dict that JSON can hold.
        loops: bool, whether the model decodes step by step.
    """

    function: callable
    inputs: dict
    batch_size: int | None
    metadata: dict
    loops: bool

    @property
    def texts(self):
        """Dict of the inputs that are codes of texts -> tuple of the texts, see `Input`."""
        return {name: x.texts for name, x in self.inputs.items() if x.texts is not None}

    @property
    def signature(self):
        """List of named `tf.TensorSpec`, one per input."""
        import tensorflow as tf

        return [
            tf.TensorSpec((self.batch_size, *x.shape), x.dtype, name=name)
            for name, x in self.inputs.items()
        ]

    def description(self, takes_texts=True):
        """Return the metadata of a file that takes texts, or their codes, as JSON."""
        inputs = dict(self.metadata["inputs"])
        for name in self.texts if takes_texts else ():
            inputs[name] = ["string", *inputs[name][1:]]
        return json.dumps({**self.metadata, "inputs": inputs}, default=str)


def forecast_of(
    model,
    *,
    scaler=None,
    fill=None,
    bounds=None,
    short="refuse",
    prediction_length=None,
    context_length=None,
    metadata=None,
    encodings=None,
    num_samples=100,
    seed=0,
    batch_size=None,
    backends=("tensorflow",),
):
    """Return the `Forecast` of a model, after checks of everything that cannot be exported.

    Args:
        model: Keras model, see `export_savedmodel`.
        scaler: See `export_savedmodel`.
        fill: See `export_savedmodel`.
        bounds: See `export_savedmodel`.
        short: See `export_savedmodel`.
        prediction_length: See `export_savedmodel`.
        context_length: See `export_savedmodel`.
        metadata: See `export_savedmodel`.
        encodings: See `export_savedmodel`.
        num_samples: See `export_savedmodel`.
        seed: See `export_savedmodel`.
        batch_size: int, number of windows in a call; None for any number.
        backends: Names of the backends that the format is written on.

    Raises:
        RuntimeError: If Keras runs on another backend.
        ValueError: See `export_savedmodel`.
    """
    check_backend(backends)
    model = _functional(model)
    history, *others = inputs_of(model)
    if context_length is not None:
        history = _of_length(model, history, context_length)
    _check_shapes(model, history)
    decodes = is_autoregressive(model)
    if prediction_length is None and not decodes:
        prediction_length = model.output_shape[1]
    check_positive_integers(prediction_length=prediction_length, num_samples=num_samples)
    check_choice("short", short, SHORT)
    if batch_size is not None:
        check_positive_integers(batch_size=batch_size)
    others = others[:-1] if decodes else others
    head, bounds, encodings = heads.of(model), check_bounds(bounds), encodings or Encodings()
    draws = decodes and hasattr(head, "draw")
    sampler = AncestralSampler.of(model, seed) if draws else FeedBack()
    head = heads.Samples(head) if draws else head
    widths = encodings.widths
    _check_options(model, history, head, scaler, bounds, widths)
    if decodes:
        predict = _decoding(model, history, prediction_length, sampler, num_samples if draws else 1)
    else:
        predict = _direct(model, prediction_length)
    predict = unscaled(predict, model, head, scaler, takes_missing(model), fill)
    encoder = _encoder_of(model, history, others, encodings, prediction_length)
    columns = dict.fromkeys(bound_inputs(bounds), Input((prediction_length, 1)))
    inputs = {**encoder.inputs, **columns}
    # Each channel has its own end if its forecast depends on nothing but its own history.
    timed = [name for name, x in inputs.items() if x.length is not None or name == "position"]
    is_shared = encodings.mixes_channels or len(timed) > 1 or bool(columns or encoder.calendar)
    moves = fill != "zero"
    program = _Program(predict, encoder, head, widths, bounds, inputs, short, is_shared, moves)
    facts = describe(model, head, inputs, prediction_length)
    facts |= {"context_length": history.shape[1], "short": short, "missing_end": MISSING_END[moves]}
    facts |= {} if bounds is None else {"bounds": list(bounds)}
    metadata = _merged(facts | encoder.describe(), metadata or {})
    return Forecast(program.run, inputs, batch_size, metadata, decodes)


@dataclass(eq=False)
class _Program:
    """The steps of a file.

    Attributes:
        predict: Function from encoded inputs to the parameters of the forecast and its scale.
        encoder: `Encoder` of the inputs.
        head: Head of the forecast, or `Samples`.
        widths: Widths of the conformal intervals, or None.
        bounds: Pair of numbers or names of columns, or None.
        inputs: Dict of name -> `Input`.
        short: "refuse" or "pad", what short histories are.
        is_shared: bool, whether all channels end at the same step.
        moves: bool, whether forecasts begin after the last known value.
    """

    predict: callable
    encoder: Encoder
    head: heads.Head
    widths: object
    bounds: tuple | None
    inputs: dict
    short: str
    is_shared: bool
    moves: bool

    def run(self, *tensors):
        """Return the outputs of the file from its inputs, in their order."""
        given = dict(zip(self.inputs, tensors, strict=True))
        read = {name: x.length for name, x in self.inputs.items() if x.length is not None}
        whole = {name: given[name] for name in read}
        given |= {name: last_steps(x, read[name], self.short) for name, x in whole.items()}
        seen, gaps = given["history"], None
        if self.moves:
            gaps = count_missing_ends(seen, self.is_shared, ops)
            given |= _moved(given, whole, read, gaps, read["history"] - 1)
            for name in bound_inputs(self.bounds):
                given[name] = move_steps(given[name], gaps, self.inputs[name].shape[0], ops)
        encoded, fits = self.encoder(given, gaps)
        parameters, scale = self.predict(encoded)
        limit = functools.partial(within, bounds=self.bounds, inputs=given)
        if isinstance(self.head, heads.Samples):
            parameters = limit({"samples": parameters})["samples"]
        outputs = limit(self.head.outputs(parameters))
        if self.widths is not None:
            outputs |= self.widths.bounds(self.head, parameters, scale, given, limit)
        outputs = masked(outputs, seen, fits)
        if not self.moves:
            return outputs
        return {name: after_missing_ends(x, gaps, ops) for name, x in outputs.items()}


def _check_options(model, history, head, scaler, bounds, widths):
    """Raise ValueError for options that an exported file of this model cannot have."""
    if scaler is not None:
        check_scaler(model, head, scaler, history.shape)
    if bounds is not None:
        check_bounded(head)
    if widths is not None:
        check_head(head)


def _encoder_of(model, history, others, encodings, prediction_length):
    """Return the `Encoder` of the inputs of a model without those that are computed of others."""
    least, missing = least_inputs(model), missing_inputs(model)
    symbols = {"history": history, **{x.name: x for x in others if x.name not in least}}
    return Encoder(encodings, symbols, history.shape[1], prediction_length, missing)


def _moved(given, whole, lengths, gaps, most):
    """Return sequences that end at the last known value, and begin as many steps earlier.

    Args:
        given: Dict of name -> `(batch, steps, columns)`, the last steps of each sequence.
        whole: Dict of name -> `(batch, time, columns)`, each sequence with its earlier steps.
        lengths: Dict of name -> number of the last steps.
        gaps: See `count_missing_ends`.
        most: int, largest number of steps to move.
    """
    moved = {}
    for name, x in whole.items():
        # `most` earlier steps, padded if there are fewer, for the windows to move back over.
        before = last_steps(x, lengths[name] + most, "pad")[:, :most]
        x = ops.concatenate([before, given[name]], axis=1)
        moved[name] = move_steps(x, gaps, most, ops)[:, most:]
    return moved


def _merged(facts, metadata):
    """Return the metadata of a file with those of the user.

    Raises:
        ValueError: If the user's replace a fact that describes the file.
    """
    replaced = sorted(x for x in facts.keys() & metadata.keys() if facts[x] != metadata[x])
    if replaced:
        raise ValueError(f"metadata must not replace {replaced}, which describe the file.")
    return facts | metadata


def _functional(model):
    """Return a model that is functional, or the functional model of a sequential one."""
    if isinstance(model, keras.Sequential) and model.built:
        model = keras.Model(model.inputs, model.outputs, name=model.name)
    if not isinstance(model, keras.Function):
        raise ValueError(
            f"only functional and built sequential models are exported, got {model.name!r} "
            f"({type(model).__name__})."
        )
    return model


def check_backend(backends):
    """Raise RuntimeError unless Keras runs on one of these backends."""
    if keras.backend.backend() not in backends:
        raise RuntimeError(
            f"this format is written by the backend {' or '.join(backends)}, Keras runs on "
            f"{keras.backend.backend()}: save the model as .keras, or the forecaster to a folder, "
            f"and export it in a process with KERAS_BACKEND={backends[0]}. PyTorch writes .pt2 and "
            ".tflite, TensorFlow all other formats."
        )


def _check_shapes(model, history):
    """Raise ValueError for a model whose history or output an exported file cannot have."""
    if "int" in history.dtype:
        raise ValueError(f"only models of numbers are exported, {model.name!r} has tokens.")
    outputs = [tuple(x.shape) for x in model.outputs]
    if len(history.shape) != 3 or len(outputs) != 1 or len(outputs[0]) not in (3, 4):
        raise ValueError(
            "only models of a history (batch, context_length, num_channels) with one output "
            "(batch, prediction_length, num_channels), or one more axis of a head, are exported: "
            f"{model.name!r} maps {tuple(history.shape)} to {', '.join(map(str, outputs))}."
        )
    if None in history.shape[1:]:
        raise ValueError(
            f"only models of one context length are exported, the history of {model.name!r} has "
            f"the shape {tuple(history.shape)}: give the context_length of a decoder-only model."
        )


def _of_length(model, history, context_length):
    """Return the prompt of a decoder-only model with a fixed length."""
    check_positive_integers(context_length=context_length)
    if len(model.inputs) > 1 or history.shape[1] not in (None, context_length):
        raise ValueError(
            f"context_length is for decoder-only models, leave it out: the history of "
            f"{model.name!r} has the shape {tuple(history.shape)}."
        )
    return any_length(history, context_length)


def describe(model, head, inputs, prediction_length):
    """Return the metadata of a model as a dict that JSON can hold.

    Args:
        model: Keras model.
        head: Head of the forecast.
        inputs: Dict of the names of its inputs to objects with a shape without the batch axis and
            a data type.
        prediction_length: int.

    Returns:
        Dict with "model", "context_length", "prediction_length", "num_channels", "inputs",
        "kerastrans" (the version), and the "quantiles" of a quantile head.
    """
    _, context_length, num_channels = history_input(model).shape
    return {
        "model": model.name,
        "context_length": context_length,
        "prediction_length": prediction_length,
        "num_channels": num_channels,
        "inputs": {name: [x.dtype, None, *x.shape] for name, x in inputs.items()},
        "kerastrans": __version__,
        **({"quantiles": head.levels} if isinstance(head, heads.QuantileHead) else {}),
    }


def _decoding(model, history, prediction_length, sampler, num_samples):
    """Return the function that decodes a scaled forecast, or samples, step by step.

    All windows have the same random numbers.
    """
    decoder = cached_decoder(model)
    _, prompt = decoder.split_inputs([history])
    before = prompt.shape[1] // decoder.patch_length - 1
    decoder.check_length(before - prediction_length // -decoder.patch_length)
    num_channels = history.shape[-1]
    widths = decoder.decoder_input.shape[-1], decoder.output.shape[2]
    if widths != (num_channels, num_channels):
        raise ValueError(
            "only a model whose input, decoder and output have one width is exported, got "
            f"{num_channels}, {widths[0]} and {widths[1]} in {model.name!r}."
        )
    others = [x.name for x in decoder.encoder_inputs[1:]]

    def decode(inputs):
        tensors = [inputs["history"], *(inputs[name] for name in others)]
        return decode_fixed(decoder, tensors, prediction_length, sampler, num_samples)

    return decode


def _direct(model, prediction_length):
    """Return the function from a dict of inputs to a scaled forecast."""
    check_prediction_length(model, prediction_length)
    symbol = history_input(model)

    def call(inputs):
        others = dict(inputs)
        history = others.pop("history")
        named = {symbol.name: history, **others}
        return model(named if len(named) > 1 else history, training=False)

    return call


def last_steps(x, length, short):
    """Return the last steps of a tensor.

    Args:
        x: Tensor `(batch, time, size)`, of any time.
        length: int, number of steps to return.
        short: "pad" to put missing values, NaN or the code 0, before fewer steps; "refuse" for an
            error of the runtime.

    Returns:
        Tensor `(batch, length, size)`.

    Example:
        >>> last_steps(ops.convert_to_tensor([[[1.0], [2.0], [3.0]]]), 2, "refuse").shape[1]
        2
    """
    batch, _, size = ops.shape(x)
    missing = np.nan if "float" in str(x.dtype) else 0
    before = ops.full((batch, length, size), missing, dtype=x.dtype)
    padded = ops.concatenate([before, x], axis=1)[:, -length:]
    if short == "refuse":
        # Lengths must agree here. Without this, an exported graph would answer a shorter input.
        padded = ops.concatenate([x[:, -length:], padded[..., :1]], axis=-1)[..., :-1]
    return ops.reshape(padded, (x.shape[0] or -1, length, size))
