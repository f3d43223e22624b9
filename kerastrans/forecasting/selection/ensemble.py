"""What `kerastrans.select` returns: a forecaster of an ensemble, and how its members did."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from kerastrans.data.sampling import Sampling
from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.selection.combination import combined
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import thin_windows
from kerastrans.forecasting.training.extra_steps import num_extra_steps, train_further
from kerastrans.forecasting.training.loop import steps_taken
from kerastrans.forecasting.training.spread import SpreadCorrection
from kerastrans.forecasting.training.windows import TrainingWindows

LEADERBOARD = "leaderboard.csv"


class Selected(Forecaster):
    """A `Forecaster` that `kerastrans.select` made.

    Attributes:
        leaderboard: DataFrame with a row for each model that was tried, and one for the ensemble,
            the best first: "loss", the mean quantile loss on the held-out end in scales of the
            series; "skill", by how much it is below the seasonal naive forecast's; "weight" in the
            ensemble; "seconds".
    """

    leaderboard = None

    def save(self, path, **kwargs):
        """As `Forecaster.save`, with the leaderboard."""
        super().save(path, **kwargs)
        if self.leaderboard is not None:
            self.leaderboard.to_csv(Path(path) / LEADERBOARD, index=False)

    @classmethod
    def load(cls, path):
        """As `Forecaster.load`, with the leaderboard."""
        loaded = super().load(path)
        if (Path(path) / LEADERBOARD).is_file():
            loaded.leaderboard = pd.read_csv(Path(path) / LEADERBOARD)
        return loaded


def ensemble_of(chosen, frame, static, held_out, leaderboard, seed):
    """The `Selected` of the chosen forecasters, which at last train on the held-out end too.

    Its spread is measured on that end before; after, the forecast there is no narrower than it was,
    though the networks have seen it.

    Args:
        chosen: list of pairs of a `Forecaster` and its weight.
        frame: long frame, all of it.
        static: frame of static covariates, or None.
        held_out: int, last steps of each series that chose.
        leaderboard: DataFrame.
        seed: int.
    """
    forecasters, weights = zip(*chosen, strict=True)
    selected = combined(Selected, forecasters, weights, seed=seed)
    panel = selected.reader.panel(frame, static)
    size = selected.fitted.config.context_length, selected.prediction_length
    _, cuts = training_cuts(panel, *size, held_out=held_out)
    windows = windows_of(selected.fitted, panel, *thin_windows(*cuts))
    correction = SpreadCorrection(selected.fitted, windows)
    trained = [_trained_further(forecaster, frame, static) for forecaster in forecasters]
    selected = combined(Selected, forecasters, weights, seed=seed)
    correction.apply(selected.fitted, is_trained_on=any(trained))
    numbers = panel.numbers(range(len(panel)), panel.cuts).tolist()
    chosen_by = dict(zip(map(str, panel.names[:, 0]), numbers, strict=True))
    selected.fitted = replace(selected.fitted, chosen_by=chosen_by, made_by="kerastrans.select")
    selected.leaderboard = leaderboard
    return selected


def _trained_further(forecaster, frame, static):
    """Train a forecaster a little on all rows; whether it was trained."""
    fitted = forecaster.fitted
    steps = num_extra_steps(steps_taken(forecaster.model.optimizer))
    if not steps:
        return False
    data = TrainingData(forecaster.reader, [forecaster.reader.panel(frame, static)])
    windows = TrainingWindows(fitted.model, data, Sampling())
    if not train_further(windows, steps):
        return False
    forecaster.fitted = replace(fitted, trained=windows.trained)
    return True
