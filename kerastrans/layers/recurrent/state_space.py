"""A linear state space model, whose recurrence is computed in parallel."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers

_CHUNK_LENGTH = 32  # number of steps that one matrix product computes


@serializable
class StateSpace(keras.layers.Layer):
    """Diagonal complex state space `s' = A s + B x`, `y = C s + D x`, at any sampling rate.

    Args:
        state_dim: int, number of complex states, each with its own decay and frequency.
        gated: bool, whether `C s` is multiplied by a gate, the sigmoid of a linear layer of it.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        scale: float, length of a step in units of the steps used in training.
        positions: Tuple of int, positions whose outputs are returned; None for all.

    Returns:
        `(batch, time, d_model)`, or `(batch, len(positions), d_model)`.

    Raises:
        ValueError: If `state_dim` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(StateSpace(state_dim=8)(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Smith et al. (2023), "Simplified state space layers for sequence modeling", section 3.
    """

    def __init__(self, state_dim, gated=False, **kwargs):
        check_positive_integers(state_dim=state_dim)
        super().__init__(**kwargs)
        self.state_dim = state_dim
        self.gated = gated

    def build(self, inputs_shape):
        width, states = inputs_shape[-1], self.state_dim
        uniform = keras.initializers.RandomUniform(np.log(0.001), np.log(0.1))
        self.log_decay = self._weight((states,), "zeros", "log_decay")
        self.frequency = self._weight((states,), "random_normal", "frequency")
        self.log_step = self._weight((states,), uniform, "log_step")
        for part in ("real", "imaginary"):
            for name, shape in (("input", (width, states)), ("output", (states, width))):
                weight = self._weight(shape, "glorot_uniform", f"{name}_{part}")
                setattr(self, f"{name}_{part}", weight)
        self.skip = self._weight((width,), "ones", "skip")
        if self.gated:
            self.gate = keras.layers.Dense(width, "sigmoid", dtype=self.dtype_policy, name="gate")
            self.gate.build((None, None, width))

    def _weight(self, shape, initializer, name):
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def call(self, inputs, scale=1.0, positions=None):
        step = ops.exp(self.log_step) * scale
        rate = -ops.exp(self.log_decay)  # the eigenvalue is rate + i frequency
        decay, angle = rate * step, self.frequency * step
        kernel = self._input_kernel(rate, decay, angle)
        driven = ops.split(ops.matmul(inputs, kernel), 2, axis=-1)
        states = ops.concatenate(recurrence(*driven, decay, angle), axis=-1)
        if positions is not None:
            inputs, states = (ops.take(x, positions, axis=1) for x in (inputs, states))
        kernel = ops.concatenate([self.output_real, -self.output_imaginary], axis=0)
        outputs = ops.matmul(states, kernel)
        if self.gated:
            outputs = outputs * self.gate(outputs)
        return outputs + self.skip * inputs

    def _input_kernel(self, rate, decay, angle):
        """Return the discretised B, `(exp(A step) - 1) / A * B`: real part, imaginary part."""
        # exp(A step) - 1, computed without cancellation.
        real = ops.expm1(decay) * ops.cos(angle) - 2 * ops.square(ops.sin(angle / 2))
        imaginary = ops.exp(decay) * ops.sin(angle)
        square = ops.square(rate) + ops.square(self.frequency)
        real, imaginary = (
            (real * rate + imaginary * self.frequency) / square,
            (imaginary * rate - real * self.frequency) / square,
        )
        return ops.concatenate(
            _product(self.input_real, self.input_imaginary, real, imaginary), axis=-1
        )

    def compute_output_spec(self, inputs, scale=1.0, positions=None):
        length = inputs.shape[1] if positions is None else len(positions)
        return keras.KerasTensor((inputs.shape[0], length, inputs.shape[2]), self.compute_dtype)


def recurrence(real, imaginary, decay, angle):
    """Return the states `s[t] = exp(decay + i angle) s[t - 1] + x[t]` of all steps.

    The states within a chunk of steps are computed by one matrix product. They are carried from
    chunk to chunk in passes whose reach doubles each time. No power exceeds one, so nothing
    overflows. A Fourier transform is avoided, because its rounding error is that of the largest
    values, also for the smallest.

    Args:
        real: `(batch, time, states)`, real part of the inputs.
        imaginary: `(batch, time, states)`, imaginary part of the inputs.
        decay: `(states,)`, logarithm of the decay per step, negative.
        angle: `(states,)`, rotation per step, in radians.

    Returns:
        The real and the imaginary part of the states, each `(batch, time, states)`.
    """
    length, width = real.shape[1:]
    size = min(_CHUNK_LENGTH, length)
    chunks = -(-length // size)
    shape = (-1, chunks, size, width)
    # States within each chunk, as if the state before it were zero.
    padding = [[0, 0], [0, chunks * size - length], [0, 0]]
    parts = [ops.reshape(ops.pad(x, padding), shape) for x in (real, imaginary)]
    x = ops.concatenate(parts, axis=2)  # (batch, chunks, 2 * size, states)
    x = ops.einsum("bkjs,ijs->bkis", x, _chunk_matrix(decay, angle, size))
    real, imaginary = ops.split(x, 2, axis=2)
    if chunks > 1:
        # Add the state before each chunk, decayed to each of its steps.
        before = _states_before(real[:, :, -1], imaginary[:, :, -1], decay * size, angle * size)
        powers = _powers(decay, angle, np.arange(1, size + 1))
        carried = _product(*(x[:, :, None] for x in before), *powers)
        real, imaginary = real + carried[0], imaginary + carried[1]
    return tuple(ops.reshape(x, (-1, chunks * size, width))[:, :length] for x in (real, imaginary))


def _states_before(real, imaginary, decay, angle):
    """Return the state before each chunk, given the contribution of each chunk.

    The contributions and the result are real and imaginary parts `(batch, chunks, states)`.
    """
    chunks, reach = real.shape[1], 1
    while reach < chunks:
        shift = [[0, 0], [reach, 0], [0, 0]]
        past = (ops.pad(x[:, :-reach], shift) for x in (real, imaginary))
        added = _product(*past, *_powers(decay, angle, np.array([reach])))
        real, imaginary = real + added[0], imaginary + added[1]
        reach *= 2
    return tuple(ops.pad(x[:, :-1], [[0, 0], [1, 0], [0, 0]]) for x in (real, imaginary))


def _chunk_matrix(decay, angle, size):
    """Return the effect of each step on each later step of a chunk.

    The result has the shape `(2 * size, 2 * size, states)`. The first half of either of the first
    two axes is the real part, the second half the imaginary part.
    """
    powers = _powers(decay, angle, np.arange(size))
    steps = np.arange(size)
    distance = steps[:, None] - steps
    places = np.where(distance < 0, size, distance)  # row `size` is zero, for later steps
    real, imaginary = (ops.take(ops.pad(x, [[0, 1], [0, 0]]), places, axis=0) for x in powers)
    return ops.concatenate(
        [ops.concatenate([real, -imaginary], axis=1), ops.concatenate([imaginary, real], axis=1)],
        axis=0,
    )


def _powers(decay, angle, steps):
    """Return real and imaginary part `(len(steps), states)` of `exp((decay + i angle) steps)`."""
    steps = ops.convert_to_tensor(steps[:, None], dtype=decay.dtype)
    size = ops.exp(decay * steps)
    return size * ops.cos(angle * steps), size * ops.sin(angle * steps)


def _product(real, imaginary, other_real, other_imaginary):
    """Return the real and imaginary part of a complex product."""
    return (
        real * other_real - imaginary * other_imaginary,
        real * other_imaginary + imaginary * other_real,
    )
