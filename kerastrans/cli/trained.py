"""Loading of the forecaster that a command uses: a trained one, or published weights."""

import argparse
import importlib.util
from pathlib import Path

from kerastrans.cli.options import BOUNDS, COLUMNS, DEFAULT, PAIRS, STEPS, flags, option, texts
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.startup import start_keras

TEXT = f"folder that train or Forecaster.save wrote; a preset; published weights such as {DEFAULT}"
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
    **BOUNDS,
}


def limits_of(bounds=(), **others):
    """Return the names of the columns in `--bounds`, among other options of a model."""
    return [bound for bound in bounds if isinstance(bound, str)]


def load_with_data(
    trained, data, weights, reading, *, static=None, future=None, fill_rows=False, once=False
):
    """Return the forecaster, the frame of the data, and what is known of the steps to forecast.

    Published weights are loaded after the data, which decide for how many steps; a trained
    forecaster before them, because it knows its covariates and how its training data were read.

    Args:
        trained: str, folder or name of the forecaster, or of published weights.
        data: str, name of a dataset or path of a file.
        weights: Dict of the options in `PUBLISHED` that were given.
        reading: Dict of the options in `DOOR` that were given.
        static: Path of a file of static covariates, or None.
        future: Path of a file of covariates that are known in advance, or None.
        fill_rows: bool, whether the empty rows at the end of the data are the steps to forecast.
        once: bool, see `load_published`.

    Returns:
        `Forecaster`, DataFrame, and a dict of the arguments "static", "future" and, if it is
        given, "prediction_length" of `predict`.

    Raises:
        ValueError: If the forecaster cannot be loaded, see `load_trained` and `load_published`, or
            has no such covariates.
        ValueError: If no row is empty, or a number of steps is given in addition to `fill_rows`.
    """
    known = {name: x for name, x in weights.items() if name == "prediction_length"}
    if fill_rows and known:
        raise ValueError(
            "--fill-rows forecasts as many steps as rows are empty: leave out --prediction-length."
        )
    forecaster, like, takes_static = None, None, False
    if is_published(trained):
        past, ahead = weights.get("past", ()), weights.get("known_ahead", ())
        takes_future = ahead = [*ahead, *limits_of(**weights)]
    else:
        others = {name: x for name, x in weights.items() if name not in known}
        forecaster = load_trained(trained, others, reading.get("freq"))
        config, state, like = forecaster.config, forecaster.fitted, forecaster.read_as
        past, ahead = config.past, [*config.future, *config.limits]
        takes_future = config.future or config.bounds
        # Conformal intervals may be those of groups, by a static column.
        takes_static = state.covariates.static or state.intervals
    if static is not None and not takes_static:
        raise ValueError(f"{trained} has no static covariates: leave out --static.")
    if future is not None and not takes_future:
        names = "" if forecaster else ", or name them with --future-columns"
        raise ValueError(
            f"{trained} has no covariates known in advance: leave out --future{names}."
        )
    covariates, rows = [*past, *ahead], None
    frame = read_series(data, reading, covariates, like=like)
    if fill_rows:
        frame, rows, known["prediction_length"] = _without_empty_rows(frame, covariates)
    if forecaster is None:
        freq = reading.get("freq")
        forecaster = load_published(trained, weights | known, freq, frame, once=once)
    from kerastrans.data.tables.reader import read_as_of

    like = read_as_of(frame) or like
    static = read_static(static, reading, like)
    if future is not None:
        of_series = ("exclude", "id_column", "target")
        reading = {name: x for name, x in reading.items() if name not in of_series}
        reading["columns"] = ahead
        if forecaster.fitted.freq is not None:
            reading["freq"] = forecaster.fitted.freq
        future = read_series(future, reading, ahead, like=like, with_values=False)
    if rows is not None and ahead:
        import pandas as pd

        future = pd.concat([rows, future])
    return forecaster, frame, {"static": static, "future": future, **known}


def _without_empty_rows(frame, covariates):
    """Return the frame without its empty last rows, their covariates, and their number.

    Raises:
        ValueError: If there are none.
    """
    import pandas as pd

    from kerastrans.data.frames import ID, TARGET, TIME, is_wide

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
    return frame[~is_last], frame[is_last].drop(columns=names), count


def load(trained, weights, freq=None):
    """Load the forecaster of a command that reads no data.

    Args:
        trained: str, folder or name of the forecaster, or of published weights.
        weights: Dict of the options in `PUBLISHED` that were given.
        freq: str, pandas frequency of the data, or None.

    Raises:
        ValueError: If it cannot be loaded, see `load_trained` and `load_published`.
    """
    load_it = load_published if is_published(trained) else load_trained
    return load_it(trained, weights, freq)


def load_trained(trained, weights, freq=None):
    """Load a trained forecaster.

    Args:
        trained: str, folder or name of the forecaster.
        weights: Dict of the options of published weights that were given, which it refuses.
        freq: str, pandas frequency of the data, or None.

    Raises:
        ValueError: If nothing was trained there, or a file is damaged.
        ValueError: If an option for published weights, or another frequency, is given.
    """
    if weights:
        flag = flags(PUBLISHED)[next(iter(weights))]
        raise ValueError(f"{trained} is trained: leave out {flag}, an option of published weights.")
    folder = Path(trained)
    if folder.is_dir() and not (folder / "forecaster.json").is_file():
        raise ValueError(
            f"{folder} does not contain a forecaster: expected the output of `kerastrans train` or "
            "`Forecaster.save`, a preset, or published weights."
        )
    start_keras()
    from kerastrans.data.time.frequency import check_same_frequency
    from kerastrans.forecasting.presets import catalog

    forecaster = catalog.load_trained(trained)
    check_same_frequency(freq, forecaster.fitted.freq, trained)
    return forecaster


def load_published(trained, weights, freq=None, frame=None, *, once=False):
    """Load published weights.

    Args:
        trained: str, folder or name of the weights.
        weights: Dict of the options in `PUBLISHED` that were given.
        freq: str, pandas frequency of the data, or None.
        frame: DataFrame to forecast, or None. If no number of steps is given, the weights forecast
            one season of it.
        once: bool, whether each series is forecast once. Few forecasts by kerastrans-zero are then
            computed with NumPy, without a compiler.

    Raises:
        ValueError: If neither a number of steps nor a frame is given, or an option is invalid.
    """
    arguments = {"past": (), "known_ahead": (), **weights}
    steps, future = (arguments.pop(x, None) for x in ("prediction_length", "known_ahead"))
    if steps is None and frame is None:
        raise ValueError(f"{trained} can forecast any number of steps: pass --prediction-length.")
    names = [*arguments["past"], *future]
    if frame is not None and (steps is None or trained == DEFAULT):
        from kerastrans.cli.run import Series

        series = Series.of(frame, freq=freq, covariates=[*names, *limits_of(**weights)])
        steps, freq = steps or series.season, series.freq
    is_small = once and trained == DEFAULT and steps * _num_series(frame) <= MAX_FOR_NUMPY
    # Keras on NumPy imports JAX.
    start_keras("numpy" if is_small and importlib.util.find_spec("jax") else None)
    from kerastrans.data.covariates import texts_of
    from kerastrans.forecasting.presets.pretrained import from_pretrained

    arguments["model_options"] = dict(arguments.get("model_options", ())) or None
    texts = {} if frame is None else texts_of(frame, names)
    arguments["categories"] = texts | dict(arguments.get("categories", ()))
    return from_pretrained(trained, steps, freq=freq, future=future, **arguments)


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
