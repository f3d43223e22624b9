"""Requirements on layers that are decoded step by step, checked before any work.

A layer that treats every time step alike is decoded by calling it on the newest steps. The layers
and operations of this kind are listed here. A layer of the user that consists of such layers and
operations is read as if they were written out. A layer that looks across time must define

    decode(*args, positions, **kwargs) -> outputs
        Does the same as `call` for the newest steps, with the same arguments. Their `positions` are
        integers `(time,)`, or `(batch, time)` if each row has its own.

A layer that remembers earlier steps defines these two methods instead:

    start_cache(*args, batch_size, length, **kwargs) -> cache
        Returns tensors whose first axis is the batch, with room for `length` steps. Arguments that
        depend on the decoder's input are KerasTensors here.
    decode(*args, cache, index, time_axes, **kwargs) -> outputs, cache
        Decodes the newest steps, and writes them into the cache from `index` on. It gets one step,
        or all steps of a prompt except the last one, at the int 0.

Optional methods are

    start_shared(*args, **kwargs) -> tensors or None
        Returns tensors of the known arguments that do not change between steps. If several
        sequences are decoded from one history, they share these tensors, and `decode` takes them as
        `shared`, with the layout of the rows as `copies` (`layers.attention.copies.Copies`).

    check_decode(*args, time_axes, **kwargs) -> bool
        Raises ValueError for symbolic arguments that cannot be decoded. Returns whether the layer
        reads known arguments step by step; these must then be as long as the loop.
    check_length(num_steps)
        Raises ValueError for a sequence that is too long for the layer.

If `decode` has an argument `starts`, the layer supports prompts of several lengths, which end
together: for each row it is the index of the first step, `(batch,)`; None if all have the same.

If `call` has an argument `<name>_mask`, these methods are given the implicit mask of the argument
`<name>` in it.

`time_axes` maps the names of the arguments that depend on the decoder's input to their time axes.
A class that overrides `call` does not inherit these methods and must define its own.

A model can decode several values at once: if the layer that reads the decoder's input has an
attribute `patch_length`, each step of the loop is a patch of as many time steps. A layer that moves
channels into the batch states their number in `batch_factor`, and a layer that moves them back its
inverse: caches have as many rows.
"""

import inspect
from fractions import Fraction

import keras
from keras import layers

from kerastrans.decoding.graph import (
    any_length,
    fill_arguments,
    once_per_model,
    read_calls,
    store_outputs,
)
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.masks import implicit_masks
from kerastrans.utils.keras_internals import op_name

# Layers that treat every element alike.
ELEMENT_WISE_LAYERS = {
    Dropout,
    layers.Add,
    layers.Average,
    layers.Dropout,
    layers.ELU,
    layers.Embedding,
    layers.GaussianDropout,
    layers.GaussianNoise,
    layers.Identity,
    layers.LeakyReLU,
    layers.Maximum,
    layers.Minimum,
    layers.Multiply,
    layers.ReLU,
    layers.ReversibleEmbedding,
    layers.Subtract,
}
# Layers that act along the last axis, which must not be the time axis.
FEATURE_WISE_LAYERS = {
    layers.Activation,
    layers.Concatenate,
    layers.Dense,
    layers.LayerNormalization,
    layers.Masking,
    layers.RMSNormalization,
    layers.Softmax,
}
ARITHMETIC_OPS = {
    *("Absolute", "Add", "Cast", "Divide", "Exp", "Log", "Maximum", "Minimum", "Multiply"),
    *("Negative", "Relu", "Sigmoid", "Sqrt", "Square", "Subtract", "Tanh", "TrueDivide"),
}
MASK_OPS = {
    *("All", "Any", "Equal", "ExpandDims", "Greater", "GreaterEqual", "Less", "LessEqual"),
    *("LogicalAnd", "LogicalNot", "LogicalOr", "NotEqual", "Where"),
}


def defines_method(layer, method):
    """Return whether a layer defines `method` for its current `call`.

    The result is False if a subclass overrides `call` without overriding the method.

    Example:
        >>> from kerastrans.layers import CachedMultiHeadAttention
        >>> class Reversed(CachedMultiHeadAttention):
        ...     def call(self, query):
        ...         return super().call(query[:, ::-1])
        >>> [
        ...     defines_method(kind(num_heads=2, key_dim=4), "decode")
        ...     for kind in (CachedMultiHeadAttention, Reversed)
        ... ]
        [True, False]
    """
    for cls in type(layer).__mro__:
        if method in vars(cls):
            return True
        if "call" in vars(cls):
            return False
    return False


@once_per_model
def patch_length_of(model):
    """Return the number of time steps that a model decodes at once."""
    symbol = model.inputs[-1]
    calls = read_calls(model, {id(x): x for x in model.inputs})
    readers = (call for call in calls if any(x is symbol for x in call.input_tensors))
    return max(getattr(call.operation, "patch_length", 1) for call in readers)


@once_per_model
def patch_dependence_of(model):
    """Return the weight of the dependence of the steps of a patch, see `UnfoldPatches`, or None."""
    calls = read_calls(model, {id(x): x for x in model.inputs})
    found = (getattr(call.operation, "dependence", None) for call in calls)
    return next((x for x in found if x is not None), None)


