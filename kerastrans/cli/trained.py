"""Loading of the forecaster that a command uses: a trained one, or published weights."""

import argparse
import importlib.util
from pathlib import Path

from kerastrans.cli.options import COLUMNS, DOOR, HORIZON, PAIRS, STEPS, given, option, texts
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.startup import start_keras

TEXT = "folder that train or Forecaster.save wrote; a preset; published weights such as fracast_0"
DEFAULT = "kerastrans_zero_2"
ZERO = ("kerastrans_zero", DEFAULT)  # networks so small that NumPy can compute them
# Number of forecast values up to which NumPy takes less time than a compiler: about 0.4 s.
MAX_FOR_NUMPY = 256 * 24


def context(text):
    """Parse a number of steps, or "max"."""
    if text == "max" or text.removeprefix("-").isdigit():
        return text if text == "max" else int(text)
    raise argparse.ArgumentTypeError(f"expected a number of steps, or max, got {text!r}")


# Arguments of `kerastrans.from_pretrained`.
PUBLISHED = {
    "--prediction-length": option(
        "steps to forecast (default: those of training; for published weights, a season of the "
        "data)",
        STEPS,
    ),
    "--context-length": option(
        "steps of history, or max, only for published weights", STEPS, type=context
    ),
    "--set": option(
        "an option of the authors' package, only for published weights; may be repeated",
        PAIRS,
        dest="model_options",
    ),
    "--revision": option("commit, branch or tag of a name on the hub", metavar="COMMIT"),
    "--past": option("covariates of published weights, for the past", COLUMNS),
    "--future-columns": option(
        "covariates of published weights that are known in advance, see --future",
        COLUMNS,
        dest="known_ahead",
    ),
    "--categories": option(
        "texts of a covariate of published weights (default: those in the data, which export and "
        "serve do not have); may be repeated",
        {"type": texts, "action": "append", "metavar": "NAME=A,B"},
    ),
}


def load_with_data(options, once=False):
    """Return the forecaster, the frame of the data, and the files of covariates.

    Published weights are loaded after the data, which decide for how many steps; a trained
    forecaster before them, because it knows its covariates and how its training data were read.

    Args:
        options: Parsed options, with `trained`, `data`, and perhaps those of `PUBLISHED`.
        once: bool, see `load_forecaster`.

    Returns:
        `Forecaster`, DataFrame, and a dict of the arguments "static" and "future" of `predict`.
    """
    fills, rows = getattr(options, "fill_rows", False), None
    if is_published(options.trained):
        ahead = getattr(options, "known_ahead", ())
        _check_covariates(options, takes_static=False, takes_future=bool(ahead))
        covariates = [*getattr(options, "past", ()), *ahead]
        frame = read_series(options.data, options, covariates)
        if fills:
            frame, rows = _without_empty_rows(frame, options, covariates, ahead)
        forecaster = load_forecaster(options, frame, once)
    else:
        forecaster = load_forecaster(options)
        config = forecaster.config
        ahead, covariates = config.future, [*config.past, *config.future]
        frame = read_series(options.data, options, covariates, like=forecaster.read_as)
        if fills:
            frame, rows = _without_empty_rows(frame, options, covariates, ahead)
    like = forecaster.read_as
    known = {"static": read_static(options, like), "future": None}
    if hasattr(options, "future"):
        from kerastrans.data.tables.reader import read_as_of

        ahead = {"with_values": False, "like": like or read_as_of(frame)}
        ahead["columns"] = None  # --columns are those of the series
        if forecaster.fitted.freq is not None:
            ahead["freq"] = forecaster.fitted.freq
        known["future"] = read_series(options.future, options, forecaster.config.future, **ahead)
    if rows is not None:
        import pandas as pd

        known["future"] = pd.concat([rows, known["future"]])
    return forecaster, frame, known


def _without_empty_rows(frame, options, covariates, ahead):
    """Return the frame without its empty last rows, and their covariates, None without any.

    The number of these rows becomes `options.prediction_length`.

    Raises:
        ValueError: If there are none, or a number of steps is given too.
    """
    import pandas as pd

    from kerastrans.data.frames import ID, TARGET, TIME, is_wide

    if hasattr(options, "prediction_length"):
        raise ValueError(
            "--fill-rows forecasts as many steps as rows are empty: leave out --prediction-length."
        )
    names = [TARGET]
    if is_wide(frame):
        frame = frame.sort_index()
        names = frame.columns.difference(covariates)
        series = pd.Series(0, frame.index)
    else:
        frame = frame.sort_values([ID, TIME])
        series = frame[ID]
    backwards = frame[names].notna().any(axis=1)[::-1].astype(int).groupby(series[::-1].to_numpy())
    count = int((backwards.cumsum() == 0).groupby(series[::-1].to_numpy()).sum().min())
    if not count:
        raise ValueError("the last row has a value in at least one series: leave out --fill-rows.")
    is_last = (backwards.cumcount() < count)[::-1].to_numpy()
    options.prediction_length = count
    return frame[~is_last], frame[is_last].drop(columns=names) if ahead else None


