"""Autoregressive decoding of any functional encoder-decoder model made of our blocks.

Numbers are fed back as they come, tokens as a sampler chooses them.

The model's own graph is the only description of its wiring. What does not depend on the decoder
input runs once per sequence; the rest runs once per step on the newest value alone, and the
layers that look across time (those with a `decode` method) keep a cache from step to step.
"""

import functools
import weakref

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.decoding.graph import arguments, calls, store
from kerastrans.decoding.samplers import AncestralSampler, FeedBack, GreedySampler
from kerastrans.utils.backend import compile_function
from kerastrans.utils.validation import check_positive_integers, check_valid_lengths

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
    layers.ReversibleEmbedding,
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
    if decoder.output.shape[-1] != decoder.decoder_input.shape[-1]:
        raise ValueError(
            f"generate feeds outputs back as decoder inputs: their widths must agree, got "
            f"{decoder.output.shape[-1]} and {decoder.decoder_input.shape[-1]} in {model.name!r}."
        )
    encoder_inputs = decoder.check_encoder_inputs(encoder_inputs)
    start_token = decoder.make_start_token(encoder_inputs, start_token)
    return decoder.run(encoder_inputs, start_token, num_steps, FeedBack())


def generate_tokens(model, source, source_lengths, num_steps, sampler=None):
    """Generate up to `num_steps` tokens one after the other, each fed back as the next input.

    The whole loop is compiled, and ends as soon as every sequence has ended.

    Args:
        model: functional `keras.Model` `[source, source_lengths, target] -> logits`, such as
            `build_seq2seq_transformer` returns.
        source: integers `(batch, source_steps)`, tokens.
        source_lengths: integers `(batch,)`, how many of them are no padding.
        num_steps: int, the most tokens to generate, the end token among them.
        sampler: `GreedySampler()` (None), `RandomSampler(...)` or `BeamSampler(...)`, which also
            know the numbers of the padding, start and end token.

    Returns:
        NumPy array `(batch, num_steps)`, int32: the tokens, the end token, then padding.

    Raises:
        ValueError: inputs of another shape, tokens that the model does not know, a length of 0
            or past the source's steps, `num_steps` below 1, a model that cannot be decoded step
            by step.
    """
    check_positive_integers(num_steps=num_steps)
    sampler = GreedySampler() if sampler is None else sampler
    decoder = cached_decoder(model)
    source, source_lengths = decoder.check_encoder_inputs([source, source_lengths])
    _check_tokens(source, model.get_layer("source_embedding").input_dim)
    check_valid_lengths(source_lengths, source.shape[1])
    inputs = [np.repeat(x, sampler.width, axis=0) for x in (source, source_lengths)]
    start = np.full((len(inputs[0]), 1), sampler.start_token, "int32")
    return decoder.run(inputs, start, num_steps, sampler)


def generate_samples(model, inputs, num_steps, num_samples=100, seed=0):
    """Sample what may come: at each step a draw from the forecast distribution is fed back.

    All samples of all windows run through one compiled loop.

    Args:
        model: functional `keras.Model` of `history`, perhaps covariates, and decoder inputs, in
            this order, that ends in a distribution of `kerastrans.heads`, such as
            `build_deepar_model(..., head="student_t")` returns.
        inputs: `(batch, context_length, num_channels)`, or a list with one array per input but
            the decoder's.
        num_steps: int, values to sample one after the other.
        num_samples: int, for each window.
        seed: int.

    Returns:
        NumPy array `(batch, num_samples, num_steps, num_channels)`, float32.

    Raises:
        ValueError: inputs of another shape, NaN or infinite values, a size below 1, a model that
            is not autoregressive or has no distribution.
    """
    check_positive_integers(num_steps=num_steps, num_samples=num_samples)
    decoder = cached_decoder(model)
    head = heads.of(model)
    if not hasattr(head, "draw"):
        raise ValueError(f"generate_samples wants a distribution, {model.name!r} ends in a point.")
    arrays = decoder.check_encoder_inputs(inputs)
    repeated = [np.repeat(x, num_samples, axis=0) for x in arrays]
    sampler = AncestralSampler(head, decoder.decoder_input.shape[-1], seed)
    drawn = decoder.run(repeated, repeated[0][:, -1:], num_steps, sampler)
    return drawn.reshape(len(arrays[0]), num_samples, *drawn.shape[1:])


@keras.saving.register_keras_serializable(package="kerastrans")
class AutoregressiveModel(keras.Model):
    """A functional `keras.Model(inputs, outputs)` with a `generate` method."""

    def generate(self, encoder_inputs, num_steps, start_token=None):
        """Same as `kerastrans.generate(model, encoder_inputs, num_steps, start_token)`."""
        return generate(self, encoder_inputs, num_steps, start_token)


