"""`kerastrans train`, `kerastrans demo` and `kerastrans select`."""

import itertools
from pathlib import Path

from kerastrans.cli.options import (
    DOOR,
    EXISTS,
    FIT,
    FLAG,
    FORECASTER,
    HORIZON,
    LEVELS,
    SECONDS,
    STATIC,
    STEPS,
    TIME_LIMIT,
    add_options,
    given,
    option,
    positive,
    replaces,
)
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.startup import start_keras
from kerastrans.cli.trained import limits_of
from kerastrans.utils.validation import check_percents, check_positive_integers

DATA = "name of a dataset, or CSV file: long (unique_id, ds, y), or with one column per channel"
MODEL = "nhits"  # trains in seconds and is the best bundled preset at 24 hours
TRANSFORMER = "decoder_transformer"  # that the demo compares with the model
LESSON = "lesson_transformer"
LESSON_SIZES = {
    "d_model": 32,
    "num_heads": 2,
    "key_dim": 16,
    "ff_dim": 64,
    "num_encoder_blocks": 1,
    "num_decoder_blocks": 1,
    "dropout": 0.0,
    "decoder_noise": 1.0,
}
TRAINING = {
    "--model": option(f"name from `kerastrans zoo`, or {LESSON} (default: {MODEL})"),
    "--learning-rate": option(
        "learning rate of Adam with clipped gradients", type=positive, metavar="RATE"
    ),
    "--precision": option("auto, float32, tf32, bfloat16 or float16"),
}
TEST = {
    "--test-size": option(
        "last steps of each series, used only for the report (default: at most a fifth)", STEPS
    )
}
DEMO_SIZES = {"context_length": 168, "prediction_length": 24}
DEMO = {"batch_size": 128, "epochs": 10}
QUIET = {"--quiet": option("print no progress", FLAG)}
SELECTION = {
    "--time-limit": option("seconds that the selection takes at most (default: 600)", SECONDS),
    **{flag: FORECASTER[flag] for flag in ("--past", "--future-columns", "--seed")},
}


def add_commands(add):
    """Add the commands; `add(name, run, text)` creates a parser."""
    train = add("train", run_train, "train a model on series, and write a folder for forecasting")
    train.add_argument("data", help=DATA)
    train.add_argument("--output", type=Path, required=True, help="folder to write")
    train.add_argument("--resume", action="store_true", help="continue an interrupted training")
    add_options(train, EXISTS, TRAINING, TEST, FORECASTER, FIT, TIME_LIMIT, LEVELS)
    add_options(train, DOOR, STATIC, QUIET)

    demo = add("demo", run_demo, "train, forecast, plot and export on a real series")
    demo.add_argument("--output", type=Path, help="folder to write (default: saved_models/demo-N)")
    add_options(demo, QUIET)

    select = add("select", run_select, "try several models in a time limit, and average the best")
    select.add_argument("data", help=DATA)
    select.add_argument("--output", type=Path, required=True, help="folder to write")
    select.add_argument("--resume", action="store_true", help="continue an interrupted selection")
    add_options(select, EXISTS, SELECTION, HORIZON, TEST, LEVELS, DOOR, STATIC, QUIET)


def run_train(options):
    """Read the data, train a forecaster, and write its folder."""
    from kerastrans.cli.run import fitting, make_run
    from kerastrans.forecasting.inference.recipe import Training
    from kerastrans.models import registry

    data, run, reading = options.data, _run(options), given(options, DOOR, STATIC)
    fit, limit, settings = (given(options, table) for table in (FIT, TIME_LIMIT, TRAINING))
    arguments, quiet = given(options, FORECASTER), given(options, QUIET)

    check_positive_integers(**fit)
    recipe = Training(**fit, **limit)
    if "epochs" in fit and limit:
        raise ValueError("--epochs and --time-limit cannot be combined: leave one of them out.")
    hyperparameters = dict(arguments.pop("hyperparameters", ()))
    model = settings.get("model", MODEL)
    if model != LESSON:
        registry.check_hyperparameters(model, hyperparameters)
        if "size" in arguments:
            registry.check_size(model, arguments["size"])
    series, static = _read(data, run, arguments, **reading)
    arguments = {"prediction_length": series.season, **arguments, "training": recipe}

    start_keras()
    if "precision" in settings:
        from kerastrans.utils import precision

        precision.use(settings["precision"])
    rate = settings.get("learning_rate")
    forecaster = make_forecaster(model, rate, **arguments | hyperparameters)
    steps, title = forecaster.prediction_length, f"{model} on {data}"
    train_on = fitting(forecaster, series, static=static, levels=run.get("levels"), **quiet)
    make_run(train_on, series, prediction_length=steps, title=title, static=static, **run)


def _run(options):
    """Return the arguments of `make_run` that the options of `train` and `select` give."""
    run = {"output": options.output, "resume": options.resume, "replace": replaces(options)}
    return run | given(options, TEST, LEVELS)