def batch_factors(model, calls):
    """Return the number of rows per sequence of each call, by the call's id."""
    factors, found = {id(model.inputs[-1]): Fraction(1)}, {}
    for call in calls:
        factor = max(factors.get(id(x), Fraction(0)) for x in call.input_tensors)
        found[id(call)] = int(factor)
        factor *= Fraction(getattr(call.operation, "batch_factor", 1))
        factors.update((id(x), factor) for x in call.outputs)
    return found


def check_steps(model, calls):
    """Check that a model's graph can run one step at a time.

    The shapes of all tensors are inferred for one step and for two steps. The axis that differs is
    the time axis.

    Args:
        model: Functional `keras.Model` whose last input is the decoder's.
        calls: List of `Call` that depend on the decoder's input, in order.

    Returns:
        Dict from the id of each KerasTensor of the step to its time axis, and the list of the
        layers that read known arguments step by step.

    Raises:
        ValueError: If a layer or operation cannot be decoded; the message names it.
    """
    symbol, unit = model.inputs[-1], patch_length_of(model)
    one, two = (any_length(symbol, steps * unit) for steps in (1, 2))
    axes = {id(symbol): _time_axis(one, two)}
    if axes[id(symbol)] is None:
        raise ValueError(f"generate cannot decode {model.name!r}: its last input has no time axis.")
    one, two, ahead = {id(symbol): one}, {id(symbol): two}, []
    for call in calls:
        _check_operation(call, axes)
        for shapes in (one, two):
            _infer_shapes(call, shapes)
        for output in call.outputs:
            axes[id(output)] = _time_axis(one[id(output)], two[id(output)])
            if axes[id(output)] is None:
                raise _refusal(
                    call,
                    f"it returns shape {one[id(output)].shape} for one step and "
                    f"{two[id(output)].shape} for two: one axis must be the time axis",
                )
        if hasattr(call.operation, "check_decode"):
            kwargs = call.kwargs | implicit_masks(call.operation, call.args, call.kwargs)
            named = time_axes(call, axes)
            if call.operation.check_decode(*call.args, time_axes=named, **kwargs):
                ahead.append(call.operation)
    return axes, ahead


def time_axes(call, axes):
    """Return the time axis of each argument of a call that depends on the decoder's input."""
    bound = inspect.signature(call.operation.call).bind(*call.args, **call.kwargs)
    first = {name: keras.tree.flatten(x)[:1] for name, x in bound.arguments.items()}
    return {name: axes[id(x)] for name, xs in first.items() for x in xs if id(x) in axes}


def takes_starts(layer):
    """Return whether a layer with a cache supports prompts of several lengths."""
    return "starts" in inspect.signature(layer.decode).parameters


def _check_operation(call, axes):
    """Raise ValueError unless the operation is known to be position-wise or defines `decode`."""
    operation, args, kwargs = call.operation, call.args, call.kwargs
    if not isinstance(operation, keras.layers.Layer):
        decodable = op_name(operation) in ARITHMETIC_OPS | MASK_OPS
    elif defines_method(operation, "decode"):
        stated = {"positions": None}
        if defines_method(operation, "start_cache"):
            stated = {"cache": None, "index": 0, "time_axes": {}}
        try:
            inspect.signature(operation.decode).bind(*args, **kwargs, **stated)
        except TypeError as error:
            raise _refusal(call, f"its `decode` does not match its `call`: {error}") from None
        return
    elif hasattr(operation, "decode"):
        raise _refusal(call, "it overrides `call`, but inherits `decode`")
    else:
        decodable = type(operation) in ELEMENT_WISE_LAYERS or (
            type(operation) in FEATURE_WISE_LAYERS
            and getattr(operation, "axis", -1) in (-1, 2, [-1], [2])
            and all(axes.get(id(x), 0) != len(x.shape) - 1 for x in call.input_tensors)
        )
    if not decodable:
        raise _refusal(
            call, "it may look across time; use a position-wise layer, or define `decode` for it"
        )


def _infer_shapes(call, shapes):
    """Add the shapes of the call's outputs, as KerasTensors, to `shapes`."""
    args, kwargs = fill_arguments(call, shapes)
    try:
        store_outputs(call, call.operation.compute_output_spec(*args, **kwargs), shapes)
    except Exception as error:  # an operation may raise anything when shapes do not fit
        given = [shapes.get(id(x), x).shape for x in call.input_tensors]
        raise _refusal(call, f"shapes of single steps do not match: {given}") from error


def _time_axis(one, two):
    """Return the only axis that differs, if it is twice as long for two steps; otherwise None."""
    if len(one.shape) != len(two.shape):
        return None
    pairs = zip(one.shape, two.shape, strict=True)
    differing = [(axis, pair) for axis, pair in enumerate(pairs) if pair[0] != pair[1]]
    if len(differing) != 1:
        return None
    axis, (first, second) = differing[0]
    return axis if second == 2 * first else None


def _refusal(call, why):
    """Return the ValueError that names an operation and the reason why it cannot be decoded."""
    operation, owner = call.operation, f" of {call.owner!r}" if call.owner else ""
    return ValueError(
        f"generate cannot decode {operation.name!r} ({type(operation).__name__}){owner} step by "
        f"step: {why}."
    )
