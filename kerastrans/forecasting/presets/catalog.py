"""Trained forecasters as folders with a model card and checksums; some come with the package."""

from pathlib import Path

import pandas as pd

from kerastrans import datasets
from kerastrans.data import chronological_split
from kerastrans.forecasting.inference.preset_files import CARD, CONTENT, FORMAT, sha256, write
from kerastrans.forecasting.presets.sources import FOLDER, find, names, opened
from kerastrans.utils.files import read_json

__all__ = ["FOLDER", "card", "check", "evaluate", "load", "load_trained", "names", "write"]


def load(source, checksum=None, *, revision=None, verbose=True):
    """A trained forecaster, see `kerastrans.zoo.from_preset`."""
    from kerastrans.forecasting.forecaster import (
        Forecaster,  # Keras is imported to load, not to list
    )

    with opened(str(source), checksum, revision, verbose) as folder:
        check(folder)
        return Forecaster.load(folder)


def load_trained(source):
    """A forecaster: a preset's, or that of a folder which `Forecaster.save` wrote."""
    from kerastrans.forecasting.forecaster import Forecaster

    if (Path(source) / "forecaster.json").is_file() and not (Path(source) / CARD).is_file():
        return Forecaster.load(source)
    return load(source)


def card(source):
    """The model card, a dict, of an installed preset by its name, or of a folder.

    Raises:
        ValueError: an unknown name, a folder that is no preset, or one of another format.
    """
    path = find(str(source)) / CARD
    stored = read_json(path, {"format": int})
    if stored["format"] != FORMAT:
        versions = stored.get("versions")
        maker = "of another version"
        if isinstance(versions, dict):
            maker = versions.get("kerastrans", maker)
        raise ValueError(
            f"{path.parent} is a preset of format {stored['format']} that kerastrans {maker} "
            f"made, this one reads format {FORMAT}: install that version."
        )
    return stored


def evaluate(forecaster, dataset):
    """Errors of a forecaster on the test split of a named dataset, beside the baselines'.

    Every origin of the test part, one step apart; the values are standardised by each channel's
    training rows, as the papers do.

    Args:
        forecaster: `Forecaster`, trained on the dataset's training part.
        dataset: one of `kerastrans.datasets.names()`, wide.

    Raises:
        ValueError: a dataset of many series, which has no parts.

    Returns:
        DataFrame with a row for the forecaster, "seasonal_naive" and "last_value", and columns
        "mse", "mae"; of the forecaster also "crps", "coverage-80" ..., if it has intervals.
    """
    from kerastrans.evaluation import backtesting
    from kerastrans.forecasting.forecaster import Forecaster

    known = datasets.info(dataset)
    if not known.splits:
        raise ValueError(f"{dataset} has no training, validation and test part.")
    frame = datasets.load(dataset)
    train, validation, test = chronological_split(frame, known.splits)
    until = len(train) + len(validation) + len(test)
    context, steps = forecaster.fitted.config.context_length, forecaster.prediction_length
    options = {"prediction_length": steps, "head": "point"}
    season = {"season": known.season, "context_length": max(context, known.season)}
    models = (
        forecaster,
        Forecaster("seasonal_naive", **season, **options).fit(train),
        Forecaster("last_value", 1, **options).fit(train),
    )
    rows = {}
    for model in models:
        backtest = model.backtest(frame[:until], windows=len(test) - steps + 1, step=1)
        center, scale = (backtest["unique_id"].map(x) for x in (train.mean(), train.std(ddof=0)))
        values = backtest.columns.difference(["unique_id", "ds", "cutoff"])
        backtest[values] = backtest[values].sub(center, axis=0).div(scale, axis=0)
        errors = backtesting.score(backtest).iloc[0]
        row = {"mse": errors["rmse"] ** 2, "mae": errors["mae"]}
        row |= errors.filter(regex="crps|coverage").to_dict()
        rows[model.alias] = row
    return pd.DataFrame(rows).T


def check(folder):
    """Raise ValueError unless a folder is a preset of this format whose files are its card's."""
    folder = Path(folder)
    card(folder)
    wanted = read_json(folder / CARD, {"sha256": dict})["sha256"]
    for name in CONTENT:
        found = sha256(folder / name) if (folder / name).is_file() else "no file"
        if found != wanted.get(name):
            raise ValueError(
                f"{folder / name} is not the file that its card names: sha256 {found}, "
                f"expected {wanted.get(name)}."
            )
