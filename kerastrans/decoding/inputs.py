"""Checks of what a model is given to decode or to look into."""

import numpy as np


def check_arrays(arrays, symbols, caller, kind, with_missing=None):
    """One NumPy array for each of a model's inputs.

    Args:
        arrays: an array, or a list of them.
        symbols: the inputs, KerasTensors.
        caller: str, the function that was given the arrays.
        kind: str, what the arrays are.
        with_missing: the input that may hold NaN; None for none.

    Raises:
        ValueError: another number of arrays, another shape, an empty array, fractions where the
            model takes integers, NaN or infinite values.
    """
    arrays = arrays if isinstance(arrays, list | tuple) else [arrays]
    if len(arrays) != len(symbols):
        raise ValueError(f"{caller} wants {len(symbols)} {kind}, got {len(arrays)}.")
    return [
        _check_array(array, symbol, symbol is with_missing)
        for array, symbol in zip(arrays, symbols, strict=True)
    ]


def _check_array(array, symbol, may_miss):
    array = np.asarray(array)
    shape = symbol.shape
    fits = array.ndim == len(shape) and all(
        size in (None, given) for size, given in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{symbol.name} must have shape {shape} (None = any), got {array.shape}.")
    if 0 in array.shape:
        raise ValueError(f"{symbol.name} must not be empty, got shape {array.shape}.")
    if symbol.dtype.startswith("int") and array.dtype.kind not in "iu":
        raise ValueError(f"{symbol.name} must hold integers, got {array.dtype}.")
    if np.isinf(array).any() or (np.isnan(array).any() and not may_miss):
        raise ValueError(f"{symbol.name} must be finite, got NaN or infinite values.")
    return array.astype(symbol.dtype, copy=False)


def check_start_token(token, symbol, batch_size):
    """The start token as a NumPy array `(batch, 1, width)` for the decoder's input.

    Raises:
        ValueError: it does not broadcast, or is not finite.
    """
    shape = (batch_size, 1, symbol.shape[-1])
    token = np.asarray(token, symbol.dtype)
    if not np.isfinite(token).all():
        raise ValueError("start_token must be finite, got NaN or infinite values.")
    try:
        return np.broadcast_to(token, shape)
    except ValueError:
        raise ValueError(
            f"start_token must broadcast to (batch, 1, output_dim) = {shape}, "
            f"got shape {token.shape}."
        ) from None


def check_tokens(tokens, vocabulary_size):
    """Raise ValueError for a token that a vocabulary of this size does not have."""
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary_size)]
    if unknown.size:
        raise ValueError(
            f"source holds token {unknown[0]}: the model knows 0 to {vocabulary_size - 1}."
        )
