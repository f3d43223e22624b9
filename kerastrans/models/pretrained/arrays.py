"""What a call on arrays is given, checked and of few sizes, and how the model is called with it."""

import keras
import numpy as np

from kerastrans.utils.backend import compile_inference
from kerastrans.utils.validation import check_levels

DECILES = tuple(k / 10 for k in range(1, 10))
EXTRAS = ("past_covariates", "future_covariates", "cross_learning")


def refuse_extras(name, *values):
    """Raise ValueError for an argument of `forecast` that a model of single series cannot take."""
    for extra, value in zip(EXTRAS, values, strict=True):
        if value:
            raise ValueError(f"{name} takes no {extra}: each series is on its own.")


def refuse_covariates(name, covariates):
    """Raise ValueError for a kind of covariates with columns; a model of single series takes none.

    Args:
        name: str, of the model.
        covariates: None, or a dict of "past" and "future", see `PretrainedModel.build`.
    """
    for kind in sorted(kind for kind, columns in (covariates or {}).items() if columns):
        raise ValueError(f"{name} takes no {kind} covariates: each series is on its own.")


def as_levels(levels=None):
    """Probabilities in the order in which they are asked for; by default 0.1, 0.2 ... 0.9."""
    levels = DECILES if levels is None else tuple(map(float, levels))
    check_levels(sorted(set(levels)))
    return levels


def few_sizes(count):
    """The next of few sizes that is at least `count`: at most a quarter more, four an octave."""
    step = 2 ** max(0, count.bit_length() - 3)
    return -(-count // step) * step


def as_tasks(series):
    """Arrays `(variates, time)` of the compute dtype, one a series, checked.

    Raises:
        ValueError: No series, or one that is not as it should be; its number is told.
    """
    tasks = [np.asarray(values, keras.config.floatx()) for values in series]
    if not tasks:
        raise ValueError("there is no series to forecast.")
    for number, task in enumerate(tasks):
        if task.ndim not in (1, 2) or task.size == 0:
            raise ValueError(
                f"series {number} must be (time,) or (variates, time) with at least one step, got "
                f"shape {task.shape}."
            )
        if np.isinf(task).any():
            raise ValueError(f"series {number} holds an infinite value.")
    return [np.atleast_2d(task) for task in tasks]


def left_padded(values, length, padding=np.nan):
    """The last `length` steps, after as many fillings as are lacking; time is the last axis."""
    values = values[..., -length:]
    missing = length - values.shape[-1]
    widths = [(0, 0)] * (values.ndim - 1) + [(missing, 0)]
    return np.pad(values, widths, constant_values=padding)


def compile_by_name(model):
    """As `compile_inference`, a function of arrays by the names of the inputs; more are left."""
    run, names = compile_inference(model), [tensor.name for tensor in model.inputs]
    return lambda **arrays: run(*(arrays[name] for name in names))
