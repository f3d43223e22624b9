"""The door of training data: a frame, or a folder of Parquet files, becomes panels."""

from pathlib import Path

from kerastrans.data.parquet import first_frame, list_partitions
from kerastrans.forecasting.inference.reader import Partitions, Reader
from kerastrans.forecasting.training.defaults import resolved


def open_training(config, state, frame, static, freq, held_out):
    """Return the `Reader` of training data, and their panels.

    Args:
        config: `Config`; the reader's has the architecture, context and calendar for these data.
        state: `FittedState` that is trained further, whose reader is used; None for a new one.
        frame: Frame, or folder of Parquet files.
        static: Frame of static covariates, or None.
        freq: Frequency of the frame; None to infer it.
        held_out: Number of last steps of each series that are not training rows.
    """
    if state is not None:
        reader = Reader.like(state).timed(frame, static, freq)
        return reader, reader.open(frame, static)
    reader, panel = Reader.first(config, first_frame(frame), static, freq, held_out)
    reader = reader.with_config(resolved(config, panel, held_out))
    is_folder = isinstance(frame, str | Path)
    return reader, Partitions(list_partitions(frame), reader, static) if is_folder else [panel]