@keras.saving.register_keras_serializable(package="kerastrans")
class TokenModel(keras.Model):
    """A functional `keras.Model([source, source_lengths, target], logits)` that generates."""

    def generate(self, source, source_lengths, num_steps, sampler=None):
        """Same as `generate_tokens(model, source, source_lengths, num_steps, sampler)`."""
        return generate_tokens(self, source, source_lengths, num_steps, sampler)


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
        ValueError: the model is not functional, has no decoder input, or holds a layer that
            looks across time and cannot decode.
    """

    def __init__(self, model):
        if not isinstance(model, keras.Function) or len(model.inputs) < 2:
            raise ValueError(
                "generate wants a functional model [encoder_inputs, decoder_inputs] -> outputs, "
                f"got {model.name!r} ({type(model).__name__})."
            )
        *self.encoder_inputs, self.decoder_input = model.inputs
        self.output = model.outputs[0]
        self.encode_nodes, self.step_nodes = self._split(model)
        for node in self.step_nodes:
            _check_decodable(node.operation)
        self.variables = _unique_variables(self.encode_nodes + self.step_nodes)
        self._compiled = {}

    def run(self, encoder_inputs, first, num_steps, sampler):
        """`decode` on NumPy arrays, compiled once per `num_steps` and sampler."""
        self.check_length(num_steps)
        tensors = (*encoder_inputs, first, *sampler.draws(len(first), num_steps))
        decode = self.compiled(num_steps, sampler)
        return ops.convert_to_numpy(decode(*(ops.convert_to_tensor(x) for x in tensors)))

    def compiled(self, num_steps, sampler):
        """`decode` as a compiled function of the encoder inputs, the first and the draws."""
        key = num_steps, sampler
        if key not in self._compiled:
            # A partial has no code of its own, by which TensorFlow would count all loops as one
            # that is traced again and again, and warn.
            decode = functools.partial(self.decode, num_steps=num_steps, sampler=sampler)
            self._compiled[key] = compile_function(decode, self.variables)
        return self._compiled[key]

    def decode(self, *tensors, num_steps, sampler):
        """The loop itself: encoder inputs, first and draws to what the sampler makes of them."""
        count = len(self.encoder_inputs)
        encoder_inputs, (first, *draws) = tensors[:count], tensors[count:]
        known = self._encode(encoder_inputs)
        caches = self._start_caches(known, ops.shape(first)[0], num_steps)

        def is_going_on(index, value, memory, caches):
            return ops.logical_and(index < num_steps, ops.logical_not(sampler.is_finished(memory)))

        def step(index, value, memory, caches):
            outputs, caches = self._step(known, value, caches, index)
            value, memory, rows = sampler.advance(outputs, index, memory)
            if rows is not None:
                caches = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), caches)
            return index + 1, value, memory, caches

        index = ops.convert_to_tensor(0, "int32")
        start = (index, first, sampler.start(first, num_steps, *draws), caches)
        return sampler.result(ops.while_loop(is_going_on, step, start)[2])

    def _split(self, model):
        """The graph's nodes in order: those that do not depend on the decoder input, the rest."""
        encode, step, reached = [], [], {id(self.decoder_input)}
        for node in calls(model):
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
            args, kwargs = arguments(node, known)
            store(node, node.operation(*args, **kwargs), known)
        return known

    def _start_caches(self, known, batch_size, length):
        """One cache per attention layer of the step, in the order of the graph."""
        caches = []
        for node in self.step_nodes:
            if hasattr(node.operation, "start_cache"):
                args, kwargs = arguments(node, known)
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
            args, kwargs = arguments(node, tensors)
            if hasattr(operation, "start_cache"):
                outputs, cache = operation.decode(*args, **kwargs, cache=next(caches), index=index)
                new_caches.append(cache)
            elif hasattr(operation, "decode"):
                outputs = operation.decode(*args, **kwargs, index=index)
            else:
                outputs = operation(*args, **kwargs)
            store(node, outputs, tensors)
        return tensors[id(self.output)], new_caches

    def check_encoder_inputs(self, encoder_inputs):
        """The encoder inputs as NumPy arrays; ValueError for a wrong shape or non-finite value."""
        return check_arrays(encoder_inputs, self.encoder_inputs, "generate", "encoder input(s)")

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


def check_arrays(arrays, symbols, wanted_by, kind):
    """One NumPy array for each of a model's inputs; ValueError for another number or shape."""
    arrays = arrays if isinstance(arrays, list | tuple) else [arrays]
    if len(arrays) != len(symbols):
        raise ValueError(f"{wanted_by} wants {len(symbols)} {kind}, got {len(arrays)}.")
    return [_check_array(array, symbol) for array, symbol in zip(arrays, symbols, strict=True)]


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
    if symbol.dtype.startswith("int") and array.dtype.kind not in "iu":
        raise ValueError(f"{symbol.name} must hold integers, got {array.dtype}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{symbol.name} must be finite, got NaN or infinite values.")
    return array.astype(symbol.dtype, copy=False)


def _check_tokens(tokens, vocabulary_size):
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary_size)]
    if unknown.size:
        raise ValueError(
            f"source holds token {unknown[0]}: the model knows 0 to {vocabulary_size - 1}."
        )


def _unique_variables(nodes):
    """The variables of the nodes' layers, each once: a layer may be called more than once."""
    found = (v for node in nodes for v in getattr(node.operation, "variables", []))
    return list({id(variable): variable for variable in found}.values())
