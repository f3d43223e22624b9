"""Runs of `kerastrans train`: the folder that a run writes, and how it is resumed."""

import os
import shutil
import time

from kerastrans.cli.outputs import note
from kerastrans.utils.validation import check_can_create, check_new


def training_folder(output):
    """Return the folder of a run that is not finished."""
    return output.with_name(f"{output.name}.training")


def check_folders(output, resume=False):
    """Check that a run can begin, or can be resumed.

    Raises:
        FileExistsError: If `output` or an unfinished training exists.
        FileNotFoundError: If there is nothing to resume.
        OSError: If `output` cannot be created.
    """
    check_can_create(output)
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
    others=None,
):
    """Train a forecaster, test it once on the end of each series, and write the folder.

    Args:
        train_on: Function `(frame, folder)` that returns a trained `Forecaster`. The folder
            contains the state of an interrupted run, if any.
        series: `kerastrans.cli.split.Series`.
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
        others: Functions like `train_on` of forecasters to compare with, which are not kept.

    Returns:
        The trained `Forecaster`.

    Raises:
        ValueError: If the data or settings are invalid. After any error, a run whose first epoch is
            complete can be resumed, if `resumable`; another one does not block a new run.
    """
    from kerastrans.cli.report import write_training_report

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
        done = training / "done"
        shutil.rmtree(done, ignore_errors=True)  # from a run that was killed while it wrote
        forecaster.save(done)
        text = write_training_report(
            done, forecaster, series.frame, train, backtest, title, seconds, compared
        )
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
        series: `kerastrans.cli.split.Series`.
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
