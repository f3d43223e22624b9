"""Presets: trained forecasters in folders with a model card and checksums."""

from pathlib import Path

import pandas as pd

from kerastrans import datasets
from kerastrans.data import chronological_split
from kerastrans.forecasting.inference.preset_files import CARD, CONTENT, FORMAT, write
from kerastrans.forecasting.presets.sources import names, open_preset, resolve_preset
from kerastrans.models.pretrained.shipped import FOLDER
from kerastrans.utils.files import read_json, sha256_of

__all__ = ["FOLDER", "card", "check", "evaluate", "load", "load_trained", "names", "write"]


def load(source, checksum=None, *, revision=None, verbose=True):
    """Return a trained forecaster, see `kerastrans.zoo.from_preset`."""
    from kerastrans.forecasting.forecaster import Forecaster  # imports Keras

    with open_preset(str(source), checksum, revision, verbose) as folder:
        check(folder)
        return Forecaster.load(folder)


def load_trained(source):
    """Return the forecaster of a preset, or of a folder that `Forecaster.save` wrote."""
    from kerastrans.forecasting.forecaster import Forecaster

    if (Path(source) / "forecaster.json").is_file() and not (Path(source) / CARD).is_file():
        return Forecaster.load(source)
    return load(source)


def card(source):
    """Return the model card of an installed preset, or of a folder, as a dict.

    Raises:
        ValueError: If the name is unknown, or the folder is not a preset of this format.
    """
    path = resolve_preset(str(source)) / CARD
    stored = read_json(path, {"format": int})
    if stored["format"] != FORMAT:
        versions = stored.get("versions")
        maker = "of another version"
        if isinstance(versions, dict):
            maker = versions.get("kerastrans", maker)
        raise ValueError(
            f"{path.parent} is a preset of format {stored['format']}, written by kerastrans "
            f"{maker}; this version reads format {FORMAT}: install that version."
        )
    return stored


def evaluate(forecaster, dataset):
    """Return the errors of a forecaster and of baselines on the test split of a dataset.

    One forecast begins at every step of the test split. The values of each channel are standardised
    by the mean and the standard deviation of its training rows, as in the papers.

    Args:
        forecaster: `Forecaster` that was trained on the training split.
        dataset: Name of a dataset with a wide frame, see `kerastrans.datasets.names`.

    Returns:
        DataFrame with one row each for the forecaster, "seasonal_naive" and "last_value", and the
        columns "mse" and "mae". A forecaster with intervals also has "crps", "coverage-80" ...

    Raises:
        ValueError: If the dataset does not have training, validation and test splits.
    """
    from kerastrans.evaluation import backtesting
    from kerastrans.forecasting.forecaster import Forecaster

    info = datasets.info(dataset)
    if not info.splits:
        raise ValueError(f"{dataset} does not have training, validation and test splits.")
    frame = datasets.load(dataset)
    train, validation, test = chronological_split(frame, info.splits)
    num_rows = len(train) + len(validation) + len(test)
    context, steps = forecaster.fitted.config.context_length, forecaster.prediction_length
    options = {"prediction_length": steps, "head": "point"}
    season = {"season": info.season, "context_length": max(context, info.season)}
    models = (
        forecaster,
        Forecaster("seasonal_naive", **season, **options).fit(train),
        Forecaster("last_value", 1, **options).fit(train),
    )
    rows = {}
    for model in models:
        backtest = model.backtest(frame[:num_rows], windows=len(test) - steps + 1, step=1)
        center, scale = (backtest["unique_id"].map(x) for x in (train.mean(), train.std(ddof=0)))
        values = backtest.columns.difference(["unique_id", "ds", "cutoff"])
        backtest[values] = backtest[values].sub(center, axis=0).div(scale, axis=0)
        errors = backtesting.score(backtest).iloc[0]
        row = {"mse": errors["rmse"] ** 2, "mae": errors["mae"]}
        row |= errors.filter(regex="crps|coverage").to_dict()
        rows[model.alias] = row
    return pd.DataFrame(rows).T


def check(folder):
    """Raise ValueError unless a folder is a preset of this format whose files match its card."""
    folder = Path(folder)
    card(folder)
    expected = read_json(folder / CARD, {"sha256": dict})["sha256"]
    for name in CONTENT:
        checksum = sha256_of(folder / name) if (folder / name).is_file() else "no file"
        if checksum != expected.get(name):
            raise ValueError(
                f"{folder / name} is not the file of its card: sha256 {checksum}, "
                f"expected {expected.get(name)}."
            )
