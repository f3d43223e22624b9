"""What `kerastrans.select` returns: a forecaster of an ensemble, and how its members did."""

from pathlib import Path

import pandas as pd

from kerastrans.data.covariates import Covariates
from kerastrans.data.cuts import training_cuts
from kerastrans.forecasting.candidates import LEVELS
from kerastrans.forecasting.defaults import thinned
from kerastrans.forecasting.examples import windows_of
from kerastrans.forecasting.fitted import Fitted
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.spread import fit_spread
from kerastrans.models.ensemble import Member, build_ensemble

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


def ensemble_of(chosen, columns, frame, static, held_out, leaderboard, seed):
    """The `Selected` of the chosen forecasters, its spread measured on the held-out end.

    Args:
        chosen: list of pairs of a `Forecaster` and its weight.
        columns: dict of the names of "past" and "future" covariates.
        frame: long frame, all of it.
        static: frame of static covariates, or None.
        held_out: int, last steps of each series that chose.
        leaderboard: DataFrame.
        seed: int.
    """
    members = [Member(x.model, x.config.scaler, float(weight)) for x, weight in chosen]
    model = build_ensemble(members, LEVELS)
    of_inputs = {tensor.name for tensor in model.inputs}
    kinds = {
        kind: names if f"{kind}_covariates" in of_inputs else () for kind, names in columns.items()
    }
    calendar = any(x.config.calendar for x, _ in chosen)
    length = chosen[0][0].prediction_length
    selected = Selected(
        model, None, length, scaler=None, calendar=calendar, seed=seed, alias="ensemble", **kinds
    )
    fitted = [x.fitted for x, _ in chosen]
    covariates = next(
        (x.covariates for x in fitted if any(x.covariates.to_dict().values())), Covariates()
    )
    trained = {}
    for state in fitted:
        for name, end in state.trained.items():
            trained[name] = max(end, trained.get(name, end))
    selected.fitted = Fitted(model, fitted[0].clock, covariates, None, trained)
    panel = selected.reader.panel(frame, static)
    size = selected.config.context_length, length
    _, cuts = training_cuts(panel, *size, held_out=held_out)
    windows = windows_of(selected.config, model, panel, *thinned(*cuts))
    fit_spread(selected.config, selected.fitted, windows)
    numbers = panel.numbers(range(len(panel)), panel.cuts).tolist()
    chosen_by = dict(zip(map(str, panel.names[:, 0]), numbers, strict=True))
    selected.fitted = Fitted(model, fitted[0].clock, covariates, None, trained, chosen_by=chosen_by)
    selected.leaderboard = leaderboard
    return selected
