"""A state space model whose steps depend on its inputs, computed in parallel."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.recurrent.linear_recurrence import linear_recurrence
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class SelectiveStateSpace(keras.layers.Layer):
    """Diagonal state space whose step size, input and output maps depend on the inputs.

    Each feature has `state_dim` states: `s' = exp(d A) s + d B x`, `y = C s + D x`. The step sizes
    `d` and the vectors `B` and `C` are linear in the inputs. All steps are computed by a parallel
    scan, in full precision.

    Args:
        state_dim: int, number of states of each feature.
        rank: int, rank of the map to the step sizes.

    Call arguments:
        inputs: `(batch, time, d_model)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(SelectiveStateSpace(state_dim=4, rank=1)(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Gu, Dao (2023), "Mamba: Linear-time sequence modeling with selective state spaces",
    algorithm 2, with the Euler step for B of the authors' code.
    """

    def __init__(self, state_dim, rank, **kwargs):
        check_positive_integers(state_dim=state_dim, rank=rank)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.state_dim = state_dim
        self.rank = rank

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        rates = keras.initializers.Constant(np.log(np.arange(1.0, self.state_dim + 1)))
        self.log_rate = self.add_weight(
            shape=(width, self.state_dim), initializer=rates, name="log_rate"
        )
        self.skip = self.add_weight(shape=(width,), initializer="ones", name="skip")
        options = {"kernel_initializer": FanInUniform(), "dtype": self.dtype_policy}
        self.select = keras.layers.Dense(
            self.rank + 2 * self.state_dim, use_bias=False, **options, name="select"
        )
        self.select.build(inputs_shape)
        options["kernel_initializer"] = FanInUniform()
        self.step = keras.layers.Dense(width, activation="softplus", **options, name="step")
        self.step.build((*inputs_shape[:-1], self.rank))

    def call(self, inputs):
        ends = (self.rank, self.rank + self.state_dim)
        step, write, read = ops.split(self.select(inputs), ends, axis=-1)
        step = self.step(step)  # (batch, time, d_model)
        decay = ops.exp(step[..., None] * -ops.exp(self.log_rate))
        driven = (step * inputs)[..., None] * write[..., None, :]
        return (
            ops.sum(linear_recurrence(decay, driven) * read[..., None, :], axis=-1)
            + self.skip * inputs
        )

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "state_dim": self.state_dim, "rank": self.rank}
