"""Validation and padding of array inputs, and calls of compiled models."""

import keras
import numpy as np

from kerastrans.utils.compilation import compile_inference
from kerastrans.utils.validation import check_levels

DECILES = tuple(k / 10 for k in range(1, 10))
EXTRAS = ("past_covariates", "future_covariates", "cross_learning")


def refuse_extras(name, *values):
    """Raise ValueError for an argument of `forecast` that a model of single series cannot take."""
    for extra, value in zip(EXTRAS, values, strict=True):
        if value:
            raise ValueError(f"{name} takes no {extra}: it forecasts each series separately.")


def refuse_covariates(name, covariates):
    """Raise ValueError if there are covariates, for a model of single series, which takes none.

    Args:
        name: Name of the model.
        covariates: None, or a dict of "past" and "future", see `PretrainedModel.build`.
    """
    for kind in sorted(kind for kind, columns in (covariates or {}).items() if columns):
        raise ValueError(f"{name} takes no {kind} covariates: it forecasts each series separately.")


def as_levels(levels=None):
    """Return the quantile levels as floats in the given order; by default 0.1, 0.2 ... 0.9."""
    levels = DECILES if levels is None else tuple(map(float, levels))
    check_levels(sorted(set(levels)))
    return levels


def few_sizes(count):
    """Round a count up to one of a few sizes, so that few sizes are compiled.

    There are four sizes per octave, so the result exceeds `count` by at most a quarter.
    """
    step = 2 ** max(0, count.bit_length() - 3)
    return -(-count // step) * step


def as_tasks(series):
    """Check the series and return them as arrays `(variates, time)` of the compute dtype.

    Raises:
        ValueError: If the list is empty, or a series has a wrong shape, no step or an infinite
            value; the message has its number.
    """
    tasks = [np.asarray(values, keras.config.floatx()) for values in series]
    if not tasks:
        raise ValueError("series must contain at least one series, got none.")
    for number, task in enumerate(tasks):
        if task.ndim not in (1, 2) or task.size == 0:
            raise ValueError(
                f"series {number} must be (time,) or (variates, time) with at least one step, got "
                f"shape {task.shape}."
            )
        if np.isinf(task).any():
            raise ValueError(f"series {number} has an infinite value.")
    return [np.atleast_2d(task) for task in tasks]


def left_padded(values, length, padding=np.nan):
    """Cut or pad the last axis, time, on the left to `length` steps."""
    values = values[..., -length:]
    missing = length - values.shape[-1]
    widths = [(0, 0)] * (values.ndim - 1) + [(missing, 0)]
    return np.pad(values, widths, constant_values=padding)


def compile_by_name(model):
    """Compile a model as a function of arrays by input name; it ignores arrays of other names."""
    run, names = compile_inference(model), [tensor.name for tensor in model.inputs]
    return lambda **arrays: run(*(arrays[name] for name in names))
