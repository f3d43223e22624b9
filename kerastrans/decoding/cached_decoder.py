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
    takes_starts,
    time_axes,
)
from kerastrans.decoding.graph import (
    any_length,
    check_arrays,
    fill_arguments,
    history_input,
    is_direct,
    run_calls,
    split_calls,
    store_outputs,
    takes_missing,
)
from kerastrans.layers.attention.copies import Copies
from kerastrans.layers.masks import implicit_masks, pass_mask
from kerastrans.utils.compilation import compile_function, compiles, record_function
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
        model: Functional `keras.Model` whose last input is the decoder's; a decoder-only model has
            no other. See `kerastrans.decoding.contract` for the requirements on its layers.

    Raises:
        ValueError: If the model is not functional, or contains a layer that cannot be decoded step
            by step.
    """

    def __init__(self, model):
        if isinstance(model, keras.Sequential) and model.built:
            model = keras.Model(model.inputs, model.outputs, name=model.name)
        if not isinstance(model, keras.Function) or is_direct(model):
            raise ValueError(
                "generate requires a functional model [encoder_inputs, decoder_inputs] -> outputs, "
                f"or prompt -> outputs of as many steps, got {model.name!r} "
                f"({type(model).__name__})."
            )
        *self.encoder_inputs, self.decoder_input = model.inputs
        self.any_prompt = any_length(self.decoder_input)
        self.with_missing = history_input(model) if takes_missing(model) else None
        self.encode_calls, self.step_calls, self.output = split_calls(model)
        self.patch_length = patch_length_of(model)
        axes, self._read_ahead = check_steps(model, self.step_calls)
        if axes.get(id(self.output)) != 1:
            raise ValueError(
                "generate requires outputs (batch, time, ...) that depend on the decoder's input, "
                f"got {self.output.shape} in {model.name!r}."
            )
        self._time_axes = {
            id(call): time_axes(call, axes)
            for call in self.step_calls
            if defines_method(call.operation, "start_cache")
        }
        self._batch_factors = batch_factors(model, self.step_calls)
        self.variables = _unique_variables(self.encode_calls + self.step_calls)
        self._read = {id(x): x for call in self.step_calls for x in call.input_tensors}
        self._compiled = {}
        self.recorded_advance = record_function(self._advance, self.variables)

    def has_all_variables(self):
        """Return whether the layers have the same variables as when the decoder was created."""
        variables = _unique_variables(self.encode_calls + self.step_calls)
        return list(map(id, variables)) == list(map(id, self.variables))

    def run(self, encoder_inputs, prompt, num_steps, sampler, copies=1, lengths=None):
        """Call `decode` on NumPy arrays, in a loop compiled once for a range of lengths."""
        given = encoder_inputs, prompt, num_steps, sampler, copies, lengths
        num_patches, tensors, options = self._arrange(*given)
        decode = self.compiled(_decode, **options)
        outputs = decode(ops.convert_to_tensor(num_patches, "int32"), tensors)
        return ops.convert_to_numpy(outputs)[:, : int(num_steps)]

    def stream(self, encoder_inputs, prompt, num_steps, sampler, lengths=None):
        """Return a generator of what `run` returns, patch by patch, until all have ended."""
        given = encoder_inputs, prompt, num_steps, sampler, 1, lengths
        return self._steps(int(num_steps), *self._arrange(*given))

    def _steps(self, num_steps, num_patches, tensors, options):
        context, state = self.compiled(CachedDecoder.start, **options)(tensors)
        advance = self.compiled(_advance, **options)
        for patch in range(num_patches):
            if options["sampler"].is_finished(state[2]):
                return
            state = advance(context, *state)
            left = num_steps - patch * self.patch_length
            yield ops.convert_to_numpy(state[1])[:, :left]

    def _arrange(self, encoder_inputs, prompt, num_steps, sampler, copies, lengths):
        """Return the number of patches, and the tensors and the options of `decode`."""
        num_steps, copies = int(num_steps), int(copies)  # also from NumPy's integers
        num_patches = -(-num_steps // self.patch_length)
        self.check_length(prompt.shape[1] // self.patch_length + num_patches - 1)
        prompt, starts = self._align(prompt, lengths)
        room = num_patches if self._read_ahead else round_up_steps(num_patches)
        draws = sampler.draws(len(prompt) * copies, num_patches * self.patch_length)
        draws = [_pad_draws(x, room * self.patch_length) for x in draws]
        tensors = keras.tree.map_structure(
            lambda x: x if x is None else ops.convert_to_tensor(x),
            (encoder_inputs, prompt, starts, draws),
        )
        return num_patches, tensors, {"room": room, "sampler": sampler, "copies": copies}

    def _align(self, prompt, lengths):
        """Return prompts that end together, and the first step of each; None if all are as given.

        The length of the prompts is rounded up, because a compiled loop has a fixed one.
        """
        size = prompt.shape[1]
        cached = [x.operation for x in self.step_calls if id(x) in self._time_axes]
        refuse = [*self._read_ahead, *(x for x in cached if not takes_starts(x))]
        if refuse and lengths is not None:
            raise ValueError(
                f"prompts of several lengths cannot be decoded by {refuse[0].name!r} "
                f"({type(refuse[0]).__name__}): leave prompt_lengths out."
            )
        lengths = np.full(len(prompt), size) if lengths is None else lengths
        room = size if refuse or not compiles() else round_up_steps(size)
        if room == size and (lengths == size).all():
            return prompt, None
        aligned = np.zeros((len(prompt), room, *prompt.shape[2:]), prompt.dtype)
        for row, values, length in zip(aligned, prompt, lengths, strict=True):
            row[room - length :] = values[:length]
        return aligned, (room - lengths).astype("int32")

    def compiled(self, function, **options):
        """Return `function(self, *tensors, **options)`, compiled.

        The `MAX_LOOPS` most recently used functions are kept.
        """
        key = function, *options.values()
        compiled = self._compiled.pop(key, None)
        if compiled is None:
            # Each is a partial. TensorFlow counts traces per code object, and would take them for
            # one function that is traced again and again, and warn.
            partial = functools.partial(function, self, **options)
            compiled = compile_function(partial, self.variables)
        self._compiled[key] = compiled
        if len(self._compiled) > MAX_LOOPS:
            del self._compiled[next(iter(self._compiled))]
        return compiled

    def decode(self, num_patches, tensors, *, sampler, room=None, copies=1, advance=None):
        """Run the loop and return the result of the sampler.

        Args:
            num_patches: int, number of patches, each of `patch_length` steps; a scalar tensor if
                `room` is given.
            tensors: List of one tensor per encoder input; the first decoder inputs, one row for
                each of their rows; the index of the first step of each of these rows, `(batch,)`,
                None for 0; list of the sampler's random numbers.
            sampler: Sampler, see `kerastrans.decoding.samplers`.
            room: int, number of patches that the caches can hold; `num_patches` by default.
            copies: int, number of sequences that are decoded from each row. The row is encoded
                once. They are neighbouring rows of the result.
            advance: Function that runs one step; `_advance` by default.
        """
        advance = self._advance if advance is None else advance
        room = num_patches if room is None else room
        context, state = self.start(tensors, sampler=sampler, room=room, copies=copies)

        def has_next_step(index, value, memory, caches):
            is_finished = sampler.is_finished(memory)
            return ops.logical_and(index < num_patches, ops.logical_not(is_finished))

        def step(*state):
            return advance(sampler, copies, context, *state)

        return sampler.result(ops.while_loop(has_next_step, step, state)[2])

    def start(self, tensors, *, sampler, room, copies):
        """Encode the inputs and the prompt without its last patch; the arguments are `decode`'s.

        Returns:
            Context of the loop: a dict of tensors that do not change, by the ids of KerasTensors
            and calls.
            State before the first step, `(index, value, memory, caches)`.
        """
        encoder_inputs, prompt, starts, draws = tensors
        encoded, batch_size = self._encode(encoder_inputs), ops.shape(prompt)[0]
        before = prompt.shape[1] // self.patch_length - 1
        caches = self._start_caches(encoded, batch_size, before + room)
        context = {"encoded": encoded, "shared": self._start_shared(encoded), "starts": starts}
        value = prompt[:, -self.patch_length :]
        if before:
            rest = prompt[:, : before * self.patch_length]
            _, caches = self._step(context, rest, caches, 0, copies=1)
        if copies > 1:
            repeat = functools.partial(_repeat_rows, batch_size=batch_size, copies=copies)
            caches = keras.tree.map_structure(repeat, caches)
            value = repeat(value)
            context["starts"] = None if starts is None else repeat(starts)
            for key, x in encoded.items():
                if self._read[key].shape[:1] == (None,):
                    encoded[key] = repeat(x)
        context["masks"] = {key: mask_of(x) for key, x in encoded.items() if mask_of(x) is not None}
        context["before"] = ops.convert_to_tensor(before, "int32")
        memory = sampler.start(value, room * self.patch_length, *draws)
        return context, (ops.convert_to_tensor(0, "int32"), value, memory, caches)

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
            run_calls(self.step_calls, tensors)
            outputs = tensors[id(self.output)]
            if outputs.shape[1] >= num_steps:
                return outputs[:, :num_steps]
            newest = ops.cast(outputs[:, -self.patch_length :], sequence.dtype)
            sequence = ops.concatenate([sequence, newest], axis=1)

    def _encode(self, encoder_inputs):
        """Return the tensors that all steps read, by the id of their KerasTensor."""
        tensors = dict(zip(map(id, self.encoder_inputs), encoder_inputs, strict=True))
        run_calls(self.encode_calls, tensors)
        return {key: x for key, x in tensors.items() if key in self._read}

    def _start_caches(self, encoded, batch_size, length):
        """Return one cache for each layer of the step that has one, in the order of the graph."""
        caches = []
        for call in self.step_calls:
            if id(call) in self._time_axes:
                args, kwargs = fill_arguments(call, encoded)
                kwargs = kwargs | implicit_masks(call.operation, args, kwargs)
                rows = batch_size * self._batch_factors[id(call)]
                sizes = {"batch_size": rows, "length": length}
                caches.append(call.operation.start_cache(*args, **kwargs, **sizes))
        return caches

    def _start_shared(self, encoded):
        """Return what `decode` of a layer takes in addition, by the id of the layer's call.

        These are tensors of each history, which all sequences that are decoded from it share.
        """
        shared = {}
        for call in self.step_calls:
            if id(call) in self._time_axes and defines_method(call.operation, "start_shared"):
                args, kwargs = fill_arguments(call, encoded)
                shared[id(call)] = call.operation.start_shared(*args, **kwargs)
        return shared

    def _advance(self, sampler, copies, context, index, value, memory, caches):
        """Return the next state of the loop, `(index, value, memory, caches)`."""
        for key, mask in context["masks"].items():
            set_mask(context["encoded"][key], mask)
        place = context["before"] + index
        outputs, caches = self._step(context, value, caches, place, copies)
        value, memory, rows = sampler.advance(outputs, index, memory)
        if rows is not None:
            caches = keras.tree.map_structure(lambda x: ops.take(x, rows, axis=0), caches)
        return index + 1, value, memory, caches

    def _step(self, context, value, caches, index, copies):
        """Run the newest values `(batch, time, width)` through the decoder.

        Args:
            context: Dict that `start` returned.
            value: Tensor of the newest values.
            caches: List that `_start_caches` returned.
            index: Index of the first patch of the values.
            copies: int, number of sequences of each row of the encoder inputs.

        Returns:
            Tuple of the outputs and the updated caches.
        """
        tensors = {**context["encoded"], id(self.decoder_input): value}
        starts, shared = context["starts"], context["shared"]
        positions = index + ops.arange(value.shape[1] // self.patch_length, dtype="int32")
        if starts is not None:
            positions = ops.maximum(positions - starts[:, None], 0)
        caches, new_caches = iter(caches), []
        for call in self.step_calls:
            operation = call.operation
            args, kwargs = fill_arguments(call, tensors)
            first = next(iter((*args, *kwargs.values())))
            if id(call) in self._time_axes:
                kwargs = kwargs | implicit_masks(operation, args, kwargs)
                state = {"cache": next(caches), "time_axes": self._time_axes[id(call)]}
                if id(call) in shared:
                    layout = Copies(copies, self._batch_factors[id(call)])
                    state |= {"shared": shared[id(call)], "copies": layout}
                if starts is not None:
                    state["starts"] = starts
                outputs, cache = operation.decode(*args, **kwargs, **state, index=index)
                pass_mask(operation, first, outputs)
                new_caches.append(cache)
            elif hasattr(operation, "decode"):
                outputs = operation.decode(*args, **kwargs, positions=positions)
                pass_mask(operation, first, outputs)
            else:
                outputs = operation(*args, **kwargs)
            store_outputs(call, outputs, tensors)
        return tensors[id(self.output)], new_caches

    def check_inputs(self, arrays, caller):
        """Return what is given before decoding as NumPy arrays; raise ValueError if it is invalid.

        These are the encoder's inputs, or the prompt of a decoder-only model.
        """
        symbols, kind = self.encoder_inputs, "encoder input(s)"
        if not symbols:
            symbols, kind = [self.any_prompt], "array, the prompt"
        return check_arrays(arrays, symbols, caller, kind, self.with_missing)

    def split_inputs(self, inputs):
        """Return the encoder's inputs and the default prompt, from what is given before decoding.

        With an encoder the prompt is the last value of the first input, or the last patch.
        """
        if not self.encoder_inputs:
            return [], inputs[0]
        return inputs, inputs[0][:, -self.patch_length :]

    def check_length(self, num_patches):
        """Raise ValueError if a sequence is longer than the decoder's input or its positions."""
        longest = self.decoder_input.shape[1]
        if longest is not None and num_patches * self.patch_length > longest:
            raise ValueError(
                f"{self.decoder_input.name} has {longest} steps, got a sequence of "
                f"{num_patches * self.patch_length}."
            )
        for call in self.step_calls:
            if hasattr(call.operation, "check_length"):
                call.operation.check_length(num_patches)


def _decode(decoder, num_patches, tensors, **options):
    return decoder.decode(num_patches, tensors, **options, advance=decoder.recorded_advance)


def _advance(decoder, context, *state, sampler, copies, room):
    return decoder.recorded_advance(sampler, copies, context, *state)


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


def _unique_variables(calls):
    """Return the variables of the calls' layers, each once even if a layer is called repeatedly."""
    variables = (v for call in calls for v in getattr(call.operation, "variables", []))
    return list({id(variable): variable for variable in variables}.values())
