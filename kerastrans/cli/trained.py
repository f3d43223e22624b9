"""Loading of the forecaster that a command uses: a trained one, or published weights."""

import argparse
import contextlib
import importlib.util
from pathlib import Path

from kerastrans.cli.options import DOOR, FORECASTER, given, hyperparameter, texts
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_positive_integers

TEXT = "folder that train or Forecaster.save wrote; a preset; published weights such as fracast_0"
DEFAULT = "kerastrans_zero_2"
ZERO = ("kerastrans_zero", DEFAULT)  # networks so small that NumPy can compute them
# Number of forecast values up to which NumPy takes less time than a compiler: about 0.4 s.
MAX_FOR_NUMPY = 256 * 24
HORIZON = {
    "--prediction-length": {
        **FORECASTER["--prediction-length"],
        "help": "steps to forecast (default: those of training; for published weights, a season of "
        "the data)",
    },
}


def context(text):
    """Parse a number of steps, or "max"."""
    if text == "max" or text.removeprefix("-").isdigit():
        return text if text == "max" else int(text)
    raise argparse.ArgumentTypeError(f"expected a number of steps, or max, got {text!r}")


# Arguments of `kerastrans.from_pretrained`.
PUBLISHED = {
    **HORIZON,
    "--context-length": {
        "type": context,
        "metavar": "STEPS",
        "help": "steps of history, or max, only for published weights",
    },
    "--set": {
        "type": hyperparameter,
        "action": "append",
        "metavar": "NAME=VALUE",
        "dest": "model_options",
        "help": "an option of the authors' package, only for published weights; may be repeated",
    },
    "--revision": {"metavar": "COMMIT", "help": "commit, branch or tag of a name on the hub"},
    "--past": {**FORECASTER["--past"], "help": "covariates of published weights, for the past"},
    "--future-columns": {
        **FORECASTER["--future-columns"],
        "dest": "known_ahead",
        "help": "covariates of published weights that are known in advance, see --future",
    },
    "--categories": {
        "type": texts,
        "action": "append",
        "metavar": "NAME=A,B",
        "help": "texts of a covariate of published weights (default: those in the data, which "
        "export and serve do not have); may be repeated",
    },
}


def read_facts(options, takes_horizon=False):
    """Return the covariates and the frequency of a trained forecaster, without importing Keras.

    Args:
        options: Parsed options, with `trained` and perhaps those of `PUBLISHED`.
        takes_horizon: bool, whether a trained forecaster can be asked for another number of steps.

    Returns:
        Dict of "covariates", a list of column names, "known_ahead", those of them that are known in
        advance, "freq", and "read_as", how the file of the training data was read.

    Raises:
        ValueError: If nothing was trained there, or a file is damaged.
        ValueError: If an option for published weights, or another frequency, is given for a
            trained forecaster, or a file of covariates for one that has none.
    """
    from kerastrans.forecasting.presets.sources import open_preset

    trained = options.trained
    check_positive_integers(**given(options, HORIZON))
    if is_published(trained):
        past, ahead = (list(getattr(options, name, ())) for name in ("past", "known_ahead"))
        _check_covariates(options, {"takes_static": False, "takes_future": bool(ahead)})
        return {"covariates": [*past, *ahead], "known_ahead": ahead, "freq": None, "read_as": None}
    folder = Path(trained)
    with contextlib.nullcontext(folder) if folder.is_dir() else open_preset(trained) as folder:
        facts = _facts_in(folder)
    _check_covariates(options, facts)
    freq = given(options, DOOR).get("freq")
    if freq is not None:
        from kerastrans.data.time.frequency import check_same_frequency

        check_same_frequency(freq, facts["freq"], trained)
    allowed = HORIZON if takes_horizon else {}
    refused = {flag: option for flag, option in PUBLISHED.items() if flag not in allowed}
    for flag, option in refused.items():
        if given(options, {flag: option}):
            raise ValueError(
                f"{trained} is trained: leave out {flag}, an option of published weights."
            )
    return facts


def _check_covariates(options, facts):
    """Raise ValueError for files of covariates that the forecaster does not have."""
    for option, kind in (
        ("static", "static covariates"),
        ("future", "covariates known in advance"),
    ):
        if hasattr(options, option) and not facts[f"takes_{option}"]:
            names = ", or name them with --future-columns" if is_published(options.trained) else ""
            names = names if option == "future" else ""
            raise ValueError(f"{options.trained} has no {kind}: leave out --{option}{names}.")


def load_forecaster(options, frame=None, once=False):
    """Load the forecaster.

    Args:
        options: Parsed options, see `read_facts`.
        frame: DataFrame to forecast, or None. If no number of steps is given, published weights
            forecast one season of it.
        once: bool, whether each series is forecast once. Few forecasts by kerastrans-zero are then
            computed with NumPy, without a compiler.

    Raises:
        ValueError: If published weights are given neither a number of steps nor a frame.
    """
    if is_published(options.trained):
        return _load_published(options, frame, once)
    start_keras()
    from kerastrans.forecasting.presets.catalog import load_trained

    return load_trained(options.trained)


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
        from kerastrans.cli.split import Series

        names = [*arguments.get("past", ()), *arguments.get("known_ahead", ())]
        series = Series.of(frame, freq=freq, covariates=names)
        steps, clock = steps or series.sizes["prediction_length"], series.freq
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


def horizon(options):
    """Return the argument `prediction_length` of a method of the loaded forecaster, if any."""
    return {} if is_published(options.trained) else given(options, HORIZON)


def is_published(trained):
    """Return whether `trained` is a folder with published weights, or the name of some."""
    from kerastrans.forecasting.presets.sources import WEIGHTS, published_names
    from kerastrans.models.pretrained.hub import NAME

    if Path(trained).exists():
        return Path(trained, WEIGHTS).is_file()
    return trained in published_names() or NAME.fullmatch(trained) is not None


def _facts_in(folder):
    """Return the facts of `read_facts` from a forecaster's folder."""
    from kerastrans.utils.files import read_json

    path = folder / "forecaster.json"
    if not path.is_file():
        raise ValueError(
            f"{folder} does not contain a forecaster: expected the output of `kerastrans train` or "
            "`Forecaster.save`, a preset, or published weights."
        )
    content = read_json(path, {})
    stored = content.get("fitted", content)
    try:
        past, ahead = (
            [column["name"] for column in stored["covariates"][kind]] for kind in ("past", "future")
        )
        clock = stored["clock"]
        freq = clock and clock["freq"]
        # Conformal intervals may be those of groups, by a static column.
        takes_static = bool(stored["covariates"].get("static") or stored.get("intervals"))
        return {
            "covariates": [*past, *ahead],
            "known_ahead": ahead,
            "freq": freq,
            "read_as": stored.get("read_as"),
            "takes_static": takes_static,
            "takes_future": bool(ahead or (content.get("config") or {}).get("bounds")),
        }
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: {error!r}.") from None
