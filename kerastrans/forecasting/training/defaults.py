"""Default architecture, context length, calendar and hold-out set."""

from dataclasses import dataclass, replace

import numpy as np

from kerastrans.forecasting.conformal.offsets import windows_needed
from kerastrans.forecasting.inference.config import AUTO

LONG_CONTEXT = 4  # a context that is so many times as long as the longest series is a mistake
MIN_ROWS_FOR_ATTENTION = 2000  # training rows of the median series
WITH_FUTURE = {"d_model": 128, "ff_dim": 256}  # of the decoder-only Transformer
MAX_CONTEXT_LENGTH = 512
NUM_HELD_OUT_FORECASTS = 64  # non-overlapping forecasts over all series
MAX_HELD_OUT_SHARE = 0.1  # of a series, unless a single forecast is longer
MIN_FORECASTS_PER_SERIES = 5  # three for the context, one to train on, one to hold out
MIN_HELD_OUT_FORECASTS = windows_needed(80)  # to measure the spread of intervals
MIN_SERIES_TO_HOLD_OUT = 50  # of which whole series can be held out
MAX_VALIDATION_WINDOWS = 1000
MIN_TRAINING_FORECASTS = 100  # non-overlapping forecasts over all series, to train a model


@dataclass(frozen=True)
class HeldOut:
    """Hold-out set that early stopping monitors.

    Attributes:
        steps: int, number of last steps that are held out of a series; 0 for none.
        share: float, share of the series that they are held out of. If it is below 1, these series
            are not used for training at all, and the other series up to their ends.
    """

    steps: int = 0
    share: float = 1.0

    def num_forecasts(self, num_series, prediction_length):
        """Return the number of non-overlapping forecasts that are held out of these series."""
        return round(self.share * num_series) * (self.steps // prediction_length)

    @property
    def of_all(self):
        """Number of last steps that are held out of every series."""
        return self.steps if self.share == 1 else 0

    def chosen(self, seed, number, count):
        """Return which of the `count` series of panel `number` it is held out of, bools."""
        if self.share == 1:
            return np.full(count, self.steps > 0)
        order = np.random.default_rng([seed, number]).permutation(count)
        return order < round(self.share * count)


def held_out_steps(lengths, prediction_length):
    """Return the number of last steps to hold out of each series.

    Over all series these are 64 non-overlapping forecasts, but at most a tenth of the median
    series, and at least one forecast. 0 if the median series has no more than two forecasts.

    Args:
        lengths: Numbers of steps of the series.
        prediction_length: int, number of steps of a forecast.

    Example:
        >>> held_out_steps([2400], 24)
        240
    """
    typical = np.median(lengths) if len(lengths) else 0
    if typical <= 2 * prediction_length:
        return 0
    num_forecasts = -(-NUM_HELD_OUT_FORECASTS // len(lengths))
    longest = int(MAX_HELD_OUT_SHARE * typical / prediction_length)
    return prediction_length * max(1, min(num_forecasts, longest))


def can_measure_spread(lengths, prediction_length):
    """Return whether enough forecasts are held out to measure the spread of intervals of 80 %."""
    held_out = choose_hold_out(lengths, prediction_length)
    return held_out.num_forecasts(len(lengths), prediction_length) >= MIN_HELD_OUT_FORECASTS


def rows_needed(num_series, prediction_length):
    """Return how many rows of the median series are enough to measure the spread on its end.

    Over all series, 4 non-overlapping forecasts are then held out, the fewest that bound 80 %.

    Args:
        num_series: int, at least 1.
        prediction_length: int, number of steps of a forecast.

    Example:
        >>> rows_needed(1, 12), rows_needed(10, 12)
        (480, 25)
    """
    forecasts = -(-MIN_HELD_OUT_FORECASTS // num_series)
    if forecasts == 1:
        return 2 * prediction_length + 1
    return round(forecasts * prediction_length / MAX_HELD_OUT_SHARE)


def choose_hold_out(lengths, prediction_length):
    """Return the default `HeldOut` set of these series.

    It is the end of each series, see `held_out_steps`. Whole series are held out instead, a fifth
    of them and at most 64, if there are at least 50 series and the median series is shorter than
    five forecasts: three for the context, one to train on and one to hold out. The model then
    trains with contexts as long as those it will forecast from.

    Args:
        lengths: Numbers of steps of the series.
        prediction_length: int, number of steps of a forecast.
    """
    count = len(lengths)
    is_short = count and np.median(lengths) < MIN_FORECASTS_PER_SERIES * prediction_length
    if count < MIN_SERIES_TO_HOLD_OUT or not is_short:
        return HeldOut(held_out_steps(lengths, prediction_length))
    return HeldOut(prediction_length, min(NUM_HELD_OUT_FORECASTS, count // 5) / count)


def thin_windows(series, cuts, most=MAX_VALIDATION_WINDOWS):
    """Return every second, third ... window, so that about `most` are left; all if fewer."""
    each = -(-len(cuts) // most) or 1
    return series[::each], cuts[::each]


def resolve_config(config, panel, held_out, seasons):
    """Return the config with an architecture, a context length and a calendar for these series.

    The model "auto" becomes TiDE if the median series has fewer than 2,000 training rows, otherwise
    the decoder-only Transformer, 128 wide, if there are future covariates, and PatchTST if there
    are none. TiDE and PatchTST have the calendar if the frequency has one. The context is twice the
    longest season that the training rows show, at least three forecasts, at most 512 steps, and
    leaves room for one forecast in the training rows. Yearly series have no calendar.

    Args:
        config: `Config`.
        panel: `Panel`.
        held_out: int, number of last steps of each series that are not training rows.
        seasons: `Seasons` of the training rows.
    """
    rows = int(np.median(panel.lengths)) - held_out
    if config.model == AUTO:
        if config.future and rows >= MIN_ROWS_FOR_ATTENTION:
            config = replace(config, model="decoder_transformer", hyperparameters=WITH_FUTURE)
        else:
            name = "patchtst" if rows >= MIN_ROWS_FOR_ATTENTION else "tide"
            has_calendar = True if config.calendar is None else config.calendar
            config = replace(config, model=name, calendar=has_calendar)
    if config.calendar and not panel.clock.calendar_names:
        config = replace(config, calendar=False)
    if config.context_length is not None:
        return config
    preferred = max(3 * config.prediction_length, *(2 * season for season in seasons.shown), 1)
    longest = min(MAX_CONTEXT_LENGTH, rows - config.prediction_length)
    return replace(config, context_length=max(1, min(preferred, longest)))
