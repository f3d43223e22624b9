"""Time stamps in requests, in place of the calendar features that are computed from them."""

import datetime
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.data.time.clock import Clock
from kerastrans.export.encodings import LAST_TIME
from kerastrans.serving.requests import RequestError

FUTURE = "future_covariates"


@dataclass(frozen=True)
class TimeStamps:
    """Inputs of a model that the service computes from the time stamp of the last known step.

    Attributes:
        clock: `Clock` of the model.
        steps: Numbers of the steps of a window, 0 for the last known one.
        num_features: int, number of calendar features; 0 without a calendar.
        num_columns: int, number of future covariates before them.
        has_position: bool, whether the model has an input for the number of the first step.
    """

    clock: Clock
    steps: np.ndarray
    num_features: int
    num_columns: int
    has_position: bool

    @classmethod
    def of(cls, forecaster, symbols):
        """Return the `TimeStamps` of a forecaster; None if its model reads no time stamps.

        Args:
            forecaster: Trained `kerastrans.Forecaster`.
            symbols: Dict of the names of the model's inputs to their KerasTensors.
        """
        state = forecaster.fitted
        features = 2 * len(state.clock.calendar_names) if state.config.calendar else 0
        has_position = "position" in symbols
        if state.clock is None or not (features or has_position):
            return None
        steps = np.arange(1 - forecaster.context_length, forecaster.prediction_length + 1)
        return cls(state.clock, steps, features, len(state.covariates.future), has_position)

    def fill_in(self, instance, number):
        """Return an instance with the computed inputs in place of its time stamp, if it has one.

        Args:
            instance: Dict of inputs.
            number: int, place of the instance in the request, for messages.

        Raises:
            RequestError: If the time stamp is not on the clock of the model, the covariates that
                it completes have another shape, or both are missing.
        """
        if LAST_TIME not in instance:
            if self.num_features and FUTURE not in instance:
                raise RequestError(
                    f"instance {number} has no {LAST_TIME!r}, the time stamp of its last step."
                )
            return instance
        others = {name: x for name, x in instance.items() if name != LAST_TIME}
        last = self._number(instance[LAST_TIME], number)
        if self.has_position:
            others["position"] = last + int(self.steps[0])
        if self.num_features:
            features = self.clock.calendar(last + self.steps).tolist()
            rows = others.get(FUTURE, [[]] * len(features) if not self.num_columns else None)
            shape = len(features), self.num_columns
            if not _has_shape(rows, shape):
                raise RequestError(
                    f"{FUTURE!r} of instance {number} must have shape {shape} next to "
                    f"{LAST_TIME!r}: the calendar features are computed."
                )
            others[FUTURE] = [[*row, *more] for row, more in zip(rows, features, strict=True)]
        return others

    def _number(self, text, number):
        """Return the number of a time stamp on the clock."""
        subject = f"{LAST_TIME!r} of instance {number}"
        try:
            stamp = datetime.datetime.fromisoformat(text)
        except (TypeError, ValueError):
            raise RequestError(
                f"{subject} must be an ISO 8601 time stamp such as '2024-01-31T00:00', got "
                f"{text!r}."
            ) from None
        try:
            numbers, on_grid = self.clock.numbers(pd.DatetimeIndex([stamp]))
            self.clock.check(numbers + self.steps[-1])
        except ValueError as error:
            raise RequestError(f"{subject}: {error}") from None
        if not on_grid[0]:
            near = self.clock.times(numbers)[0]
            raise RequestError(
                f"{subject} is {text!r}, which is not on the clock of the model, of frequency "
                f"{self.clock.freq!r}; {str(near)!r} is."
            )
        return int(numbers[0])


def _has_shape(rows, shape):
    """Return whether nested lists have the shape of a table."""
    is_table = isinstance(rows, list) and len(rows) == shape[0]
    return is_table and all(isinstance(row, list) and len(row) == shape[1] for row in rows)
