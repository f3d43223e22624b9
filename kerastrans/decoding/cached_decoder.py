"""Decoder that runs the encoding part of a functional model once and the rest step by step."""

import functools
import weakref

import keras
import numpy as np
from keras import ops

from kerastrans.decoding.contract import check_steps, defines_method, time_axes
from kerastrans.decoding.graph import (
    fill_arguments,
    history_input,
    split_calls,
    store_outputs,
    takes_missing,
)
from kerastrans.decoding.inputs import check_arrays
from kerastrans.utils.backend import compile_function

MAX_LOOPS = 16  # number of compiled loops kept for each model

_decoders = weakref.WeakKeyDictionary()  # model -> CachedDecoder with its compiled functions


def cached_decoder(model):
    """Return the `CachedDecoder` of `model`, creating it on first use."""
    if model not in _decoders:
        _decoders[model] = CachedDecoder(model)
    return _decoders[model]


def round_up_steps(num_steps):
    """Round the number of steps up to the next size of a compiled loop.

    The result is at most a quarter larger. There are four sizes between two powers of two, so all
    lengths up to n need 4 log2(n) loops.

    Example:
        >>> [round_up_steps(n) for n in (3, 8, 9, 24, 33, 96, 336)]
        [3, 8, 10, 24, 40, 96, 384]
    """
    unit = max(1, 2 ** ((num_steps - 1).bit_length() - 3))
    return -(-num_steps // unit) * unit


class CachedDecoder:
    """Splits a functional model into an encoding that runs once and a step that is repeated.

    Args:
        model: Functional `keras.Model` whose last input is the decoder's. See
            `kerastrans.decoding.contract` for the requirements on its layers.

    Raises:
        ValueError: If the model is not functional, has no decoder input, or contains a layer that
            cannot be decoded step by step.
    """

    def __init__(self, model):
        if not isinstance(model, keras.Function) or len(model.inputs) < 2:
            raise ValueError(
                "generate requires a functional model [encoder_inputs, decoder_inputs] -> outputs, "
                f"got {model.name!r} ({type(model).__name__})."
            )
        *self.encoder_inputs, self.decoder_input = model.inputs
        self.with_missing = history_input(model) if takes_missing(model) else None
        self.output = model.outputs[0]
        self.encode_nodes, self.step_nodes = split_calls(model)
        axes, self._reads_ahead = check_steps(model, self.step_nodes)
        if axes.get(id(self.output)) != 1:
            raise ValueError(
                "generate requires outputs (batch, time, ...) that depend on the decoder's input, "
                f"got {self.output.shape} in {model.name!r}."
            )
        self._time_axes = {
            id(node): time_axes(node, axes)
            for node in self.step_nodes
            if defines_method(node.operation, "start_cache")
        }
        self.variables = _unique_variables(self.encode_nodes + self.step_nodes)
        self._compiled = {}

    def run(self, encoder_inputs, first, num_steps, sampler):
        """Call `decode` on NumPy arrays, in a loop compiled once for a range of lengths."""
        self.check_length(num_steps)
        room = num_steps if self._reads_ahead else round_up_steps(num_steps)
        draws = [_pad_draws(x, room) for x in sampler.draws(len(first), num_steps)]
        tensors = (np.int32(num_steps), *encoder_inputs, first, *draws)
        decode = self.compiled(room, sampler)
        outputs = decode(*(ops.convert_to_tensor(x) for x in tensors))
        return ops.convert_to_numpy(outputs)[:, :num_steps]

    def compiled(self, room, sampler):
        """Return `decode` as a compiled function of the number of steps and the tensors.

        The `MAX_LOOPS` most recently used loops are kept.
        """
        key = room, sampler
        loop = self._compiled.pop(key, None)
        if loop is None:
            # Each loop is a partial. TensorFlow counts traces per code object, and would take the
            # loops for one function that is traced again and again, and warn.
            decode = functools.partial(_decode_steps, self, room=room, sampler=sampler)
            loop = compile_function(decode, self.variables)
        self._compiled[key] = loop
        if len(self._compiled) > MAX_LOOPS:
            del self._compiled[next(iter(self._compiled))]
        return loop

    def decode(self, *tensors, num_steps, sampler, room=None):
        """Run the loop and return the result of the sampler.

        Args:
            *tensors: One tensor per encoder input, the first decoder input, and the sampler's
                random numbers.
            num_steps: int, number of steps; a scalar tensor if `room` is given.
            sampler: Sampler, see `kerastrans.decoding.samplers`.
            room: int, number of steps that the caches can hold; `num_steps` by default.
        """
        room = num_steps if room is None else room
        count = len(self.encoder_inputs)
        encoder_inputs, (first, *draws) = tensors[:count], tensors[count:]
        encoded = self._encode(encoder_inputs)
        caches = self._start_caches(encoded, ops.shape(first)[0], room)

        def has_next_step(index, value, memory, caches):
            return ops.logical_and(index < num_steps, ops.logical_not(sampler.is_finished(memory)))

        def step(index, value, memory, caches):
            outputs, caches = self._step(encoded, value, caches, index)
            value, memory, rows = sampler.advance(outputs, index, memory)
            if rows is not None:
                caches = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), caches)
            return index + 1, value, memory, caches

        index = ops.convert_to_tensor(0, "int32")
        state = (index, first, sampler.start(first, room, *draws), caches)
        return sampler.result(ops.while_loop(has_next_step, step, state)[2])

    def _encode(self, encoder_inputs):
        """Return all tensors that do not change between steps, by the id of their KerasTensor."""
        tensors = dict(zip(map(id, self.encoder_inputs), encoder_inputs, strict=True))
        for node in self.encode_nodes:
            args, kwargs = fill_arguments(node, tensors)
            store_outputs(node, node.operation(*args, **kwargs), tensors)
        return tensors

    def _start_caches(self, encoded, batch_size, length):
        """Return one cache for each layer of the step that has one, in the order of the graph."""
        caches = []
        for node in self.step_nodes:
            if id(node) in self._time_axes:
                args, kwargs = fill_arguments(node, encoded)
                sizes = {"batch_size": batch_size, "length": length}
                caches.append(node.operation.start_cache(*args, **kwargs, **sizes))
        return caches

    def _step(self, encoded, value, caches, index):
        """Run the newest value `(batch, 1, width)` through the decoder.

        Returns:
            Tuple of the outputs and the updated caches.
        """
        tensors = {**encoded, id(self.decoder_input): value}
        caches, new_caches = iter(caches), []
        for node in self.step_nodes:
            operation = node.operation
            args, kwargs = fill_arguments(node, tensors)
            if id(node) in self._time_axes:
                state = {"cache": next(caches), "time_axes": self._time_axes[id(node)]}
                outputs, cache = operation.decode(*args, **kwargs, **state, index=index)
                new_caches.append(cache)
            elif hasattr(operation, "decode"):
                outputs = operation.decode(*args, **kwargs, index=index)
            else:
                outputs = operation(*args, **kwargs)
            store_outputs(node, outputs, tensors)
        return tensors[id(self.output)], new_caches

    def check_inputs(self, arrays, caller):
        """Return the encoder inputs as NumPy arrays; raise ValueError if any is invalid."""
        return check_arrays(
            arrays, self.encoder_inputs, caller, "encoder input(s)", self.with_missing
        )

    def check_length(self, num_steps):
        """Raise ValueError if `num_steps` exceeds the length of a positional encoding."""
        for node in self.step_nodes:
            if hasattr(node.operation, "check_length"):
                node.operation.check_length(num_steps)


def _decode_steps(decoder, num_steps, *tensors, room, sampler):
    """Call `decoder.decode` with the number of steps as a positional argument."""
    return decoder.decode(*tensors, num_steps=num_steps, sampler=sampler, room=room)


def _pad_draws(draws, room):
    """Pad draws `(rows, num_steps, ...)` with zeros, which are never used, to `room` steps."""
    missing = room - draws.shape[1]
    return np.pad(draws, [(0, 0), (0, missing)] + [(0, 0)] * (draws.ndim - 2))


def _unique_variables(nodes):
    """Return the variables of the nodes' layers, each once even if a layer is called repeatedly."""
    variables = (v for node in nodes for v in getattr(node.operation, "variables", []))
    return list({id(variable): variable for variable in variables}.values())
