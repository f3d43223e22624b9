"""Parameters of small forecasts, as heads make them of raw numbers."""

import numpy as np
from keras import ops

from tests.conftest import to_numpy

DISTRIBUTIONS = ["normal", "student_t", "negative_binomial", "mixture"]
STEPS = 5


def raw(size, seed=0, batch=4, channels=3):
    """Raw numbers `(batch, STEPS * size, channels)`."""
    shape = batch, STEPS * size, channels
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def parameters_of(head, seed=0):
    """Parameters `(4, STEPS, 3, size)`."""
    return to_numpy(head(raw(head.size, seed), prediction_length=STEPS))


def evaluate(function, *arrays):
    """A function of float32 tensors, on arrays."""
    return to_numpy(function(*(ops.convert_to_tensor(x, dtype="float32") for x in arrays)))