def load_forecaster(options, frame=None, once=False):
    """Load the forecaster.

    Args:
        options: Parsed options, with `trained` and perhaps those of `PUBLISHED`.
        frame: DataFrame to forecast, or None. If no number of steps is given, published weights
            forecast one season of it.
        once: bool, whether each series is forecast once. Few forecasts by kerastrans-zero are then
            computed with NumPy, without a compiler.

    Raises:
        ValueError: If nothing was trained there, or a file is damaged.
        ValueError: If an option for published weights, or another frequency, is given for a
            trained forecaster, or a file of covariates for one that has none.
        ValueError: If published weights are given neither a number of steps nor a frame.
    """
    trained = options.trained
    if is_published(trained):
        return _load_published(options, frame, once)
    allowed = HORIZON if hasattr(options, "data") else {}
    for flag in [flag for flag in PUBLISHED if flag not in allowed]:
        if given(options, {flag: PUBLISHED[flag]}):
            raise ValueError(
                f"{trained} is trained: leave out {flag}, an option of published weights."
            )
    folder = Path(trained)
    if folder.is_dir() and not (folder / "forecaster.json").is_file():
        raise ValueError(
            f"{folder} does not contain a forecaster: expected the output of `kerastrans train` or "
            "`Forecaster.save`, a preset, or published weights."
        )
    start_keras()
    from kerastrans.data.time.frequency import check_same_frequency
    from kerastrans.forecasting.presets.catalog import load_trained

    forecaster = load_trained(trained)
    state = forecaster.fitted
    check_same_frequency(given(options, DOOR).get("freq"), state.freq, trained)
    _check_covariates(
        options,
        # Conformal intervals may be those of groups, by a static column.
        takes_static=bool(state.covariates.static or state.intervals),
        takes_future=bool(forecaster.config.future or forecaster.config.bounds),
    )
    return forecaster


def _check_covariates(options, *, takes_static, takes_future):
    """Raise ValueError for files of covariates that the forecaster does not have."""
    trained = options.trained
    if hasattr(options, "static") and not takes_static:
        raise ValueError(f"{trained} has no static covariates: leave out --static.")
    if hasattr(options, "future") and not takes_future:
        names = ", or name them with --future-columns" if is_published(trained) else ""
        raise ValueError(
            f"{trained} has no covariates known in advance: leave out --future{names}."
        )


def _load_published(options, frame, once):
    """Load published weights for the given number of steps, or for a season of the frame."""
    freq, arguments = given(options, DOOR).get("freq"), given(options, PUBLISHED)
    steps = arguments.pop("prediction_length", None)
    if steps is None and frame is None:
        raise ValueError(
            f"{options.trained} can forecast any number of steps: pass --prediction-length."
        )
    clock = freq
    if frame is not None and (steps is None or options.trained == DEFAULT):
        from kerastrans.cli.run import Series

        names = [*arguments.get("past", ()), *arguments.get("known_ahead", ())]
        series = Series.of(frame, freq=freq, covariates=names)
        steps, clock = steps or series.season, series.freq
    is_small = once and options.trained in ZERO and steps * _num_series(frame) <= MAX_FOR_NUMPY
    # Keras on NumPy imports JAX.
    start_keras("numpy" if is_small and importlib.util.find_spec("jax") else None)
    from kerastrans.data.covariates import texts_of
    from kerastrans.forecasting.presets.pretrained import from_pretrained
    from kerastrans.models.pretrained.shipped import options_for

    model_options = options_for(options.trained, clock)
    arguments["model_options"] = model_options | dict(arguments.get("model_options", ()))
    arguments["future"] = arguments.pop("known_ahead", ())
    names = [] if frame is None else [*arguments.get("past", ()), *arguments["future"]]
    arguments["categories"] = texts_of(frame, names) | dict(arguments.get("categories", ()))
    return from_pretrained(options.trained, steps, freq=freq, **arguments)


def _num_series(frame):
    """Return the number of series of a long or wide frame."""
    from kerastrans.data.frames import ID

    return frame[ID].nunique() if ID in frame else frame.shape[1]


def is_published(trained):
    """Return whether `trained` is a folder with published weights, or the name of some."""
    from kerastrans.forecasting.presets.sources import WEIGHTS, published_names
    from kerastrans.models.pretrained.hub import NAME

    if Path(trained).exists():
        return Path(trained, WEIGHTS).is_file()
    return trained in published_names() or NAME.fullmatch(trained) is not None
