"""Rows of a frame of their own that end a training, in place of the end of each series."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID
from kerastrans.data.panel import Panel
from kerastrans.data.parquet import first_frame
from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.training.defaults import HeldOut, held_out


@dataclass(frozen=True)
class Validation:
    """Series whose last steps validate, and do not train.

    Attributes:
        panel: `Panel` of them, each with its training rows before, where it has any: these are
            context.
        steps: ints `(series,)`, last steps of each whose values validate.
    """

    panel: Panel
    steps: np.ndarray

    def cuts(self, config):
        """`(series, cuts)` of the windows whose targets are among these steps."""
        size = config.context_length, config.prediction_length
        return training_cuts(self.panel, *size, held_out=self.steps, pad=config.short == "pad")[1]


def what_is_held_out(config, frame, validation, validation_size, epochs):
    """The `HeldOut` part of the training data, before they are read.

    Args:
        config: `Config`.
        frame: as in `Forecaster.fit`, like the following.
        validation: frame, or None.
        validation_size: int, or None.
        epochs: int, or None.

    Raises:
        TypeError: A `validation` that is no frame.
        ValueError: It is given with `validation_size`, or with training data in a folder.
    """
    if validation is None:
        if validation_size is None and epochs is None:
            return held_out(first_frame(frame), config.prediction_length)
        return HeldOut(validation_size or 0)
    if not isinstance(validation, pd.DataFrame):
        raise TypeError(f"validation must be a DataFrame, got {type(validation).__name__}.")
    if validation_size is not None:
        raise ValueError(
            f"validation and validation_size={validation_size} exclude each other: give one."
        )
    if isinstance(frame, str | Path):
        raise ValueError(
            "validation and training data in a folder exclude each other: use validation_size."
        )
    return HeldOut()


def read_validation(reader, frame, panels, validation, static):
    """The `Validation` of a frame; None of None.

    Args:
        reader: `Reader` of the training data.
        frame: training data, long or wide.
        panels: list of the `Panel` of them.
        validation: frame of the same columns: rows that follow those of the same series, or other
            series.
        static: frame of static covariates of all of them, or None.

    Raises:
        ValueError: Rows that do not come after the training rows of their series.
        ValueError: Bad frames, see `kerastrans.data.panel.read_panel`.
    """
    if validation is None:
        return None
    (panel,) = panels
    # The context of a few rows is in the training data.
    own = reader.with_config(replace(reader.config, short="pad")).panel(validation, static)
    begins = dict(zip(own.names[:, 0], own.first.tolist(), strict=True))
    ends = panel.numbers(np.arange(len(panel)), panel.cuts).tolist()
    for name, end in zip(panel.names[:, 0], ends, strict=True):
        if begins.get(name, end) < end:
            first, last = panel.clock.times([begins[name], end - 1])
            raise ValueError(
                f"validation of {name!r} begins at {first}, which is not after its last training "
                f"row at {last}: give the rows that follow, or other series."
            )
    if ID in frame.columns:
        frame = frame[frame[ID].isin(validation[ID])]
    joined = reader.panel(pd.concat([frame, validation]), static)
    ends = joined.numbers(np.arange(len(joined)), joined.cuts)
    pairs = zip(joined.names[:, 0], ends, strict=True)  # one with a fault in `own` has no steps
    return Validation(joined, ends - [begins.get(name, end) for name, end in pairs])
