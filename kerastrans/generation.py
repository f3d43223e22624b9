"""Autoregressive decoding of any functional encoder-decoder model made of our blocks.

The model's own graph is the only description of its wiring. What does not depend on the decoder
input runs once per sequence; the rest runs once per step on the newest value alone, and the
layers that look across time (those with a `decode` method) keep a cache from step to step.
"""

import weakref

import keras
import numpy as np
from keras import layers, ops

from kerastrans.backend import compile_function
from kerastrans.validation import check_positive_integers

# What treats every time step alike, and so serves one step as well as many.
POSITION_WISE_LAYERS = (
    layers.Activation,
    layers.Add,
    layers.Dense,
    layers.Dropout,
    layers.Embedding,
    layers.GaussianNoise,
    layers.Identity,
    layers.LayerNormalization,
    layers.Multiply,
    layers.RMSNormalization,
    layers.Subtract,
)
POSITION_WISE_OPS = {"Add", "Cast", "Divide", "Multiply", "Negative", "Subtract", "TrueDivide"}

_decoders = weakref.WeakKeyDictionary()  # model -> CachedDecoder, compiled functions and all


def generate(model, encoder_inputs, num_steps, start_token=None):
    """Generate `num_steps` values one after the other, each fed back as the next input.

    The whole loop is compiled, once per shape of the inputs and `num_steps`, and later calls
    reuse it. It equals feeding the growing sequence to the model step by step.

    Args:
        model: functional `keras.Model` `[encoder_inputs, decoder_inputs] -> outputs` made of
            kerastrans blocks and position-wise Keras layers, such as `build_transformer_model`
            returns; outputs are as wide as decoder inputs. Further inputs of the encoder stand
            before the decoder's.
        encoder_inputs: `(batch, context_length, num_channels)`, or a list with one array per
            encoder input.
        num_steps: int, number of values to generate. Sinusoidal positional encodings go on
            past the length seen in training; learnt ones refuse.
        start_token: what the decoder sees first: a number, or an array that broadcasts to
            `(batch, 1, output_dim)`. None: the last observed value,
            `encoder_inputs[:, -1:, :]`. The copy task of the lesson starts from 0.

    Returns:
        NumPy array `(batch, num_steps, output_dim)`, float32.

    Raises:
        ValueError: inputs of another shape, NaN or infinite values, `num_steps` below 1 or past
            a learnt positional range, a model that cannot be decoded step by step.
    """
    check_positive_integers(num_steps=num_steps)
    decoder = cached_decoder(model)
    decoder.check_length(num_steps)
    encoder_inputs = decoder.check_encoder_inputs(encoder_inputs)
    start_token = decoder.make_start_token(encoder_inputs, start_token)
    decode = decoder.compiled(num_steps)
    tensors = [ops.convert_to_tensor(x) for x in (*encoder_inputs, start_token)]
    return ops.convert_to_numpy(decode(*tensors))


@keras.saving.register_keras_serializable(package="kerastrans")
class AutoregressiveModel(keras.Model):
    """A functional `keras.Model(inputs, outputs)` with a `generate` method."""

    def generate(self, encoder_inputs, num_steps, start_token=None):
        """Same as `kerastrans.generate(model, encoder_inputs, num_steps, start_token)`."""
        return generate(self, encoder_inputs, num_steps, start_token)


def is_autoregressive(model):
    """Whether a model decodes step by step: its last input, the decoder's, has any length."""
    return len(model.inputs) > 1 and model.inputs[-1].shape[1:2] == (None,)


def cached_decoder(model):
    """The `CachedDecoder` of `model`, made on first use."""
    if model not in _decoders:
        _decoders[model] = CachedDecoder(model)
    return _decoders[model]


