"""Runs of `kerastrans train`: the split of the data, the folder to write, and how to resume."""

import functools
import os
import shutil
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.cli.outputs import note
from kerastrans.data.frames import check_has_columns
from kerastrans.data.panel import Panel, read_panel
from kerastrans.data.time.seasons import season_of
from kerastrans.utils.validation import (
    check_can_create,
    check_new,
    check_positive_integers,
    list_names,
)

MAX_ORIGINS = 28  # maximum number of origins in the test part
TEST_DIVISOR = 5  # the default test part is at most a fifth of the series
MAX_STEPS = 96  # maximum default prediction length


@dataclass(frozen=True)
class Series:
    """The frame of a run and its panel, read without Keras.

    Attributes:
        frame: DataFrame of all rows, long or wide.
        panel: `Panel` of its values.
    """

    frame: pd.DataFrame
    panel: Panel

    @classmethod
    def of(cls, frame, covariates=(), freq=None):
        """Read a frame and warn of series that are left out.

        Args:
            frame: Long or wide DataFrame.
            covariates: Names of the columns of a wide frame that are not channels.
            freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

        Raises:
            ValueError: If the frame is invalid, see `read_panel`, or has no such column.
        """
        check_has_columns(frame, covariates, "covariates")
        panel = read_panel(frame.drop(columns=list(covariates)), freq=freq)
        if panel.faults:
            name, fault = next(iter(panel.faults.items()))
            warnings.warn(
                f"{len(panel.faults)} series left out: {name!r} has {fault}.", stacklevel=2
            )
        return cls(frame, panel)

    @property
    def freq(self):
        """Pandas frequency of the series, a str."""
        return self.panel.clock.freq

    @functools.cached_property
    def length(self):
        """Median number of steps of the series."""
        return int(np.median(self.panel.cuts - self.panel.begins))

    @property
    def season(self):
        """Default number of steps to forecast: a season, but at most an eighth of the series."""
        season = season_of(self.freq)
        return min(season if season > 1 else 12, MAX_STEPS, max(1, self.length // 8))

    def split(self, prediction_length, test_size=None):
        """Return the rows before the test part, and the number of origins in it.

        Args:
            prediction_length: int, number of steps to forecast.
            test_size: int, number of steps of the test part; None for a number of whole forecasts
                that is limited by `MAX_ORIGINS` and `TEST_DIVISOR`.

        Raises:
            ValueError: If the test part is shorter than a forecast, or leaves too few rows, or a
                channel without a value.
        """
        from kerastrans.forecasting.inference.rolling_origins import rows_until

        check_positive_integers(prediction_length=prediction_length)
        if test_size is None:
            origins = max(1, min(self.length // TEST_DIVISOR // prediction_length, MAX_ORIGINS))
            test_size = origins * prediction_length
        check_positive_integers(test_size=test_size)
        if test_size < prediction_length:
            raise ValueError(
                f"test_size={test_size} is shorter than a forecast of "
                f"prediction_length={prediction_length} steps."
            )
        num_train = self.length - test_size
        if num_train <= prediction_length:
            raise ValueError(
                f"a test part of {test_size} steps leaves {max(0, num_train)} of {self.length} for "
                f"training, but a window is longer than {prediction_length} steps."
            )
        self._check_channels(self.panel.cuts - test_size)
        train = rows_until(self.frame, self.panel, self.panel.cuts - test_size)
        return train, test_size // prediction_length

    def _check_channels(self, cuts):
        """Raise ValueError for channels without a value before these cuts, `(series,)`."""
        panel = self.panel.until(cuts)
        if panel.num_channels > 1 and len(empty := panel.channels_without_value()):
            raise ValueError(
                f"no value to train on in {list_names(empty)}: choose the other columns by "
                "--columns."
            )


def training_folder(output):
    """Return the folder of a run that is not finished."""
    return output.with_name(f"{output.name}.training")


def check_folders(output, resume=False, replace=False):
    """Check that a run can begin, or can be resumed.

    Raises:
        FileExistsError: If `output` exists, and is not a forecaster that the run may replace, or if
            an unfinished training exists.
        FileNotFoundError: If there is nothing to resume.
        OSError: If `output` cannot be created.
    """
    check_can_create(output, replace and (output / "forecaster.json").is_file())
    training = training_folder(output)
    if resume and not training.is_dir():
        raise FileNotFoundError(f"nothing to resume: {training} does not exist.")
    if not resume and os.path.lexists(training):
        raise FileExistsError(
            f"an unfinished training of {output} exists: continue it with --resume, or remove "
            f"{training}."
        )


def make_run(
    train_on,
    series,
    output,
    *,
    prediction_length,
    title,
    static=None,
    test_size=None,
    levels=None,
    resume=False,
    resumable=True,
    replace=False,
    others=None,
):
    """Train a forecaster, test it once on the end of each series, and write the folder.

    Args:
        train_on: Function `(frame, folder)` that returns a trained `Forecaster`. The folder
            contains the state of an interrupted run, if any.
        series: `kerastrans.cli.run.Series`.
        output: Path of the folder to write: the files of `Forecaster.save`, report.txt,
            report.json, report.html, history.csv and forecast.png.
        prediction_length: int, number of steps to forecast.
        title: str, title of the report.
        static: DataFrame of static covariates, or None.
        test_size: int, number of last steps of each series that are not used for training; None
            for at most a fifth of the series.
        levels: Percents of the intervals, or None.
        resume: bool, whether to continue an interrupted run.
        resumable: bool, whether the command can resume; otherwise an interrupted run is removed.
        replace: bool, whether a forecaster in `output` is replaced at the end.
        others: Functions like `train_on` of forecasters to compare with, which are not kept.

    Returns:
        The trained `Forecaster`.

    Raises:
        ValueError: If the data or settings are invalid. After any error, a run whose first epoch is
            complete can be resumed, if `resumable`; another one does not block a new run.
    """
    from kerastrans.cli.report import write_training_report, zero_backtest

    train, origins = series.split(prediction_length, test_size)
    training = training_folder(output)
    training.mkdir(parents=True, exist_ok=resume)
    try:
        started = time.perf_counter()
        forecaster = train_on(train, training)
        seconds = time.perf_counter() - started
        options = {"windows": origins, "static": static, "levels": levels}
        backtest = forecaster.backtest(series.frame, **options)
        trained = [function(train, None) for function in others or ()]
        compared = {x.alias: x.backtest(series.frame, **options) for x in trained}
        origins = {"windows": origins, "levels": levels}
        compared |= zero_backtest(backtest, forecaster, series.frame, **origins)
        done = training / "done"
        shutil.rmtree(done, ignore_errors=True)  # from a run that was killed while it wrote
        forecaster.save(done)
        text = write_training_report(
            done, forecaster, series.frame, train, backtest, title, seconds, compared
        )
        if replace and (output / "forecaster.json").is_file():
            output.rename(training / "former")
        check_new(output)
        done.rename(output)
    except (Exception, KeyboardInterrupt) as error:
        if not resumable:
            shutil.rmtree(training, ignore_errors=True)
        elif isinstance(error, KeyboardInterrupt):
            hint = ": the same command with --resume continues the training"
            raise KeyboardInterrupt(hint) from None
        elif not resume:
            _keep_or_remove(training)
        raise
    shutil.rmtree(training)
    print(f"{text}\nwritten to {output}")
    return forecaster


def _keep_or_remove(training):
    """Say that a training which has a checkpoint can be resumed, or remove it without one."""
    if any(path.is_file() for path in training.rglob("*")):
        note("kerastrans: the training is kept: --resume continues it")
    else:
        shutil.rmtree(training, ignore_errors=True)


def fitting(forecaster, series, *, static=None, levels=None, quiet=False, **kwargs):
    """Return the function `train_on` of `make_run` for an untrained forecaster.

    Args:
        forecaster: Untrained `Forecaster`.
        series: `kerastrans.cli.run.Series`.
        static: DataFrame of static covariates, or None.
        levels: Percents of the intervals that the run will request, or None.
        quiet: bool, whether to hide the progress of training.
        **kwargs: Arguments of `Forecaster.fit`.

    Raises:
        ValueError: If intervals are requested of a point forecast.
    """
    if levels and forecaster.config.resolved_head.interval_levels == ():
        raise ValueError(
            f"levels={levels} require intervals, which a point forecast lacks: use another head."
        )
    callbacks = [] if quiet else [_progress()]
    settings = {"static": static, "freq": series.freq, "verbose": 0, "callbacks": callbacks}
    return lambda frame, folder: forecaster.fit(frame, checkpoint=folder, **settings, **kwargs)


def _progress():
    """Return a callback that prints one line per epoch."""
    import keras

    def show(epoch, logs):
        losses = ", ".join(f"{name} {value:.4g}" for name, value in logs.items())
        print(f"epoch {epoch + 1}: {losses}", flush=True)

    return keras.callbacks.LambdaCallback(on_epoch_end=show)
