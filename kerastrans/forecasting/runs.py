"""One training run and the folder it leaves: settings, model, scaler, history, report, picture."""

import contextlib
import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from kerastrans import __version__, datasets
from kerastrans.data import (
    StandardScaler,
    check_frame,
    chronological_split,
    read_csv,
    sliding_windows,
    window_dataset,
)
from kerastrans.evaluation import plotting
from kerastrans.evaluation import windows as evaluation
from kerastrans.evaluation.windows import ForecastError, forecast_windows
from kerastrans.forecasting.settings import PRECISIONS, Settings
from kerastrans.models import build_transformer_model
from kerastrans.utils.files import load_model
from kerastrans.utils.validation import (
    check_choice,
    check_new,
    check_non_negative,
    check_positive_integers,
)

# Rows in the period that a series of this frequency most often has.
SEASONS = {"min": 1440, "h": 24, "D": 7, "B": 5, "W": 52, "M": 12, "Q": 4, "Y": 1}


@dataclass(frozen=True)
class Run:
    """A trained run, as `train` returns it and `load_run` reads it back."""

    settings: Settings
    columns: list
    model: keras.Model
    scaler: StandardScaler


def load_series(data):
    """A named dataset, or a CSV file, as a checked DataFrame."""
    if str(data).lower().endswith(".csv"):
        return check_frame(read_csv(data), name=str(data))
    return datasets.load(data)


def train(settings, folder, resume=False):
    """Train the encoder-decoder Transformer on a series and write all there is to know to a folder.

    Chronological split, standardisation by the training rows, teacher forcing; after each epoch
    the validation windows are forecast step by step, and the epoch with the smallest error is
    kept. The test windows are read once, at the end.

    Args:
        settings: `Settings`.
        folder: to write, which must not exist, unless `resume`.
        resume: bool, whether to go on with the interrupted run in `folder`.

    Returns:
        The `Run`. The folder then holds settings.json, model.keras, history.csv, report.json,
        report.txt and forecast.png; checkpoint/ while it trains.

    Raises:
        FileExistsError: the folder exists and `resume` is False.
        FileNotFoundError: there is nothing to resume.
        ValueError: bad settings or data; other settings than those of the run to resume.
    """
    folder = Path(folder)
    if not resume:
        check_new(folder)
    check_positive_integers(batch_size=settings.batch_size, epochs=settings.epochs)
    check_non_negative(learning_rate=settings.learning_rate)
    check_choice("precision", settings.precision, PRECISIONS)
    keras.losses.get(settings.loss)  # raises here, not in the first training step
    frame = load_series(settings.data)
    settings = _complete(settings, frame)
    windows = settings.context_length, settings.prediction_length
    values = frame.to_numpy("float64")
    rows = [len(part) for part in chronological_split(values, settings.sizes)]
    parts = chronological_split(values, settings.sizes, context_length=windows[0])
    test_contexts, test_targets = sliding_windows(parts[2], *windows)
    scaler = StandardScaler.fit(parts[0])
    keras.utils.set_random_seed(settings.seed)
    training = window_dataset(
        scaler.transform(parts[0]),
        *windows,
        batch_size=settings.batch_size,
        shuffle=True,
        seed=settings.seed,
        teacher_forcing=True,
    )
    validation = sliding_windows(scaler.transform(parts[1]), *windows)
    model = _build(settings, frame.shape[1], steps=settings.epochs * len(training))

    _open_folder(folder, settings, scaler, list(frame.columns), resume)
    seconds = _fit(model, training, validation, folder, settings.epochs)

    model = keras.saving.load_model(folder / "model.keras")
    run = Run(settings, list(frame.columns), model, scaler)
    forecasts = {"Transformer": forecast_windows(model, test_contexts, windows[1], scaler)}
    if settings.season <= windows[0]:
        forecasts[f"seasonal naive ({settings.season})"] = evaluation.seasonal_naive(
            test_contexts, windows[1], settings.season
        )
    forecasts["last value"] = evaluation.last_value(test_contexts, windows[1])
    table = evaluation.compare(forecasts, test_targets, parts[0], settings.season)
    _write_report(run, folder, table, frame, rows, seconds)
    end = sum(rows) - windows[1]  # where the last test window starts to forecast
    _draw(run, frame.iloc[:end], frame.iloc[end : end + windows[1]], forecasts, folder)
    return run


def load_run(folder):
    """Read a trained `Run` back from its folder.

    Raises:
        FileNotFoundError: the folder holds no finished run.
    """
    folder = Path(folder)
    if not (folder / "report.json").is_file():
        raise FileNotFoundError(f"{folder} holds no finished run of `kerastrans train`.")
    config = json.loads((folder / "settings.json").read_text())
    model = load_model(folder / "model.keras")
    scaler = StandardScaler.from_dict(config["scaler"])
    return Run(_settings(config["settings"]), config["columns"], model, scaler)


def forecast(run, frame):
    """Forecast what comes behind a frame.

    Args:
        run: `Run`.
        frame: DataFrame as `read_csv` returns it, of at least `context_length` rows; it must
            hold the columns that the run was trained on.

    Returns:
        DataFrame of `prediction_length` rows behind the frame's, with the same columns.

    Raises:
        ValueError: a column is missing, or the frame is shorter than the context.
    """
    missing = [c for c in run.columns if c not in frame.columns]
    if missing:
        raise ValueError(f"the data lack column(s) {missing}; they have {list(frame.columns)}.")
    context_length, steps = run.settings.context_length, run.settings.prediction_length
    if len(frame) < context_length:
        raise ValueError(f"a forecast needs {context_length} rows of history, got {len(frame)}.")
    context = frame[run.columns].to_numpy("float64")[None, -context_length:]
    values = forecast_windows(run.model, context, steps, run.scaler)[0]
    return pd.DataFrame(values, _future(frame.index, steps), run.columns)


