"""What every exported file computes: from raw history to the forecast in the series' units."""

import json
from dataclasses import dataclass

import keras

from kerastrans import __version__, heads
from kerastrans.decoding.generation import cached_decoder, is_autoregressive
from kerastrans.decoding.graph import inputs_of, takes_missing
from kerastrans.decoding.samplers import FeedBack
from kerastrans.export.scaling import check_scaler, unscaled, within, without_typical
from kerastrans.heads.bounded import bound_inputs, check_bounds
from kerastrans.models.parts.forecast_graph import TYPICAL
from kerastrans.utils.validation import check_positive_integers, check_prediction_length


@dataclass(frozen=True)
class Forecast:
    """A model's forecast as a function of tensors, with all that an exported file says of itself.

    Attributes:
        function: from raw history, and the model's further inputs, to a dict of outputs.
        signature: list of `tf.TensorSpec`, of the arguments, with their names.
        metadata: dict, of what JSON holds.
        loops: bool, whether it decodes step by step.
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
    prediction_length=None,
    metadata=None,
    batch_size=None,
):
    """The `Forecast` of a model, checked: what cannot be exported is refused before it is traced.

    Args:
        model: Keras model, see `export_savedmodel`.
        scaler: see `export_savedmodel`.
        fill: see `export_savedmodel`.
        bounds: see `export_savedmodel`.
        prediction_length: int, see `export_savedmodel`.
        metadata: dict, see `export_savedmodel`.
        batch_size: int, of every input and output; None for any.

    Raises:
        RuntimeError: Keras does not run on TensorFlow.
        ValueError: see `export_savedmodel`.
    """
    decodes = is_autoregressive(model)
    if prediction_length is None and not decodes:
        prediction_length = model.output_shape[1]
    check_positive_integers(prediction_length=prediction_length)
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
    inputs = {"history": history}
    if not decodes:
        inputs |= {x.name: x for x in further if not x.name.startswith(TYPICAL)}
    signature = [
        tf.TensorSpec((batch_size, *tensor.shape[1:]), tensor.dtype, name=name)
        for name, tensor in inputs.items()
    ]
    facts = describe(model, inputs, prediction_length)
    function = unscaled(predict, model, head, scaler, takes_missing(model), fill)
    bounds = check_bounds(bounds)
    if bounds is not None:
        function, facts["bounds"] = within(function, head, bounds), list(bounds)
        for name in bound_inputs(bounds):
            spec = tf.TensorSpec((batch_size, prediction_length, 1), "float32", name=name)
            signature.append(spec)
            facts["inputs"][name] = ["float32", None, prediction_length, 1]
    return Forecast(function, signature, {**facts, **(metadata or {})}, decodes)


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
    """What a served model says of itself: a dict of what JSON holds.

    Args:
        model: Keras model.
        inputs: dict of its inputs' names to their KerasTensors; "history" is among them.
        prediction_length: int.

    Returns:
        Dict with "model", "context_length", "prediction_length", "num_channels", "inputs",
        "kerastrans" (the version), and a quantile head's "quantiles".
    """
    head = heads.of(model)
    _, context_length, num_channels = inputs["history"].shape
    return {
        "model": model.name,
        "context_length": context_length,
        "prediction_length": prediction_length,
        "num_channels": num_channels,
        "inputs": {name: [tensor.dtype, *tensor.shape] for name, tensor in inputs.items()},
        "kerastrans": __version__,
        **({"quantiles": head.levels} if isinstance(head, heads.QuantileHead) else {}),
    }


def _decoding(model, prediction_length):
    """From scaled history to a scaled forecast, step by step from the last observed value."""
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
    return lambda history: decoder.decode(history, history[:, -1:], **loop)


def _direct(model, prediction_length):
    """From scaled history, and what else the model takes, to its scaled forecast."""
    check_prediction_length(model, prediction_length)
    call, names = without_typical(model, lambda inputs: _call(model, inputs))
    names = sorted(names, key=lambda name: name != "history")
    return lambda *tensors: call(dict(zip(names, tensors, strict=True)))


def _call(model, inputs):
    """Call a model on a dict of its inputs, or on the only one of them."""
    if len(inputs) == 1:
        (inputs,) = inputs.values()
    return model(inputs, training=False)