class CachedDecoder:
    """Reads a functional model's graph as an encoding that runs once and a step that repeats.

    Args:
        model: see `generate`.

    Raises:
        ValueError: the model is not functional, has no decoder input, feeds back another width
            than it puts out, or holds a layer that looks across time and cannot decode.
    """

    def __init__(self, model):
        if not isinstance(model, keras.Function) or len(model.inputs) < 2:
            raise ValueError(
                "generate wants a functional model [encoder_inputs, decoder_inputs] -> outputs, "
                f"got {model.name!r} ({type(model).__name__})."
            )
        *self.encoder_inputs, self.decoder_input = model.inputs
        self.output = model.outputs[0]
        if self.output.shape[-1] != self.decoder_input.shape[-1]:
            raise ValueError(
                f"generate feeds outputs back as decoder inputs: their widths must agree, got "
                f"{self.output.shape[-1]} and {self.decoder_input.shape[-1]} in {model.name!r}."
            )
        self.encode_nodes, self.step_nodes = self._split(model)
        for node in self.step_nodes:
            _check_decodable(node.operation)
        self.variables = _unique_variables(self.encode_nodes + self.step_nodes)
        self._compiled = {}

    def compiled(self, num_steps):
        """`decode` for `num_steps`, compiled: `(*encoder_inputs, start_token) -> outputs`."""
        if num_steps not in self._compiled:

            def decode(*tensors):
                return self.decode(tensors[:-1], tensors[-1], num_steps)

            self._compiled[num_steps] = compile_function(decode, self.variables)
        return self._compiled[num_steps]

    def decode(self, encoder_inputs, start_token, num_steps):
        """The loop itself, on tensors: returns `(batch, num_steps, output_dim)`."""
        known = self._encode(encoder_inputs)
        batch_size, _, output_dim = ops.shape(start_token)
        caches = self._start_caches(known, batch_size, num_steps)
        outputs = ops.zeros((batch_size, num_steps, output_dim), start_token.dtype)

        def step(index, state):
            value, outputs, caches = state
            value, caches = self._step(known, value, caches, index)
            value = ops.cast(value, outputs.dtype)
            return value, ops.slice_update(outputs, (0, index, 0), value), caches

        return ops.fori_loop(0, num_steps, step, (start_token, outputs, caches))[1]

    def _split(self, model):
        """The graph's nodes in order: those that do not depend on the decoder input, the rest."""
        # Keras has no public view of a functional graph's calls; Function.call reads the same.
        nodes = [
            node
            for depth in sorted(model._nodes_by_depth, reverse=True)
            for node in model._nodes_by_depth[depth]
            if not node.is_input
        ]
        encode, step, reached = [], [], {id(self.decoder_input)}
        for node in nodes:
            if any(id(tensor) in reached for tensor in node.input_tensors):
                step.append(node)
                reached.update(id(tensor) for tensor in node.outputs)
            else:
                encode.append(node)
        return encode, step

    def _encode(self, encoder_inputs):
        """All tensors that stay the same from step to step, by the id of their KerasTensor."""
        known = {
            id(symbol): tensor
            for symbol, tensor in zip(self.encoder_inputs, encoder_inputs, strict=True)
        }
        for node in self.encode_nodes:
            args, kwargs = _arguments(node, known)
            _store(node, node.operation(*args, **kwargs), known)
        return known

    def _start_caches(self, known, batch_size, length):
        """One cache per attention layer of the step, in the order of the graph."""
        caches = []
        for node in self.step_nodes:
            if hasattr(node.operation, "start_cache"):
                args, kwargs = _arguments(node, known)
                caches.append(
                    node.operation.start_cache(
                        *args, **kwargs, batch_size=batch_size, length=length
                    )
                )
        return caches

    def _step(self, known, value, caches, index):
        """The newest value `(batch, 1, width)` through the decoder, and the caches it leaves."""
        tensors = {**known, id(self.decoder_input): value}
        caches, new_caches = iter(caches), []
        for node in self.step_nodes:
            operation = node.operation
            args, kwargs = _arguments(node, tensors)
            if hasattr(operation, "start_cache"):
                outputs, cache = operation.decode(*args, **kwargs, cache=next(caches), index=index)
                new_caches.append(cache)
            elif hasattr(operation, "decode"):
                outputs = operation.decode(*args, **kwargs, index=index)
            else:
                outputs = operation(*args, **kwargs)
            _store(node, outputs, tensors)
        return tensors[id(self.output)], new_caches

    def check_encoder_inputs(self, encoder_inputs):
        """The encoder inputs as NumPy arrays; ValueError for a wrong shape or non-finite value."""
        arrays = encoder_inputs if isinstance(encoder_inputs, list | tuple) else [encoder_inputs]
        if len(arrays) != len(self.encoder_inputs):
            raise ValueError(
                f"generate wants {len(self.encoder_inputs)} encoder input(s), got {len(arrays)}."
            )
        return [
            _check_array(array, symbol)
            for array, symbol in zip(arrays, self.encoder_inputs, strict=True)
        ]

    def make_start_token(self, encoder_inputs, start_token):
        """What the decoder sees first, `(batch, 1, output_dim)`; see `generate`."""
        shape = (len(encoder_inputs[0]), 1, self.decoder_input.shape[-1])
        if start_token is None:
            start_token = encoder_inputs[0][:, -1:, :]
        token = np.asarray(start_token, self.decoder_input.dtype)
        try:
            return np.broadcast_to(token, shape)
        except ValueError:
            raise ValueError(
                f"start_token must broadcast to (batch, 1, output_dim) = {shape}, "
                f"got shape {token.shape}."
            ) from None

    def check_length(self, num_steps):
        """ValueError where `num_steps` is past what a positional encoding holds."""
        for node in self.step_nodes:
            if hasattr(node.operation, "check_length"):
                node.operation.check_length(num_steps)


def _check_decodable(operation):
    if isinstance(operation, keras.layers.Layer):
        axis = getattr(operation, "axis", -1)
        decodable = hasattr(operation, "decode") or (
            isinstance(operation, POSITION_WISE_LAYERS) and axis in (-1, 2, [-1], [2])
        )
    else:
        decodable = type(operation).__name__ in POSITION_WISE_OPS
    if not decodable:
        raise ValueError(
            f"generate cannot decode {operation.name!r} ({type(operation).__name__}) step by step: "
            "behind the decoder input it wants kerastrans layers and position-wise Keras layers."
        )


def _check_array(array, symbol):
    array = np.asarray(array)
    wanted = symbol.shape
    fits = array.ndim == len(wanted) and all(
        want in (None, given) for want, given in zip(wanted, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{symbol.name} must have shape {wanted} (None = any), got {array.shape}.")
    if 0 in array.shape:
        raise ValueError(f"{symbol.name} must not be empty, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{symbol.name} must be finite, got NaN or infinite values.")
    return array.astype(symbol.dtype, copy=False)


def _arguments(node, tensors):
    """The node's call arguments, its KerasTensors replaced by their tensors (None: not known)."""

    def fill_in(x):
        return tensors.get(id(x)) if isinstance(x, keras.KerasTensor) else x

    return keras.tree.map_structure(fill_in, (node.arguments.args, node.arguments.kwargs))


def _store(node, outputs, tensors):
    flat = keras.tree.flatten(outputs)
    tensors.update(zip((id(x) for x in node.outputs), flat, strict=True))


def _unique_variables(nodes):
    """The variables of the nodes' layers, each once: a layer may be called more than once."""
    found = (v for node in nodes for v in getattr(node.operation, "variables", []))
    return list({id(variable): variable for variable in found}.values())
