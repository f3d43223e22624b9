"""`kerastrans train` and `kerastrans demo`."""

import itertools
from pathlib import Path

from kerastrans.cli.options import (
    DOOR,
    FIT,
    FORECASTER,
    LEVELS,
    STATIC,
    TIME_LIMIT,
    add_options,
    given,
    positive,
)
from kerastrans.cli.reading import read_series, read_static
from kerastrans.cli.startup import start_keras
from kerastrans.utils.validation import check_percents, check_positive_integers

DATA = "name of a dataset, or CSV file: long (unique_id, ds, y), or with one column per channel"
MODEL = "nhits"  # trains in seconds and is the best bundled preset at 24 hours
TRANSFORMER = "decoder_transformer"  # that the demo compares with the model
LESSON = "lesson_transformer"
TRAINING = {
    "--model": {
        "metavar": "NAME",
        "help": f"name from `kerastrans zoo`, or {LESSON} (default: {MODEL})",
    },
    "--learning-rate": {
        "type": positive,
        "metavar": "RATE",
        "help": "learning rate of Adam with clipped gradients",
    },
    "--precision": {"metavar": "NAME", "help": "auto, float32, tf32, bfloat16 or float16"},
    "--test-size": {
        "type": int,
        "metavar": "STEPS",
        "help": "last steps of each series, used only for the report (default: at most a fifth)",
    },
}
DEMO = {"batch_size": 128, "epochs": 10}
QUIET = {"--quiet": {"action": "store_true", "help": "print no progress"}}


def add_commands(add):
    """Add both commands; `add(name, run, text)` creates a parser."""
    train = add("train", run_train, "train a model on series, and write a folder for forecasting")
    train.add_argument("data", help=DATA)
    train.add_argument("--output", type=Path, required=True, help="folder to write")
    train.add_argument("--resume", action="store_true", help="continue an interrupted training")
    add_options(train, TRAINING, FORECASTER, FIT, TIME_LIMIT, LEVELS, DOOR, STATIC, QUIET)

    demo = add("demo", run_demo, "train, forecast, plot and export on a real series")
    demo.add_argument("--output", type=Path, help="folder to write (default: saved_models/demo-N)")
    add_options(demo, QUIET)


def run_train(options):
    """Read the data, train a forecaster, and write its folder."""
    from kerastrans.cli.run import check_folders, fitting, make_run
    from kerastrans.cli.split import Series
    from kerastrans.forecasting.inference.recipe import Training
    from kerastrans.models import registry

    check_folders(options.output, options.resume)
    check_percents(given(options, LEVELS).get("levels", ()))
    check_positive_integers(**given(options, FIT))
    recipe = Training(**given(options, FIT, TIME_LIMIT))
    if hasattr(options, "epochs") and hasattr(options, "time_limit"):
        raise ValueError("--epochs and --time-limit cannot be combined: leave one of them out.")
    arguments = given(options, FORECASTER)
    hyperparameters = dict(arguments.pop("hyperparameters", ()))
    model = getattr(options, "model", MODEL)
    if model != LESSON:
        registry.check_hyperparameters(model, hyperparameters)
        if "size" in arguments:
            registry.check_size(model, arguments["size"])
    covariates = [*arguments.get("past", ()), *arguments.get("future", ())]
    frame = read_series(options.data, options, covariates)
    static = read_static(options)
    in_columns = [name for name in covariates if name in frame.columns]
    series = Series.of(frame, in_columns, given(options, DOOR).get("freq"))

    start_keras()
    settings = given(options, TRAINING)
    if "precision" in settings:
        from kerastrans.utils import precision

        precision.use(settings["precision"])
    rate = settings.get("learning_rate")
    arguments |= {"training": recipe}
    forecaster = make_forecaster(model, rate, **series.sizes | arguments | hyperparameters)
    levels, quiet = given(options, LEVELS), given(options, QUIET)
    make_run(
        fitting(forecaster, series, static=static, **levels, **quiet),
        series,
        options.output,
        prediction_length=forecaster.prediction_length,
        title=f"{model} on {options.data}",
        static=static,
        test_size=settings.get("test_size"),
        resume=options.resume,
        **levels,
    )


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
        from kerastrans.cli.lesson import lesson_transformer

        return Forecaster(lesson_transformer, alias=LESSON, **kwargs)
    return Forecaster(model, **kwargs)


def run_demo(options):
    """Train on hourly flights, export the model, and forecast in a process without kerastrans.

    The model is compared with an autoregressive Transformer, and with naive forecasts.
    """
    from kerastrans import datasets
    from kerastrans.cli.run import check_folders, fitting, make_run
    from kerastrans.cli.split import Series

    folder = options.output or next_folder(Path("saved_models"), "demo")
    check_folders(folder)
    frame = datasets.load("nyc_departures")
    series = Series.of(frame)
    start_keras()
    import keras
    import numpy as np

    from kerastrans.export import run_savedmodel

    forecaster, other = (make_forecaster(x, **series.sizes) for x in (MODEL, TRANSFORMER))
    make_run(
        fitting(forecaster, series, **given(options, QUIET), **DEMO),
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