def _complete(settings, frame):
    """The settings with what depends on the data filled in."""
    known = datasets.info(settings.data) if settings.data in datasets.names() else None
    season = settings.season or (known and known.season)
    sizes = settings.sizes or (known and known.splits) or (0.7, 0.1, 0.2)
    if season is None:
        season = SEASONS.get(
            frame.index.freqstr.split("-")[0].removesuffix("S").removesuffix("E"), 1
        )
    check_positive_integers(season=season)
    return _settings({**asdict(settings), "season": season, "sizes": sizes})


def _settings(config):
    return Settings(**{**config, "sizes": tuple(config["sizes"])})


def _build(settings, num_channels, steps):
    keras.config.set_dtype_policy(settings.precision)
    model = build_transformer_model(
        (settings.context_length, num_channels),
        settings.key_dim,
        settings.num_heads,
        settings.ff_dim,
        settings.num_encoder_blocks,
        settings.num_decoder_blocks,
        settings.dropout,
        d_model=settings.d_model,
        norm=settings.norm,
        decoder_noise=settings.decoder_noise,
    )
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, steps, warmup_target=settings.learning_rate, warmup_steps=max(1, steps // 20)
    )
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), loss=settings.loss)
    return model


def _open_folder(folder, settings, scaler, columns, resume):
    """Start a run's folder, or check that it is the one to resume."""
    path = folder / "settings.json"
    config = {"settings": asdict(settings), "columns": columns, "scaler": scaler.to_dict()}
    config = json.loads(json.dumps(config))  # as it will be read back: no tuples
    if not resume:
        folder.mkdir(parents=True)
        path.write_text(json.dumps(config, indent=2) + "\n")
        return
    if not path.is_file():
        raise FileNotFoundError(f"nothing to resume: {folder} holds no settings.json.")
    if (folder / "report.json").exists():
        raise FileExistsError(f"nothing to resume: the run in {folder} is finished.")
    before = json.loads(path.read_text())
    changed = [key for key in config if config[key] != before[key]]
    if changed:
        raise ValueError(
            f"cannot resume {folder}: its {' and '.join(changed)} differ from those given; "
            f"see {path}."
        )


def _fit(model, training, validation, folder, epochs):
    """Fit, keeping the best epoch in model.keras; returns the seconds it took."""
    history = folder / "history.csv"
    errors = pd.read_csv(history)["val_forecast_mae"] if history.exists() else [np.inf]
    started = time.perf_counter()
    model.fit(
        training,
        epochs=epochs,
        shuffle=False,  # the dataset is shuffled already
        callbacks=[
            ForecastError(*validation),
            keras.callbacks.ModelCheckpoint(
                folder / "model.keras",
                monitor="val_forecast_mae",
                mode="min",
                save_best_only=True,
                initial_value_threshold=min(errors),
            ),
            keras.callbacks.CSVLogger(history, append=True),
            keras.callbacks.BackupAndRestore(folder / "checkpoint"),
        ],
    )
    return time.perf_counter() - started


def _write_report(run, folder, table, frame, rows, seconds):
    history = pd.read_csv(folder / "history.csv")
    report = {
        "settings": asdict(run.settings),
        "data": {
            "columns": run.columns,
            "first": str(frame.index[0]),
            "last": str(frame.index[-1]),
            "frequency": frame.index.freqstr,
            "rows": dict(zip(("train", "validation", "test"), rows, strict=True)),
        },
        "metrics": table.to_dict(orient="index"),
        "parameters": run.model.count_params(),
        "best_epoch": int(history["val_forecast_mae"].argmin()) + 1,
        "training_seconds": round(seconds, 1),
        "environment": environment(),
    }
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    lines = [
        f"{run.model.name} on {run.settings.data}, {report['parameters']:,} parameters, "
        f"best epoch {report['best_epoch']} of {len(history)}, {seconds:.0f} s",
        f"test windows: {run.settings.context_length} steps of history, "
        f"{run.settings.prediction_length} ahead; MASE over season {run.settings.season}",
        "",
        table.round(3).to_string(),
        "",
        *(f"{key}: {value}" for key, value in asdict(run.settings).items()),
        "",
        *(f"{key}: {value}" for key, value in report["environment"].items()),
    ]
    (folder / "report.txt").write_text("\n".join(lines) + "\n")


def environment():
    """What a figure has to be read with: versions, backend, machine."""
    versions = {}
    for package in ("keras", "tensorflow", "jax", "torch", "numpy", "pandas"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "kerastrans": __version__,
        "python": platform.python_version(),
        **versions,
        "backend": keras.backend.backend(),
        "platform": platform.platform(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def _draw(run, history, actual, forecasts, folder):
    shown = {
        name: pd.DataFrame(values[-1], actual.index, run.columns)
        for name, values in forecasts.items()
        if name != "last value"
    }
    figure = plotting.plot_forecast(
        history.iloc[-run.settings.context_length :],
        shown,
        actual,
        title=f"{run.settings.data}: the last {len(actual)} steps of the test part",
    )
    figure.savefig(folder / "forecast.png", dpi=100)


def _future(index, steps):
    return pd.date_range(index[-1], periods=steps + 1, freq=index.freq, name=index.name)[1:]
