"""A validation frame that early stopping monitors in place of the end of each series."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.data.panel import Panel
from kerastrans.data.window_index import training_cuts


@dataclass(frozen=True)
class Validation:
    """Series whose last steps are validation rows.

    Attributes:
        panel: `Panel` of the series, each preceded by its training rows, if any, as context.
        steps: ints `(series,)`, number of last steps of each series that are validation rows.
    """

    panel: Panel
    steps: np.ndarray

    def cuts(self, config):
        """Return `(series, cuts)` of the windows whose targets are validation rows."""
        size = config.context_length, config.prediction_length
        return training_cuts(self.panel, *size, held_out=self.steps, pad=config.short == "pad")[1]


def check_validation(validation, validation_size, source):
    """Raise an error if the arguments of `fit` for validation cannot be combined.

    Raises:
        TypeError: If `validation` is not a frame.
        ValueError: If it is given with `validation_size`, or with training data in a folder.
    """
    if validation is None:
        return
    if not isinstance(validation, pd.DataFrame):
        raise TypeError(f"validation must be a DataFrame, got {type(validation).__name__}.")
    if validation_size is not None:
        raise ValueError(
            f"validation and validation_size={validation_size} cannot be combined: give one."
        )
    if isinstance(source, str | Path):
        raise ValueError(
            "validation and training data in a folder cannot be combined: use validation_size."
        )


def read_validation(reader, training, frame, static):
    """Return the `Validation` of a frame, or None if there is no frame.

    Args:
        reader: `Reader` of the training data.
        training: `Panel` of the training data.
        frame: Frame with the columns of the training data: rows that follow those of the same
            series, or other series.
        static: Frame of static covariates of all series, or None.

    Raises:
        ValueError: If rows do not come after the training rows of their series.
        ValueError: If the frame is invalid, see `kerastrans.data.panel.read_panel`.
    """
    if frame is None:
        return None
    # A few rows are enough: their context is in the training data.
    panel = reader.with_config(replace(reader.config, short="pad")).panel(frame, static)
    ends = training.numbers(np.arange(len(training)), training.cuts).tolist()
    ends = dict(zip(training.names[:, 0], ends, strict=True))
    for name, begin in zip(panel.names[:, 0], panel.first.tolist(), strict=True):
        if begin < ends.get(name, begin):
            first, last = panel.clock.times([begin, ends[name] - 1])
            raise ValueError(
                f"validation of {name!r} begins at {first}, which is not after its last training "
                f"row at {last}: give the rows that follow, or other series."
            )
    joined = panel.after(training)
    kept = reader.without_short(joined)
    is_kept = np.isin(joined.names[:, 0], kept.names[:, 0])
    return Validation(kept, panel.lengths[is_kept])
