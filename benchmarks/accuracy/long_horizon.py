"""Train architectures as their papers did, and measure them on the test split once.

    python -m benchmarks.accuracy.long_horizon --models dlinear,patchtst --datasets etth1

One row a run is added to results/long_horizon.csv; runs that stand there are not run again. The
settings, with their sources, are in kerastrans/models/settings/<model>.toml; the protocol is in
benchmarks/README.md.
"""

import argparse
import math
import time
from pathlib import Path

import keras
import numpy as np

from benchmarks.common import RESULTS, append_row, backend_name, keys_of, names
from kerastrans import datasets, zoo
from kerastrans.data import StandardScaler, chronological_split, window_dataset
from kerastrans.layers.frequency.correlation_basis import adapt_layers
from kerastrans.models.architecture import HORIZONS, HORIZONS_OF

DATASETS = ("etth1", "etth2", "exchange_rate", "illness")
KEY = ("model", "dataset", "horizon", "context_length", "seed")
COLUMNS = (
    *KEY,
    "mse",
    "mae",
    "validation_mse",
    "best_epoch",
    "epochs",
    "parameters",
    "seconds",
    "backend",
    "keras",
)
SCHEDULES = {  # factor of the rate in an epoch, by a run's settings
    "halve": lambda epoch, _: 0.5 ** max(0, epoch - 1),  # "type1" of the Informer line
    "decay": lambda epoch, settings: settings["decay"] ** max(0, epoch - 3),  # "type3"
    "cosine": lambda epoch, settings: (1 + math.cos(math.pi * epoch / settings["epochs"])) / 2,
    # Of xPatch: a rise over ten epochs, then a slow fall.
    "sigmoid": lambda epoch, _: (
        _sigmoid((epoch - 10) / 2) - _sigmoid(epoch / 20 - 5) if epoch else 1
    ),
}


def falling_mae(y_true, y_pred):
    """Mean absolute error whose weight falls with the step, from 1 to 0.21.

    Args:
        y_true: Targets `(batch, prediction_length, num_channels)`.
        y_pred: Forecasts of the same shape.

    Returns:
        A scalar tensor: the mean of the absolute errors, those of step i, counted from 1, times
        1 + pi / 4 - arctan(i).

    Source: Stitsyuk, Choi (2025), xPatch, "arctangent loss".
    """
    return _weighted_mae(y_true, y_pred, lambda step: 1 + math.pi / 4 - np.arctan(step))


def decaying_mae(y_true, y_pred):
    """Mean absolute error whose weight falls with the step, by its square root.

    Args:
        y_true: Targets `(batch, prediction_length, num_channels)`.
        y_pred: Forecasts of the same shape.

    Returns:
        A scalar tensor: the mean of the absolute errors, those of step i, counted from 1, divided
        by the square root of i.

    Source: Wang et al. (2024), CARD, "signal decay-based loss".
    """
    return _weighted_mae(y_true, y_pred, lambda step: 1 / np.sqrt(step))


def _weighted_mae(y_true, y_pred, weigh):
    """Mean absolute error, weighed by a function of the steps, which are counted from 1."""
    weights = weigh(np.arange(1, y_pred.shape[1] + 1)).astype("float32")[:, None]
    return keras.ops.mean(keras.ops.abs(y_true - y_pred) * weights)


LOSSES = {"falling_mae": falling_mae, "decaying_mae": decaying_mae}  # beside those of Keras


class OneCycle(keras.optimizers.schedules.LearningRateSchedule):
    """Rate that rises by half a cosine from a 25th of its maximum, and falls to a 250,000th.

    Args:
        rate: float, the largest rate.
        steps: int, number of training steps.
        rise: float in (0, 1), share of the steps in which the rate rises.
    """

    def __init__(self, rate, steps, rise):
        self.rate = rate
        self.top = rise * steps - 1
        self.last = steps - 1

    def __call__(self, step):
        step = keras.ops.cast(step, "float32")
        rising = self._between(self.rate / 25, self.rate, step / self.top)
        fall = (step - self.top) / (self.last - self.top)
        return keras.ops.where(
            step <= self.top, rising, self._between(self.rate, self.rate / 250_000, fall)
        )

    def _between(self, start, end, share):
        return end + (start - end) / 2 * (1 + keras.ops.cos(math.pi * share))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, required=True, help="comma-separated")
    parser.add_argument("--datasets", type=names, default=DATASETS)
    parser.add_argument(
        "--horizons", type=numbers, help="default: 96,192,336,720; illness: 24,36,48,60"
    )
    parser.add_argument("--context-length", type=int, help="in place of the paper's")
    parser.add_argument("--seed", type=int, default=2021)
    table = parser.add_mutually_exclusive_group()
    table.add_argument("--output", type=Path, default=RESULTS / "long_horizon.csv")
    table.add_argument(
        "--settings",
        help="train by this model's instead, without its hyperparameters, and add the rows to "
        "results/long_horizon-SETTINGS.csv",
    )
    parser.add_argument("--verbose", type=int, default=0, help="as in model.fit")
    options = parser.parse_args()
    path = options.output
    if options.settings:
        path = RESULTS / f"long_horizon-{options.settings}.csv"

    for dataset in options.datasets:
        default = HORIZONS_OF.get(dataset, HORIZONS)
        for model in options.models:
            for horizon in options.horizons or default:
                settings = zoo.info(options.settings or model).settings(dataset, horizon)
                if options.settings:
                    settings["hyperparameters"] = {}
                if options.context_length:
                    settings["context_length"] = options.context_length
                key = (model, dataset, horizon, settings["context_length"], options.seed)
                run_once(path, key, settings, options.verbose)


