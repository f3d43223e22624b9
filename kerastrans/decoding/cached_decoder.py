"""Decoder that runs the encoding part of a functional model once and the rest step by step."""

import functools
import weakref

import keras
import numpy as np
from keras import ops

from kerastrans.decoding.contract import (
    batch_factors,
    check_steps,
    defines_method,
    patch_length_of,
    time_axes,
)
from kerastrans.decoding.graph import (
    check_arrays,
    fill_arguments,
    history_input,
    run_calls,
    split_calls,
    store_outputs,
    takes_missing,
)
from kerastrans.layers.attention.copies import Copies
from kerastrans.layers.masks import implicit_masks, pass_mask
from kerastrans.utils.compilation import compile_function, record_function
from kerastrans.utils.keras_internals import mask_of, set_mask

MAX_LOOPS = 16  # number of compiled loops kept for each model

_decoders = weakref.WeakKeyDictionary()  # model -> CachedDecoder with its compiled functions


def cached_decoder(model):
    """Return the `CachedDecoder` of `model`, created on first use and if it has other variables.

    `enable_lora` and `quantize` of Keras add and replace variables, which a compiled loop lacks.
    """
    decoder = _decoders.get(model)
    if decoder is None or not decoder.has_all_variables():
        decoder = _decoders[model] = CachedDecoder(model)
    return decoder


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
        self.patch_length = patch_length_of(model)
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
        self._batch_factors = batch_factors(model, self.step_nodes)
        self.variables = _unique_variables(self.encode_nodes + self.step_nodes)
        self._read = {id(x): x for node in self.step_nodes for x in node.input_tensors}
        self._compiled = {}
        self.recorded_advance = record_function(self._advance, self.variables)

    def has_all_variables(self):
        """Return whether the layers have the same variables as when the decoder was created."""
        variables = _unique_variables(self.encode_nodes + self.step_nodes)
        return list(map(id, variables)) == list(map(id, self.variables))

    def run(self, encoder_inputs, first, num_steps, sampler, copies=1):
        """Call `decode` on NumPy arrays, in a loop compiled once for a range of lengths."""
        num_steps, copies = int(num_steps), int(copies)  # also from NumPy's integers
        num_patches = -(-num_steps // self.patch_length)
        self.check_length(num_patches)
        room = num_patches if self._reads_ahead else round_up_steps(num_patches)
        draws = sampler.draws(len(first), num_patches * self.patch_length)
        draws = [_pad_draws(x, room * self.patch_length) for x in draws]
        tensors = (np.int32(num_patches), *encoder_inputs, first, *draws)
        decode = self.compiled(room, sampler, copies)
        outputs = decode(*(ops.convert_to_tensor(x) for x in tensors))
        return ops.convert_to_numpy(outputs)[:, :num_steps]

    def compiled(self, room, sampler, copies=1):
        """Return `decode` as a compiled function of the number of patches and the tensors.

        The `MAX_LOOPS` most recently used loops are kept.
        """
        key = room, sampler, copies
        loop = self._compiled.pop(key, None)
        if loop is None:
            # Each loop is a partial. TensorFlow counts traces per code object, and would take the
            # loops for one function that is traced again and again, and warn.
            options = {"room": room, "sampler": sampler, "copies": copies}
            decode = functools.partial(_decode_patches, self, **options)
            loop = compile_function(decode, self.variables)
        self._compiled[key] = loop
        if len(self._compiled) > MAX_LOOPS:
            del self._compiled[next(iter(self._compiled))]
        return loop

    def decode(self, *tensors, num_patches, sampler, room=None, copies=1, advance=None):
        """Run the loop and return the result of the sampler.

        Args:
            *tensors: One tensor per encoder input, the first decoder input, and the sampler's
                random numbers.
            num_patches: int, number of patches, each of `patch_length` steps; a scalar tensor if
                `room` is given.
            sampler: Sampler, see `kerastrans.decoding.samplers`.
            room: int, number of patches that the caches can hold; `num_patches` by default.
            copies: int, number of sequences that are decoded from each row of the encoder inputs,
                which is encoded once. They are neighbouring rows of the first decoder input.
            advance: Function that runs one step; `_advance` by default.
        """
        advance = self._advance if advance is None else advance
        room = num_patches if room is None else room
        count = len(self.encoder_inputs)
        encoder_inputs, (first, *draws) = tensors[:count], tensors[count:]
        encoded = self._encode(encoder_inputs)
        batch_size = ops.shape(first)[0] // copies
        caches = self._start_caches(encoded, batch_size, room)
        shared = self._start_shared(encoded, copies)
        if copies > 1:
            repeat = functools.partial(_repeat_rows, batch_size=batch_size, copies=copies)
            caches = keras.tree.map_structure(repeat, caches)
            for key, x in encoded.items():
                if self._read[key].shape[:1] == (None,):
                    encoded[key] = repeat(x)
        masks = {key: mask_of(x) for key, x in encoded.items() if mask_of(x) is not None}

        def has_next_step(index, value, memory, caches):
            is_finished = sampler.is_finished(memory)
            return ops.logical_and(index < num_patches, ops.logical_not(is_finished))

        def step(*state):
            return advance(sampler, encoded, masks, shared, *state)

        index = ops.convert_to_tensor(0, "int32")
        memory = sampler.start(first, room * self.patch_length, *draws)
        state = (index, first, memory, caches)
        return sampler.result(ops.while_loop(has_next_step, step, state)[2])

    def unroll(self, encoder_inputs, num_steps):
        """Return the outputs `(batch, time, ...)`, fed back as the next inputs, without a loop.

        The growing sequence is decoded as a whole, without caches: TensorFlow cannot differentiate
        the update of a cache.

        Args:
            encoder_inputs: One tensor per encoder input.
            num_steps: int, number of time steps.
        """
        encoded = self._encode(encoder_inputs)
        sequence = encoder_inputs[0][:, -self.patch_length :]
        while True:
            tensors = {**encoded, id(self.decoder_input): sequence}
            run_calls(self.step_nodes, tensors)
            outputs = tensors[id(self.output)]
            if outputs.shape[1] >= num_steps:
                return outputs[:, :num_steps]
            newest = ops.cast(outputs[:, -self.patch_length :], sequence.dtype)
            sequence = ops.concatenate([sequence, newest], axis=1)

    def _encode(self, encoder_inputs):
        """Return the tensors that all steps read, by the id of their KerasTensor."""
        tensors = dict(zip(map(id, self.encoder_inputs), encoder_inputs, strict=True))
        run_calls(self.encode_nodes, tensors)
        return {key: x for key, x in tensors.items() if key in self._read}

    def _start_caches(self, encoded, batch_size, length):
        """Return one cache for each layer of the step that has one, in the order of the graph."""
        caches = []
        for node in self.step_nodes:
            if id(node) in self._time_axes:
                args, kwargs = fill_arguments(node, encoded)
                kwargs = kwargs | implicit_masks(node.operation, args, kwargs)
                rows = batch_size * self._batch_factors[id(node)]
                sizes = {"batch_size": rows, "length": length}
                caches.append(node.operation.start_cache(*args, **kwargs, **sizes))
        return caches

    def _start_shared(self, encoded, copies=1):
        """Return what `decode` of a layer takes in addition, by the id of the layer's node.

        These are tensors of each history, which all sequences that are decoded from it share.
        """
        shared = {}
        for node in self.step_nodes:
            if id(node) in self._time_axes and defines_method(node.operation, "start_shared"):
                args, kwargs = fill_arguments(node, encoded)
                layout = Copies(copies, self._batch_factors[id(node)])
                tensors = node.operation.start_shared(*args, **kwargs)
                shared[id(node)] = {"shared": tensors, "copies": layout}
        return shared

    def _advance(self, sampler, encoded, masks, shared, index, value, memory, caches):
        """Return the next state of the loop, `(index, value, memory, caches)`.

        `masks` has the implicit masks of the tensors in `encoded`, by the same keys.
        """
        for key, mask in masks.items():
            set_mask(encoded[key], mask)
        outputs, caches = self._step(encoded, value, caches, index, shared)
        value, memory, rows = sampler.advance(outputs, index, memory)
        if rows is not None:
            caches = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), caches)
        return index + 1, value, memory, caches

    def _step(self, encoded, value, caches, index, shared):
        """Run the newest values `(batch, patch_length, width)` through the decoder.

        Args:
            encoded: Dict that `_encode` returned.
            value: Tensor of the newest values.
            caches: List that `_start_caches` returned.
            index: Position of the values.
            shared: Dict that `_start_shared` returned.

        Returns:
            Tuple of the outputs and the updated caches.
        """
        tensors = {**encoded, id(self.decoder_input): value}
        caches, new_caches = iter(caches), []
        for node in self.step_nodes:
            operation = node.operation
            args, kwargs = fill_arguments(node, tensors)
            if id(node) in self._time_axes:
                first = next(iter((*args, *kwargs.values())))
                kwargs = kwargs | implicit_masks(operation, args, kwargs)
                state = {"cache": next(caches), "time_axes": self._time_axes[id(node)]}
                state |= shared.get(id(node), {})
                outputs, cache = operation.decode(*args, **kwargs, **state, index=index)
                pass_mask(operation, first, outputs)
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

    def check_length(self, num_patches):
        """Raise ValueError if `num_patches` exceeds the length of a positional encoding."""
        for node in self.step_nodes:
            if hasattr(node.operation, "check_length"):
                node.operation.check_length(num_patches)


