"""Trained forecasters by name, and their forecasts as arrays of quantiles."""

import warnings

import numpy as np
import pandas as pd

from kerastrans.data.covariates import texts_of
from kerastrans.evaluation.columns import read_columns
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.presets.pretrained import from_pretrained
from kerastrans.forecasting.selection.search import select
from kerastrans.models.pretrained.shipped import DEFAULT
from kerastrans.utils.validation import check_choice

MODELS = (DEFAULT, "auto", "select")
MEDIAN = 0.5


def train(
    model,
    frame,
    prediction_length,
    freq,
    *,
    past=(),
    future=(),
    static=None,
    seed=0,
    time_limit=900,
):
    """Return a forecaster that is ready to forecast a frame.

    Args:
        model: "kerastrans_zero_2", which is not trained, and reads numbers and text of covariates;
            "auto", the default of `Forecaster`; or "select".
        frame: Long DataFrame of the training rows.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        past: Names of columns that are known for the past.
        future: Names of columns that are also known for the steps to forecast.
        static: DataFrame of "unique_id" and static covariates, or None.
        seed: int.
        time_limit: float, seconds of the training.

    Raises:
        ValueError: If the model is unknown.
    """
    check_choice("model", model, MODELS)
    columns = {"past": list(past), "future": list(future)}
    if model == DEFAULT:
        given = {**columns, "categories": texts_of(frame, [*past, *future])}
        return from_pretrained(model, prediction_length, freq=freq, verbose=False, **given)
    static = None if static is None or len(static.columns) < 2 else static
    options = {"static": static, "freq": freq, "time_limit": time_limit}
    if model == "select":
        return select(frame, prediction_length, **columns, seed=seed, verbose=False, **options)
    forecaster = Forecaster(prediction_length=prediction_length, seed=seed, **columns)
    return forecaster.fit(frame, verbose=0, **options)


def forecast_quantiles(forecaster, frame, levels, *, future=None, static=None):
    """Forecast the series of a long frame.

    A series that the forecaster leaves out, such as one without a value, is forecast as 0, because
    a leaderboard requires a forecast of each.

    Args:
        forecaster: Trained `Forecaster`.
        frame: Long DataFrame.
        levels: Probabilities of the quantiles.
        future: DataFrame of future covariates, or None.
        static: DataFrame of static covariates, or None.

    Returns:
        The names of the series in the order of the frame, and the quantiles `(series,
        prediction_length, len(levels))`.
    """
    names = list(dict.fromkeys(frame["unique_id"]))
    steps = forecaster.prediction_length
    found = np.zeros((len(names), steps, len(levels)))
    percents = sorted({round(100 * abs(1 - 2 * level), 9) for level in levels} - {0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of series that are left out, or seen
        if frame["y"].notna().any():
            rows = forecaster.predict(frame, levels=percents, future=future, static=static)
            columns = read_columns(rows, forecaster.alias).quantiles
            probabilities = np.array(list(columns))
            nearest = [np.abs(probabilities - level).argmin() for level in levels]
            values = rows[[list(columns.values())[i] for i in nearest]].to_numpy()
            forecast = pd.Index(dict.fromkeys(rows["unique_id"]))
            places = pd.Index(names).get_indexer(forecast)
            found[places] = values.reshape(len(forecast), steps, len(levels))
    return names, np.nan_to_num(found)
