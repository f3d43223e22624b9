"""A learning rate that warms up, stays, and falls."""

import keras
import numpy as np
from keras import ops

SHARES = (0.05, 0.6, 0.35)  # of the training: warm-up, plateau, fall
LAST = 0.01  # of the rate, at the end


@keras.saving.register_keras_serializable(package="kerastrans_tools")
class WarmUpStayFall(keras.optimizers.schedules.LearningRateSchedule):
    """Rate of a step: rises from 0 linearly, stays, and falls along half a cosine.

    Args:
        rate: float, of the plateau.
        steps: float, number of steps of the whole training.
    """

    def __init__(self, rate, steps):
        super().__init__()
        self.rate, self.steps = rate, steps

    def __call__(self, step):
        place = ops.cast(step, "float32") / self.steps
        rises = ops.minimum(place / SHARES[0], 1.0)
        fallen = ops.clip((place - 1 + SHARES[2]) / SHARES[2], 0, 1)
        return self.rate * rises * (LAST + (1 - LAST) * (1 + ops.cos(np.pi * fallen)) / 2)

    def get_config(self):
        return {"rate": self.rate, "steps": self.steps}
