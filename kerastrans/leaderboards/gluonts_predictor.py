"""kerastrans as a predictor of GluonTS, which GIFT-Eval evaluates."""

import itertools

import numpy as np
import pandas as pd

from kerastrans.data.time.frequency import infer_frequency
from kerastrans.leaderboards.forecasting import MEDIAN, forecast_quantiles, train
from kerastrans.utils.validation import check_positive_integers, import_extra

predictor = import_extra("gluonts.model.predictor", "the adapter for GluonTS", "leaderboards")
forecast = import_extra("gluonts.model.forecast", "the adapter for GluonTS", "leaderboards")
DECILES = tuple(round(0.1 * i, 1) for i in range(1, 10))
ENTRIES = 512  # number of series that are forecast at once


class KerastransPredictor(predictor.Predictor):
    """Predictor of GluonTS that forecasts with a trained forecaster of kerastrans.

    Entries are univariate: convert a multivariate data set, as GIFT-Eval does with
    `to_univariate=True`.

    Args:
        forecaster: Trained `Forecaster`.
        levels: Probabilities of the quantiles; by default the deciles, which GIFT-Eval scores.

    Raises:
        ImportError: If the extra `leaderboards` is not installed.

    Source: Aksu et al. (2024), "GIFT-Eval"; Alexandrov et al. (2020), "GluonTS".
    """

    def __init__(self, forecaster, levels=DECILES):
        super().__init__(prediction_length=forecaster.prediction_length)
        self.forecaster, self.levels = forecaster, tuple(levels)

    @classmethod
    def train(cls, model, dataset, prediction_length, levels=DECILES, **options):
        """Return a predictor with a model that is ready to forecast a data set.

        Args:
            model: "kerastrans_zero_2", "auto" or "select", see `leaderboards.forecasting.train`.
            dataset: Iterable of the training entries of GluonTS, dicts of "start" and "target".
            prediction_length: int, number of steps to forecast.
            levels: Probabilities of the quantiles.
            **options: `seed` and `time_limit`, see `leaderboards.forecasting.train`.
        """
        check_positive_integers(prediction_length=prediction_length)
        entries = list(dataset)
        if not entries:
            raise ValueError("dataset must have at least one entry, got none.")
        freq = pandas_frequency(entries[0]["start"])
        frame = long_frame(entries)
        return cls(train(model, frame, prediction_length, freq, **options), levels)

    def predict(self, dataset, **kwargs):
        """Yield a `QuantileForecast` of each entry of a data set, in its order.

        Args:
            dataset: Iterable of entries, dicts of "start", "target" and perhaps "item_id".
            **kwargs: Ignored, such as `num_samples` of GluonTS.
        """
        keys = ["mean", *map(str, self.levels)]
        dataset = iter(dataset)
        while entries := list(itertools.islice(dataset, ENTRIES)):
            levels = [MEDIAN, *self.levels]
            _, found = forecast_quantiles(self.forecaster, long_frame(entries), levels)
            for entry, quantiles in zip(entries, found, strict=True):
                start = entry["start"] + len(entry["target"])
                options = {"forecast_keys": keys, "item_id": entry.get("item_id")}
                yield forecast.QuantileForecast(quantiles.T, start_date=start, **options)


def long_frame(entries):
    """Return univariate entries as a long DataFrame, each a series of its number.

    Raises:
        ValueError: If an entry is not univariate.
    """
    parts = []
    for number, entry in enumerate(entries):
        target = np.asarray(entry["target"], "float64")
        if target.ndim != 1:
            raise ValueError(
                f"entry {number} has a target of the shape {target.shape}, expected (time,): "
                "convert the data set to univariate series."
            )
        times = pd.period_range(entry["start"], periods=len(target)).to_timestamp()
        parts.append(pd.DataFrame({"unique_id": number, "ds": times, "y": target}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(unique_id=frame["unique_id"].map("{:09d}".format))


def pandas_frequency(start):
    """Return the frequency of the first time stamps of periods, such as "MS".

    Args:
        start: pandas Period.

    Example:
        >>> pandas_frequency(pd.Period("2024-01", "M"))
        'MS'
    """
    return infer_frequency(pd.period_range(start, periods=5).to_timestamp().as_unit("ns"))
