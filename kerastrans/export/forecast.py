"""The function of every exported file: from raw history to the forecast in its units."""

import json
from dataclasses import dataclass

import keras
from keras import ops

from kerastrans import __version__, heads
from kerastrans.decoding.generation import cached_decoder, is_autoregressive
from kerastrans.decoding.graph import history_input, inputs_of, takes_missing
from kerastrans.decoding.samplers import FeedBack
from kerastrans.export.last_steps import last_steps
from kerastrans.export.scaling import check_bounded, check_scaler, unscaled, within, without_silent
from kerastrans.heads.bounded import bound_inputs, check_bounds
from kerastrans.models.parts.forecast_graph import TYPICAL, typical_inputs
from kerastrans.utils.validation import (
    check_choice,
    check_positive_integers,
    check_prediction_length,
)

SHORT = ("refuse", "pad")


@dataclass(frozen=True)
class Forecast:
    """A model's forecast as a function of tensors, and the metadata of an exported file.

    Attributes:
        function: Function from the tensors of the signature to a dict of outputs.
        signature: List of named `tf.TensorSpec`, one per argument.
        metadata: Dict that JSON can hold.
        loops: bool, whether the model decodes step by step.
    """

    function: callable
    signature: list
    metadata: dict
    loops: bool

    @property
    def description(self):
        """The metadata as JSON."""
        return json.dumps(self.metadata, default=str)


def forecast_of(
    model,
    *,
    scaler=None,
    fill=None,
    bounds=None,
    short="refuse",
    prediction_length=None,
    metadata=None,
    batch_size=None,
):
    """Return the `Forecast` of a model, after checks of everything that cannot be exported.

    Args:
        model: Keras model, see `export_savedmodel`.
        scaler: See `export_savedmodel`.
        fill: See `export_savedmodel`.
        bounds: See `export_savedmodel`.
        short: See `export_savedmodel`.
        prediction_length: See `export_savedmodel`.
        metadata: See `export_savedmodel`.
        batch_size: int, number of windows in a call; None for any number.

    Raises:
        RuntimeError: If Keras does not run on TensorFlow.
        ValueError: See `export_savedmodel`.
    """
    decodes = is_autoregressive(model)
    if prediction_length is None and not decodes:
        prediction_length = model.output_shape[1]
    check_positive_integers(prediction_length=prediction_length)
    check_choice("short", short, SHORT)
    if batch_size is not None:
        check_positive_integers(batch_size=batch_size)
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            f"models are exported by the TensorFlow backend, Keras runs on "
            f"{keras.backend.backend()}: save the model as .keras, or the forecaster to a folder, "
            "and export it in a process with KERAS_BACKEND=tensorflow."
        )
    import tensorflow as tf

    history, *further = inputs_of(model)
    _check_history(model, history)
    head = heads.of(model)
    if scaler is not None:
        check_scaler(model, head, scaler, history.shape[-1])
    predict = (_decoding if decodes else _direct)(model, prediction_length)
    predict = unscaled(predict, model, head, scaler, takes_missing(model), fill)
    symbols = {"history": history}
    if not decodes:
        symbols |= {x.name: x for x in further if not x.name.startswith(TYPICAL)}
    lengths = _lengths(symbols, prediction_length)
    signature = [
        tf.TensorSpec((batch_size, *_free(x.shape[1:], name in lengths)), x.dtype, name=name)
        for name, x in symbols.items()
    ]
    signature += [
        tf.TensorSpec((batch_size, prediction_length, 1), "float32", name=name)
        for name in bound_inputs(bounds)
    ]
    specs = {spec.name: spec for spec in signature}
    facts = {**describe(model, specs, prediction_length), "short": short}
    bounds = check_bounds(bounds)
    if bounds is not None:
        check_bounded(head)
        facts["bounds"] = list(bounds)

    def function(*tensors):
        inputs = dict(zip(specs, tensors, strict=True))
        for name, length in lengths.items():
            inputs[name] = last_steps(inputs[name], length, short)
        parameters, _ = predict({name: inputs[name] for name in symbols})
        outputs = within(head.outputs(parameters), bounds, inputs)
        return without_silent(outputs, inputs["history"])

    return Forecast(function, signature, {**facts, **(metadata or {})}, decodes)


def _lengths(symbols, prediction_length):
    """Return the number of steps that are read of each input with a time axis."""
    context_length = symbols["history"].shape[1]
    lengths = {
        "history": context_length,
        "past_covariates": context_length,
        "future_covariates": context_length + prediction_length,
    }
    return {name: length for name, length in lengths.items() if name in symbols}


def _free(shape, has_time):
    """Return a shape without a batch axis, whose time axis, if it has one, has any length."""
    return (None, *shape[1:]) if has_time else shape


def _check_history(model, history):
    """Raise ValueError for a model whose history an exported file cannot take."""
    if "int" in history.dtype:
        raise ValueError(f"only models of numbers are exported, {model.name!r} has tokens.")
    if None in history.shape[1:]:
        raise ValueError(
            f"only models of one context length are exported, the history of {model.name!r} has "
            f"the shape {tuple(history.shape)}."
        )


def describe(model, inputs, prediction_length):
    """Return the metadata of a model as a dict that JSON can hold.

    Args:
        model: Keras model.
        inputs: Dict of the names of its inputs to their tensors or specs; "history" is one of them.
        prediction_length: int.

    Returns:
        Dict with "model", "context_length", "prediction_length", "num_channels", "inputs",
        "kerastrans" (the version), and the "quantiles" of a quantile head.
    """
    head = heads.of(model)
    _, context_length, num_channels = history_input(model).shape
    return {
        "model": model.name,
        "context_length": context_length,
        "prediction_length": prediction_length,
        "num_channels": num_channels,
        "inputs": {name: [_dtype(x), *x.shape] for name, x in inputs.items()},
        "kerastrans": __version__,
        **({"quantiles": head.levels} if isinstance(head, heads.QuantileHead) else {}),
    }


def _dtype(x):
    """Return the name of the data type of a Keras tensor or a `tf.TensorSpec`."""
    return getattr(x.dtype, "name", x.dtype)


def _decoding(model, prediction_length):
    """Return the function that decodes a scaled forecast step by step."""
    decoder = cached_decoder(model)
    decoder.check_length(prediction_length)
    num_channels = model.inputs[0].shape[-1]
    widths = decoder.decoder_input.shape[-1], decoder.output.shape[-1]
    if widths != (num_channels, num_channels):
        raise ValueError(
            "only a model whose input, decoder and output have one width is exported, got "
            f"{num_channels}, {widths[0]} and {widths[1]} in {model.name!r}."
        )
    loop = {"num_steps": prediction_length, "sampler": FeedBack()}

    def decode(inputs):
        history = inputs["history"]
        return decoder.decode(history, history[:, -1:], **loop)

    return decode


def _direct(model, prediction_length):
    """Return the function from a dict of inputs to a scaled forecast.

    A file does not know the series of a window: the inputs for typical scales are 0, unknown.
    """
    check_prediction_length(model, prediction_length)
    symbol, typical = history_input(model), typical_inputs(model)

    def call(inputs):
        others = dict(inputs)
        history = others.pop("history")
        named = {symbol.name: history, **others}
        named |= dict.fromkeys(typical, ops.zeros_like(history[:, :1]))
        return model(named if len(named) > 1 else history, training=False)

    return call