def _read(data, run, arguments, static=None, **reading):
    """Check the folder to write and read the data.

    Args:
        data: str, name of a dataset or path of a file.
        run: Dict of arguments of `make_run`.
        arguments: Dict that may name covariates, as "past", "future" and "bounds".
        static: Path of a file of static covariates, or None.
        **reading: Options in `DOOR`.

    Returns:
        `Series`, and the DataFrame of static covariates or None.
    """
    from kerastrans.cli.run import Series, check_folders
    from kerastrans.data.tables.reader import read_as_of

    check_folders(run["output"], run["resume"], run["replace"])
    check_percents(run.get("levels", ()))
    covariates = [*arguments.get("past", ()), *arguments.get("future", ()), *limits_of(**arguments)]
    frame = read_series(data, reading, covariates)
    static = read_static(static, reading, read_as_of(frame))
    in_columns = [name for name in covariates if name in frame.columns]
    return Series.of(frame, in_columns, reading.get("freq")), static


def make_forecaster(model, learning_rate=None, **kwargs):
    """Return an untrained `Forecaster` for the given options.

    Args:
        model: str, name of an architecture of the zoo, or `LESSON`.
        learning_rate: float, or None for the default optimizer of the Forecaster.
        **kwargs: Arguments of `Forecaster`.
    """
    import keras

    from kerastrans.forecasting.forecaster import Forecaster

    if learning_rate is not None:
        kwargs["optimizer"] = keras.optimizers.Adam(learning_rate, clipnorm=1.0)
    if model == LESSON:
        return Forecaster(_build_lesson_transformer, alias=LESSON, **kwargs)
    return Forecaster(model, **kwargs)


def _build_lesson_transformer(context_length, prediction_length, num_channels, **hyperparameters):
    """Build the lesson's Transformer, trained by teacher forcing and decoded step by step."""
    from kerastrans.models.transformer import build_transformer_model

    return build_transformer_model((context_length, num_channels), **LESSON_SIZES | hyperparameters)


def run_demo(options):
    """Train on hourly flights, export the model, and forecast in a process without kerastrans.

    The model is compared with an autoregressive Transformer, and with naive forecasts.
    """
    from kerastrans import datasets
    from kerastrans.cli.run import Series, check_folders, fitting, make_run

    quiet = given(options, QUIET)
    folder = options.output or next_folder(Path("saved_models"), "demo")
    check_folders(folder)
    frame = datasets.load("nyc_departures")
    series = Series.of(frame)
    start_keras()
    import keras
    import numpy as np

    from kerastrans.export import run_savedmodel

    forecaster, other = (make_forecaster(x, **DEMO_SIZES) for x in (MODEL, TRANSFORMER))
    make_run(
        fitting(forecaster, series, **quiet, **DEMO),
        series,
        folder,
        prediction_length=forecaster.prediction_length,
        title=f"{MODEL} on nyc_departures",
        resumable=False,
        others=[fitting(other, series, quiet=True, **DEMO)],
    )
    if keras.backend.backend() != "tensorflow":
        print("no SavedModel: Keras runs on another backend than TensorFlow")
        return
    forecaster.export(folder / "savedmodel")
    predicted = forecaster.predict(frame)
    here = predicted.pivot(index="ds", columns="unique_id", values=forecaster.alias)[frame.columns]
    history = frame.to_numpy("float32")[None, -forecaster.context_length :]
    there = run_savedmodel(folder / "savedmodel", history)[0]
    difference = float(np.abs(here.to_numpy() - there).max())
    print(f"SavedModel, in a process without kerastrans: largest difference {difference:.1e}")
    if not np.allclose(here, there, rtol=1e-4, atol=1e-4 * float(frame.std().max())):
        raise RuntimeError("the forecasts of the exported model differ from the trained model's.")


def next_folder(parent, stem):
    """Return the first of stem-1, stem-2 ... that neither exists nor is being trained."""
    from kerastrans.cli.run import training_folder

    folders = (parent / f"{stem}-{number}" for number in itertools.count(1))
    return next(x for x in folders if not x.exists() and not training_folder(x).exists())


def run_select(options):
    """Read the data, select an ensemble of models, and test it once."""
    from kerastrans.cli.run import make_run

    data, run, reading = options.data, _run(options), given(options, DOOR, STATIC)
    arguments, horizon = given(options, SELECTION), given(options, HORIZON)
    verbose = not given(options, QUIET)
    series, static = _read(data, run, arguments, **reading)
    horizon = {"prediction_length": series.season, **horizon}
    start_keras()
    from kerastrans.forecasting.selection.search import select

    def train_on(part, folder):
        settings = {"folder": folder / "candidates", "verbose": verbose, **horizon, **arguments}
        return select(part, static=static, freq=series.freq, **settings)

    title = f"selection on {data}"
    selected = make_run(train_on, series, title=title, static=static, **horizon, **run)
    print(f"\n{selected.leaderboard.round(4).to_string(index=False, na_rep='')}")
