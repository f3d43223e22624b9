"""A run of `kerastrans train`: the folder that it leaves, and how it is resumed."""

import os
import shutil
import time

from kerastrans.utils.validation import check_new


def training_folder(output):
    """The folder of a run until it is finished."""
    return output.with_name(f"{output.name}.training")


def check_folders(output, resume=False):
    """Check that a run can begin, or be resumed.

    Raises:
        FileExistsError: there is something at `output`, or an unfinished training.
        FileNotFoundError: nothing to resume.
    """
    check_new(output)
    training = training_folder(output)
    if resume and not training.is_dir():
        raise FileNotFoundError(f"nothing to resume: there is no {training}.")
    if not resume and os.path.lexists(training):
        raise FileExistsError(
            f"there is an unfinished training of {output}: continue it with --resume, or remove "
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
):
    """Train a forecaster, test it once on the end of each series, and write the folder.

    Args:
        train_on: function `(frame, folder)` that returns a trained `Forecaster`; in the folder is
            what an interrupted run left.
        series: `kerastrans.cli.split.Series`.
        output: Path, folder to write: what `Forecaster.save` writes, report.txt, report.json,
            history.csv and forecast.png.
        prediction_length: int, steps to forecast.
        title: str, of the report.
        static: DataFrame of static covariates, or None.
        test_size: int, last steps of each series, which do not train; None for a fifth at most.
        levels: percents of the intervals, or None.
        resume: bool, whether to continue an interrupted run.

    Returns:
        The trained `Forecaster`.

    Raises:
        ValueError: bad data or settings; nothing is left then that blocks the next run.
    """
    from kerastrans.cli.report import write_report

    train, origins = series.split(prediction_length, test_size)
    training = training_folder(output)
    training.mkdir(parents=True, exist_ok=resume)
    try:
        started = time.perf_counter()
        forecaster = train_on(train, training)
        seconds = time.perf_counter() - started
        backtest = forecaster.backtest(series.frame, windows=origins, static=static, levels=levels)
        done = training / "done"
        shutil.rmtree(done, ignore_errors=True)  # of a run that was killed while it wrote
        forecaster.save(done)
        text = write_report(done, forecaster, series.frame, train, backtest, title, seconds)
        check_new(output)
        done.rename(output)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(": the same command with --resume continues the training") from None
    except Exception:
        if not resume:
            shutil.rmtree(training, ignore_errors=True)
        raise
    shutil.rmtree(training)
    print(f"{text}\nwritten to {output}")
    return forecaster


def fitting(forecaster, series, *, static=None, levels=None, quiet=False, **kwargs):
    """The function that `make_run` takes, of a forecaster that is not trained.

    Args:
        forecaster: `Forecaster`.
        series: `kerastrans.cli.split.Series`.
        static: DataFrame of static covariates, or None.
        levels: percents of the intervals that the run will ask for, or None.
        quiet: bool, whether to print nothing while it trains.
        **kwargs: of `Forecaster.fit`.

    Raises:
        ValueError: intervals of a point forecast.
    """
    if levels and forecaster.config.resolved_head.interval_levels == ():
        raise ValueError(
            f"levels={levels} need intervals, a point forecast has none: choose another head."
        )
    callbacks = [] if quiet else [_progress()]
    own = {"static": static, "freq": series.freq, "verbose": 0, "callbacks": callbacks}
    return lambda frame, folder: forecaster.fit(frame, checkpoint=folder, **own, **kwargs)


def _progress():
    """A callback that prints a line an epoch."""
    import keras

    def show(epoch, logs):
        losses = ", ".join(f"{name} {value:.4g}" for name, value in logs.items())
        print(f"epoch {epoch + 1}: {losses}", flush=True)

    return keras.callbacks.LambdaCallback(on_epoch_end=show)
