"""Checks of arrays passed to decoding and inspection functions."""

import contextlib

import numpy as np

NO_NUMBERS = "OUScmM"  # kinds of data types: objects, text, complex numbers and times


def check_arrays(arrays, symbols, caller, kind, with_missing=None):
    """Return one validated NumPy array for each of a model's inputs.

    Args:
        arrays: Array, or list of arrays.
        symbols: KerasTensors of the inputs.
        caller: str, name of the function that received the arrays.
        kind: str, description of the arrays.
        with_missing: KerasTensor of the input that may contain NaN; None for none.

    Raises:
        ValueError: If the number of arrays or a shape is wrong, an array is empty or has another
            number of windows than the first, a model input of integers receives another type, or a
            value is NaN or infinite.
    """
    arrays = arrays if isinstance(arrays, list | tuple) else [arrays]
    if len(arrays) != len(symbols):
        raise ValueError(f"{caller} requires {len(symbols)} {kind}, got {len(arrays)}.")
    found = [
        _check_array(array, symbol, symbol is with_missing)
        for array, symbol in zip(arrays, symbols, strict=True)
    ]
    for array, symbol in zip(found, symbols, strict=True):
        if len(array) != len(found[0]):
            raise ValueError(
                f"{symbol.name} must have as many rows as {symbols[0].name}, {len(found[0])}, got "
                f"{len(array)}."
            )
    return found


def _check_array(array, symbol, may_miss):
    """Return the array in the data type of the input; raise ValueError if it is invalid."""
    array = np.asarray(array)
    if array.dtype == object:  # of a frame with columns of several types
        with contextlib.suppress(TypeError, ValueError):
            array = array.astype("float64")
    shape = symbol.shape
    fits = array.ndim == len(shape) and all(
        size in (None, given) for size, given in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{symbol.name} must have shape {shape} (None = any), got {array.shape}.")
    if 0 in array.shape:
        raise ValueError(f"{symbol.name} must not be empty, got shape {array.shape}.")
    if array.dtype.kind in NO_NUMBERS:
        raise ValueError(f"{symbol.name} must hold real numbers, got {array.dtype}.")
    if symbol.dtype.startswith("int") and array.dtype.kind not in "iu":
        raise ValueError(f"{symbol.name} must hold integers, got {array.dtype}.")
    if np.isinf(array).any() or (np.isnan(array).any() and not may_miss):
        raise ValueError(f"{symbol.name} must be finite, got NaN or infinite values.")
    return array.astype(symbol.dtype, copy=False)


def check_start_token(token, symbol, sizes):
    """Return the start token as a NumPy array `(batch, time, width)` for the decoder's input.

    Args:
        token: Number or array.
        symbol: KerasTensor of the decoder's input.
        sizes: `(batch, time)`; the time is 1, or the length of a patch.

    Raises:
        ValueError: If the token cannot be broadcast to this shape, or is not finite.
    """
    shape = (*sizes, symbol.shape[-1])
    token = np.asarray(token, symbol.dtype)
    if not np.isfinite(token).all():
        raise ValueError("start_token must be finite, got NaN or infinite values.")
    try:
        return np.broadcast_to(token, shape)
    except ValueError:
        raise ValueError(
            f"start_token must broadcast to (batch, time, output_dim) = {shape}, "
            f"got shape {token.shape}."
        ) from None


def check_tokens(tokens, vocabulary_size):
    """Raise ValueError if a token is outside a vocabulary of this size."""
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary_size)]
    if unknown.size:
        raise ValueError(
            f"source contains token {unknown[0]}: the model knows 0 to {vocabulary_size - 1}."
        )