def _decode_patches(decoder, num_patches, *tensors, **options):
    """Call `decoder.decode` with the number of patches as a positional argument."""
    advance = decoder.recorded_advance
    return decoder.decode(*tensors, num_patches=num_patches, advance=advance, **options)


def _pad_draws(draws, num_steps):
    """Pad draws `(rows, time, ...)` with zeros, which are never used, to `num_steps`."""
    missing = num_steps - draws.shape[1]
    return np.pad(draws, [(0, 0), (0, missing)] + [(0, 0)] * (draws.ndim - 2))


def _repeat_rows(x, batch_size, copies):
    """Repeat the rows of each sequence: `(batch * n, ...)` -> `(batch * copies * n, ...)`."""
    sizes = ops.shape(x)[1:]
    repeated = ops.repeat(ops.reshape(x, (batch_size, -1, *sizes)), copies, axis=0)
    repeated = ops.reshape(repeated, (-1, *sizes))
    if mask_of(x) is not None:
        set_mask(repeated, _repeat_rows(mask_of(x), batch_size, copies))
    return repeated


def _unique_variables(nodes):
    """Return the variables of the nodes' layers, each once even if a layer is called repeatedly."""
    variables = (v for node in nodes for v in getattr(node.operation, "variables", []))
    return list({id(variable): variable for variable in variables}.values())
