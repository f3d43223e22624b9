"""Ensemble of the selected candidates, with the leaderboard of all candidates."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.error_dependence import learn_dependence
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.recipe import Training
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.selection.combination import build_combined
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import thin_windows
from kerastrans.forecasting.training.extra_steps import num_extra_steps, train_further
from kerastrans.forecasting.training.loop import steps_taken
from kerastrans.forecasting.training.spread import SpreadCorrection
from kerastrans.forecasting.training.time_limit import TimeLimit
from kerastrans.forecasting.training.windows import TrainingWindows

LEADERBOARD = "leaderboard.csv"


class Selected(Forecaster):
    """A `Forecaster` that `kerastrans.select` returned.

    Attributes:
        leaderboard: DataFrame with one row per candidate and one for the ensemble, the best first.
            The columns are "model"; "skill", the reduction of the loss relative to the seasonal
            naive forecast; "loss", the mean quantile loss on the held-out end in units of the
            scales of the series; "weight" in the ensemble; and "seconds" of training.
    """

    leaderboard = None

    def save(self, path, **kwargs):
        """Save the forecaster and the leaderboard, see `Forecaster.save`."""
        super().save(path, **kwargs)
        if self.leaderboard is not None:
            self.leaderboard.to_csv(Path(path) / LEADERBOARD, index=False)

    @classmethod
    def load(cls, path):
        """Load the forecaster and the leaderboard, see `Forecaster.load`."""
        loaded = super().load(path)
        if (Path(path) / LEADERBOARD).is_file():
            loaded.leaderboard = pd.read_csv(Path(path) / LEADERBOARD)
        return loaded


def build_selected(chosen, frame, static, held_out, leaderboard, seed, limit, report):
    """Return the `Selected` ensemble, after training its members on the held-out end too.

    The spread is corrected by the errors of the ensemble on the held-out end before this training,
    because these forecasts are too narrow afterwards.

    Args:
        chosen: List of pairs `(forecaster, weight)`.
        frame: Long frame with all rows.
        static: Frame of static covariates, or None.
        held_out: int, number of last steps of each series that were held out.
        leaderboard: DataFrame, see `Selected`.
        seed: int, seed of the ensemble.
        limit: `TimeLimit` of the selection. If too little is left, members are not trained further.
        report: Function that is called with a line of progress.
    """
    forecasters, weights = zip(*chosen, strict=True)
    selected = build_combined(Selected, forecasters, weights, seed=seed)
    panel = selected.reader.panel(frame, static)
    size = selected.fitted.config.context_length, selected.prediction_length
    _, cuts = training_cuts(panel, *size, held_out=held_out)
    windows = windows_of(selected.fitted, panel, *thin_windows(*cuts))
    # Measure the spread before the members are trained on these windows; apply it afterwards.
    report(f"ensemble: forecasting the held-out rows by {_count(forecasters)}")
    start = limit.left
    forecasts = forecast_windows(selected.fitted, windows)
    correction = SpreadCorrection(selected.fitted, forecasts)
    forecast = start - limit.left  # seconds, and as many after the members are trained
    trained = []
    for number, forecaster in enumerate(forecasters):
        seconds = (limit.left - forecast) / (len(forecasters) - number)
        trained.append(_train_further(forecaster, frame, static, seconds, report))
    selected = build_combined(Selected, forecasters, weights, seed=seed)
    correction.apply(selected.fitted, is_trained_on=any(trained))
    numbers = panel.numbers(range(len(panel)), panel.cuts).tolist()
    chosen_by = dict(zip(map(str, panel.names[:, 0]), numbers, strict=True))
    selected.fitted = replace(
        selected.fitted,
        chosen_by=chosen_by,
        made_by="kerastrans.select",
        dependence=learn_dependence(forecasts),
    )
    selected.leaderboard = leaderboard
    return selected


def _count(forecasters):
    return f"{len(forecasters)} model{'s' if len(forecasters) > 1 else ''}"


def _train_further(forecaster, frame, static, seconds, report):
    """Train a forecaster for a few steps on all rows; return whether it was trained."""
    fitted = forecaster.fitted
    steps = num_extra_steps(steps_taken(forecaster.model.optimizer))
    if not steps or seconds <= 0:
        return False
    report(f"{forecaster.alias}: {steps} extra steps on all rows, for at most {seconds:.0f} s")
    data = TrainingData(forecaster.reader, [forecaster.reader.panel(frame, static)])
    windows = TrainingWindows(fitted.model, data, Training())
    stop = TimeLimit(seconds).callback(lambda steps: 0.0)
    if not train_further(windows, steps, stop=stop):
        return False
    forecaster.fitted = replace(fitted, trained=windows.trained)
    return True
