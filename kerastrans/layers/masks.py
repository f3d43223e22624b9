"""Attention masks. One meaning everywhere: True = may be attended to."""

import inspect
import math

import keras
from keras import ops

from kerastrans.utils.keras_internals import mask_of, set_mask
from kerastrans.utils.types import Tensor


def create_look_ahead_mask(size: int) -> Tensor:
    """Mask that hides the future: position t may attend to positions 0..t.

    Args:
        size: int, number of time steps.

    Returns:
        Boolean tensor `(size, size)` = `(query, key)`, True on and below the diagonal.
        Pass it to `keras.layers.MultiHeadAttention(attention_mask=...)` as it is.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(create_look_ahead_mask(3)).astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]]

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    steps = ops.arange(size)
    return ops.expand_dims(steps, 1) >= ops.expand_dims(steps, 0)


def create_padding_mask(valid_lengths: Tensor, size: int) -> Tensor:
    """Mask that hides the padding after each sequence's valid length.

    Args:
        valid_lengths: integer tensor `(batch,)`, or `(batch, query)` for one length per query;
            the number of leading key positions that hold data, from 0 to `size`.
        size: int, number of key positions.

    Returns:
        Boolean tensor `(batch, size)`, or `(batch, query, size)`: True for steps that are not
        padding.

    Example:
        >>> from keras import ops
        >>> ops.convert_to_numpy(create_padding_mask([1, 3], 3)).astype(int).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    lengths = ops.expand_dims(ops.cast(valid_lengths, "int32"), -1)
    return ops.less(ops.arange(size, dtype="int32"), lengths)


def combine_masks(*masks: Tensor | None) -> Tensor:
    """Logical AND of the masks that are not None, by broadcasting; None if there are none.

    Raises:
        ValueError: If a mask is not boolean: an additive mask would be inverted.

    Example:
        >>> from keras import ops
        >>> mask = combine_masks(create_look_ahead_mask(2), None, create_padding_mask([1], 2))
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[1, 0], [1, 0]]
    """
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    for mask in present:
        check_is_boolean(mask)
    combined = present[0]
    for mask in present[1:]:
        combined = ops.logical_and(combined, mask)
    return combined


def given_masks(padding_mask, attention_mask):
    """Return the masks that are not None, by name."""
    masks = {"padding_mask": padding_mask, "attention_mask": attention_mask}
    return {name: mask for name, mask in masks.items() if mask is not None}


def check_is_boolean(mask):
    """Raise ValueError for a mask of floats; integers are 0 for hidden and otherwise visible."""
    dtype = keras.backend.standardize_dtype(getattr(mask, "dtype", "bool"))
    if "float" in dtype:
        raise ValueError(
            f"masks are boolean, True = may be attended to, got {dtype}: for an additive mask, "
            "which is 0 if a key is visible, give `mask == 0`."
        )


def check_padding_mask(name, mask, num_keys):
    """Raise ValueError unless a padding mask is boolean, with one value for each key.

    Args:
        name: Name of the argument.
        mask: Tensor, KerasTensor or array; None is accepted.
        num_keys: int, or None if it is not known.
    """
    if mask is None:
        return
    check_is_boolean(mask)
    shape = tuple(mask.shape)
    if len(shape) not in (2, 3) or not _fit(shape[-1], num_keys):
        steps = "time" if num_keys is None else num_keys
        raise ValueError(f"{name} must have shape (batch, {steps}), got {shape}.")


def check_attention_mask(name, mask, num_queries, num_keys):
    """Raise ValueError unless a mask is boolean and broadcasts to `(batch, query, key)`."""
    if mask is None:
        return
    check_is_boolean(mask)
    shape = tuple(mask.shape)
    sizes = {"query": num_queries, "key": num_keys}
    fits = all(
        given == 1 or _fit(given, size)
        for given, size in zip(reversed(shape), (num_keys, num_queries), strict=False)
    )
    if not fits:
        expected = ", ".join(str(name if size is None else size) for name, size in sizes.items())
        raise ValueError(f"{name} must broadcast to (batch, {expected}), got shape {shape}.")


def _fit(given, size):
    return None in (given, size) or given == size


def implicit_masks(layer, args, kwargs):
    """Return the implicit masks of a call's arguments, by the names that `call` has for them.

    Keras passes them to `call`. This is for other methods of the layer with the same arguments.

    Args:
        layer: Layer whose `call` has an argument `<name>_mask` for each argument with a mask.
        args: Positional arguments of the call.
        kwargs: Keyword arguments of the call.
    """
    signature = inspect.signature(layer.call)
    given = signature.bind_partial(*args, **kwargs).arguments
    names = {name: f"{name}_mask" for name in given if given[name] is not None}
    masks = {
        mask: mask_of(given[name])
        for name, mask in names.items()
        if mask in signature.parameters and mask not in given
    }
    return {name: mask for name, mask in masks.items() if mask is not None}


def pass_mask(layer, inputs, outputs):
    """Give the outputs the implicit mask of the inputs, as `Layer.__call__` does after `call`."""
    if isinstance(inputs, list | tuple) or not layer.supports_masking:
        return
    mask, first = mask_of(inputs), keras.tree.flatten(outputs)[0]
    if mask is not None and mask_of(first) is None:
        set_mask(first, layer.compute_mask(inputs, mask))


def hide_gaps(mask, query, value=None, key=None):
    """Replace the steps that are not finite by zeros, so that hidden ones reach no query.

    The weight of a hidden step is 0, but 0 * NaN is NaN, in the attention and in its gradient.

    Args:
        mask: Boolean tensor that broadcasts to `(batch, query, key)`, or None for no change.
        query: `(batch, query, width)`.
        value: `(batch, key, width)`; None for self-attention.
        key: `(batch, key, width)`, or None.

    Returns:
        `query`, `value`, `key`, and a boolean tensor `(batch, query, 1)` for `show_gaps`: the
        queries that are not finite or may attend to such a step. It is None without a mask.
    """
    if mask is None:
        return query, value, key, None
    given = [x for x in (query, value, key) if x is not None]
    finite = [_is_finite(x) for x in given]
    query, *memory = (ops.where(ok[..., None], x, 0) for x, ok in zip(given, finite, strict=True))
    value, key = (*memory, None, None)[:2]
    is_gap = ops.logical_not(combine_masks(*finite[1:] or finite))
    sees_gap = ops.any(ops.logical_and(ops.cast(mask, "bool"), is_gap[:, None]), axis=-1)
    return query, value, key, ops.logical_or(sees_gap, ops.logical_not(finite[0]))[..., None]


def show_gaps(gaps, outputs):
    """Return the outputs of attention, NaN for the queries that `hide_gaps` returned."""
    return outputs if gaps is None else ops.where(gaps, ops.cast(math.nan, outputs.dtype), outputs)


def _is_finite(x):
    """Return whether all features of each step are finite; otherwise their sum is not."""
    total = ops.sum(ops.cast(x, keras.backend.result_type(x.dtype, "float32")), axis=-1)
    return ops.abs(total) < math.inf


def for_each_query(padding_mask):
    """Padding mask `(batch, key)` as `(batch, 1, key)`: the same for every query; others as is."""
    if padding_mask is None or len(padding_mask.shape) == 3:
        return padding_mask
    return ops.expand_dims(padding_mask, 1)


def rows_of_mask(mask, indices):
    """The rows of a mask `(..., query, key)` for the queries at these indices `(time,)`."""
    return mask if mask.shape[-2] == 1 else ops.take(mask, indices, axis=-2)
