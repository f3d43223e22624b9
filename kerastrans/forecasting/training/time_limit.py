"""Time limit of a training: what its parts take, and when training has to end for the others."""

from collections import deque
from time import monotonic

import keras
import numpy as np

from kerastrans.utils.user_warnings import warn_user

NUM_TIMED = 200  # latest training steps whose median duration counts
FORWARD_SHARE = 0.5  # of the time of a training step, or its compilation, for the forward pass
MAX_OVERRUN = 0.1  # share of the limit that may be needed in addition, without a warning
COMPILATION_PER_BUILDING = 1.5  # ratio of the seconds of a first step to those before it


class TimeLimitWarning(UserWarning):
    """A time limit was exceeded, because a compilation cannot be interrupted."""


class TimeLimit:
    """Time limit of a fit, and the measured seconds of its parts.

    Attributes:
        ended_after: int, number of steps after which it ended the training; 0 if it did not.
        step: float, median seconds of a training step; 0 before the second one. The median leaves
            out a batch of another size, because the model is compiled again for it.
        compilation: float, difference of the first step from it in seconds.
        validation: float, seconds of the latest validation; None before the first one ended.
        first_step: float, seconds of the first training step, with its compilation.
        first_forecast: float, seconds of the first forecast of held-out rows, with its compilation.

    Args:
        seconds: float, above 0. The clock starts here.
    """

    def __init__(self, seconds):
        self.seconds, self.began = seconds, monotonic()
        self.step = self.compilation = self.first_step = self.first_forecast = 0.0
        self.began_building, self.ended_after = None, 0
        self.validation = None

    @property
    def left(self):
        """Seconds that are left; negative after the end."""
        return self.began + self.seconds - monotonic()

    def start_building(self):
        """Measure the time from here on, to estimate the time of a training step from it."""
        self.began_building = monotonic()

    def reason_not_to_begin(self):
        """Return why the time is too short to compile and take a training step; None if not.

        It is estimated by the time since `start_building`, in which the model was built, and
        published weights were compiled, if any are compared.
        """
        needed = COMPILATION_PER_BUILDING * (monotonic() - (self.began_building or monotonic()))
        if self.left >= needed:
            return None
        return (
            f"time_limit={self.seconds:g} leaves {max(self.left, 0):.0f} s, and compiling and the "
            f"first training step take about {needed:.0f} s on this machine"
        )

    def warn_if_exceeded(self):
        """Warn if more than a tenth of the limit was needed in addition, and what took so long."""
        if self.left >= -MAX_OVERRUN * self.seconds:
            return
        parts = {"training step": self.first_step, "forecast": self.first_forecast}
        took = " and ".join(f"the first {name} took {x:.0f} s" for name, x in parts.items() if x)
        warn_user(
            f"time_limit={self.seconds:g} was exceeded by {-self.left:.0f} s: a compilation cannot "
            f"be interrupted{took and f'; {took}'}.",
            TimeLimitWarning,
        )

    def estimate_forecast(self, windows_per_step):
        """Return the estimated seconds of a compiled forecast of the validation windows.

        Args:
            windows_per_step: float, number of validation windows per window of a training step.
        """
        if self.validation is not None:
            return self.validation
        return FORWARD_SHARE * self.step * windows_per_step

    def callback(self, reserve):
        """Return the callback that ends a training in time, see `StopInTime`."""
        return StopInTime(self, reserve)


class StopInTime(keras.callbacks.Callback):
    """Callback that measures training steps, and ends a training after one of them, if it is late.

    Args:
        limit: `TimeLimit`.
        reserve: Function from the number of training steps to the seconds that are needed after
            the last one.
    """

    def __init__(self, limit, reserve):
        super().__init__()
        self.limit, self.reserve = limit, reserve
        self.steps = 0  # since this training began
        self.durations = deque(maxlen=NUM_TIMED)  # of the steps after the first one

    def on_train_begin(self, logs=None):
        """Start to measure."""
        self.latest = monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        """Leave out what is between two epochs."""
        self.latest = monotonic()

    def on_train_batch_end(self, batch, logs=None):
        """Measure a step, and stop if another one would end too late."""
        now = monotonic()
        duration, self.latest = now - self.latest, now
        self.steps += 1
        if self.steps == 1:
            self.first = duration
            self.limit.first_step = self.limit.first_step or duration
        else:
            self.durations.append(duration)
            self.limit.step = float(np.median(self.durations))
            self.limit.compilation = max(0.0, self.first - self.limit.step)
        if self.limit.left < self.limit.step + self.reserve(self.steps):
            self.limit.ended_after = self.steps
            self.model.stop_training = True

    def on_test_begin(self, logs=None):
        """Start to measure a validation."""
        self.validation = [monotonic()]

    def on_test_batch_end(self, batch, logs=None):
        """End the first validation if the limit has passed; later ones are complete."""
        self.validation.append(monotonic())
        if self.limit.validation is None and self.limit.left < 0:
            self.model.stop_evaluating = True

    def on_test_end(self, logs=None):
        """Measure a validation by its median batch: the model is compiled for some of them."""
        durations = np.diff(self.validation)
        if len(durations):
            self.limit.validation = float(np.median(durations)) * len(durations)