def run_once(path, key, settings, verbose=0):
    """Run what does not stand in the table yet, and add its row."""
    if tuple(map(str, key)) in done(path):
        return
    row = run(*key, settings, verbose)
    append(path, row)
    model, dataset, horizon, *_ = key
    print(f"{model:18} {dataset:14} {horizon:4}  MSE {row['mse']}  MAE {row['mae']}", flush=True)


def run(model_name, dataset, horizon, context_length, seed, settings, verbose=0):
    """Train, choose the epoch on validation, test once: a row of the table."""
    train, validation, test = load_parts(
        model_name, dataset, horizon, context_length, settings, seed
    )
    keras.utils.set_random_seed(seed)
    num_channels = datasets.info(dataset).channels
    model = zoo.build(
        model_name, context_length, horizon, num_channels, **settings["hyperparameters"]
    )
    adapt_layers(model, lambda: [training_rows(dataset)])
    start = time.perf_counter()
    losses = fit(model, train, validation, settings, verbose)
    seconds = time.perf_counter() - start
    mse, mae = test_errors(model, test)
    return {
        "model": model_name,
        "dataset": dataset,
        "horizon": horizon,
        "context_length": context_length,
        "seed": seed,
        "mse": f"{mse:.4f}",
        "mae": f"{mae:.4f}",
        "validation_mse": f"{min(losses):.4f}" if losses else "",
        "best_epoch": int(np.argmin(losses)) + 1 if losses else 0,
        "epochs": len(losses),
        "parameters": model.count_params(),
        "seconds": f"{seconds:.1f}",
        "backend": backend_name(),
        "keras": keras.__version__,
    }


def load_parts(model_name, dataset, horizon, context_length, settings, seed):
    """Training, validation and test windows, standardised by the training rows."""
    parts = standardised_rows(dataset, context_length)
    rows, validation_rows = len(parts[0]), len(parts[1]) - context_length
    firsts = (0, rows - context_length, rows + validation_rows - context_length)
    positions = "position" in zoo.info(model_name).inputs
    return [
        window_dataset(
            part,
            context_length,
            horizon,
            batch_size=settings["batch_size"],
            shuffle=i == 0,
            seed=seed,
            first_position=first if positions else None,
        )
        for i, (part, first) in enumerate(zip(parts, firsts, strict=True))
    ]


def standardised_rows(dataset, context_length):
    """Rows of the three parts `(time, num_channels)`, standardised by the training rows.

    Validation and test rows begin with `context_length` rows of the part before.
    """
    values = datasets.load(dataset).to_numpy()
    parts = chronological_split(values, datasets.info(dataset).splits, context_length)
    scaler = StandardScaler.fit(parts[0])
    return [scaler.transform(part) for part in parts]


def training_rows(dataset):
    """Standardised rows of the training part, `(time, num_channels)`."""
    return standardised_rows(dataset, context_length=0)[0]


def fit(model, train, validation, settings, verbose=0):
    """Train as the settings say; returns the validation loss of each epoch."""
    if not model.trainable_weights:
        return []
    callbacks = [
        keras.callbacks.EarlyStopping(patience=settings["patience"], restore_best_weights=True)
    ]
    rate = settings["learning_rate"]
    if settings["schedule"] == "one_cycle":  # by step
        rate = OneCycle(rate, settings["epochs"] * len(train), settings["rise"])
    else:
        callbacks.append(keras.callbacks.LearningRateScheduler(lambda x: rate_of(x, settings)))
    optimizer = keras.optimizers.Adam(rate, beta_1=settings.get("beta_1", 0.9), epsilon=1e-8)
    loss = settings.get("loss", "mse")
    model.compile(optimizer, LOSSES.get(loss, loss))
    history = model.fit(
        train,
        validation_data=validation,
        epochs=settings["epochs"],
        shuffle=False,  # the dataset does
        verbose=verbose,
        callbacks=callbacks,
    )
    return history.history["val_loss"]


def rate_of(epoch, settings):
    """Learning rate in an epoch, counted from 0."""
    factor = SCHEDULES[settings["schedule"]](epoch, settings)
    if epoch == 0:
        factor = settings.get("first_rate", factor)
    return settings["learning_rate"] * factor


def test_errors(model, test):
    """MSE and MAE over all windows, steps and channels, in standardised units."""
    squared, absolute = window_errors(model, test)
    return squared.mean(), absolute.mean()


def window_errors(model, test):
    """Mean squared and mean absolute error of each window, two arrays `(windows,)`."""
    squared, absolute = [], []
    for inputs, targets in test:
        errors = np.asarray(model.predict_on_batch(inputs), "float64") - np.asarray(targets)
        squared.append(np.square(errors).mean(axis=(1, 2)))
        absolute.append(np.abs(errors).mean(axis=(1, 2)))
    return np.concatenate(squared), np.concatenate(absolute)


def done(path):
    """Keys of the runs in the table."""
    return keys_of(path, KEY)


def append(path, row):
    """Add a run to the table."""
    append_row(path, COLUMNS, row, line_end="\n")


def _sigmoid(x):
    return 1 / (1 + math.exp(-x))


def numbers(text):
    """Numbers of a comma-separated option as a tuple."""
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    main()
