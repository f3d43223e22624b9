"""What forecasts the tasks: by name a function of the task, its training rows and a seed."""

import functools

import keras
import pandas as pd

from kerastrans import Forecaster, combine, from_pretrained, select
from kerastrans.data import WindowScaler
from kerastrans.forecasting.selection.candidates import fit_naive
from kerastrans.models.pretrained.shipped import DEFAULT
from tests.helpers.weights import FRACAST_0, ZERO_1


def seasonal_naive(task, train, seed, **options):
    """The season before, without intervals."""
    model = Forecaster("seasonal_naive", task.season, task.horizon, season=task.season)
    return model.fit(train), ""


def seasonal_naive_quantiles(weeks, task, train, seed, **options):
    """The season before, or the week before, with the quantiles of its errors on training rows."""
    season = 7 * task.season if weeks else task.season
    freq = pd.infer_freq(train.loc[train["unique_id"] == train["unique_id"].iloc[0], "ds"])
    return fit_naive(train, task.horizon, freq, season=season, seed=seed), f"season {season}"


def naive(task, train, seed, **options):
    """The last value, without intervals."""
    return Forecaster("last_value", 1, task.horizon).fit(train), ""


def by_default(name, task, train, seed, time_limit=900, **options):
    """An architecture with nothing chosen by hand; covariates where the task has them."""
    if not task.is_dated:
        options["calendar"] = False
    forecaster = Forecaster(
        name, prediction_length=task.horizon, future=task.future, seed=seed, **options
    )
    forecaster.fit(train, time_limit=time_limit, verbose=0)
    history = forecaster.history.history if forecaster.history else {}  # if it was trained
    losses = history.get("val_loss", [])
    best = f"best {min(losses):.4f}" if losses else ""
    chosen = f"{forecaster.alias}, context {forecaster.context_length}"
    return forecaster, f"{chosen}; {len(losses)} epochs; {best}"


def selected(task, train, seed, time_limit=900):
    """What `kerastrans.select` makes in the time; the same number of seconds as a training."""
    forecaster = select(
        train, task.horizon, time_limit=time_limit, future=task.future, seed=seed, verbose=False
    )
    table = forecaster.leaderboard.dropna(subset="weight")
    weights = [f"{x.model} {x.weight:.2f}" for x in table.itertuples() if x.weight]
    return forecaster, "; ".join(weights)


def zero_shot(source, task, train, seed, reads_covariates=False, time_limit=None, **options):
    """Weights that come with the package, or did, without any training."""
    if reads_covariates:
        options["future"] = task.future
    return from_pretrained(source, task.horizon, verbose=False, **options), ""


def nbeats_ensemble(task, train, seed, **options):
    """N-BEATS as in its paper, at a size that two cores bear: the median of six networks."""
    steps, horizons = STEPS[task.name]
    members = []
    for number, (stacks, lookback, loss) in enumerate(NETWORKS):
        loss = "mape" if task.benchmark == "Tourism" else loss
        rate = keras.optimizers.schedules.PiecewiseConstantDecay(
            [steps // 3, 2 * steps // 3], [1e-3, 5e-4, 2.5e-4]
        )
        member = Forecaster(
            "nbeats",
            lookback * task.horizon,
            task.horizon,
            head="point",
            loss=loss,
            scaler=WindowScaler("mase", task.season) if loss == "mase" else "mean_abs",
            optimizer=keras.optimizers.Adam(rate, clipnorm=1.0),
            seed=len(NETWORKS) * seed + number,
            hidden_dim=128,
            from_last_value=True,
            **stacks,
        )
        member.fit(
            train,
            epochs=1,
            steps_per_epoch=steps,
            batch_size=256,
            sampling="series",
            window_sampling_limit=horizons * task.horizon,
            verbose=0,
        )
        members.append(member)
    return combine(members), f"median of {len(members)}; {steps} steps, last {horizons} horizons"


GENERIC = {"stacks": ("generic",) * 6, "num_blocks": 1}
INTERPRETABLE = {"stacks": ("trend", "seasonality"), "num_blocks": 3}
NETWORKS = (  # stacks, context in horizons, loss; of tourism "mape" alone
    (GENERIC, 2, "smape"),
    (INTERPRETABLE, 3, "mase"),
    (GENERIC, 4, "mape"),
    (INTERPRETABLE, 5, "smape"),
    (GENERIC, 6, "mase"),
    (INTERPRETABLE, 7, "mape"),
)
# Training steps of each network, and the last horizons of each series that they begin in.
STEPS = {
    "m3_yearly": (100, 20),
    "m3_quarterly": (400, 5),
    "m3_monthly": (1000, 5),
    "m3_other": (250, 10),
    "tourism_yearly": (60, 20),
    "tourism_quarterly": (200, 10),
    "tourism_monthly": (1000, 20),
}
ARCHITECTURES = (
    "auto",
    "patchtst",
    "nhits",
    "nbeats",
    "tide",
    "rlinear",
    "deepar",
    "tft",
    "time_series_transformer",
    "decoder_transformer",
)
ZEROS = (  # by default, the season of version 2 is that of the clock
    ("kerastrans_zero", ZERO_1, {}),
    ("kerastrans_zero_2", DEFAULT, {}),
    ("kerastrans_zero_2 (no season)", DEFAULT, {"model_options": {"season": None}}),
    ("kerastrans_zero_2 (season 1)", DEFAULT, {"model_options": {"season": 1}}),
)
MODELS = {
    "seasonal_naive": seasonal_naive,
    "seasonal_naive+quantiles": functools.partial(seasonal_naive_quantiles, False),
    "weekly_naive+quantiles": functools.partial(seasonal_naive_quantiles, True),
    "naive": naive,
    "select": selected,
    "fracast_0": functools.partial(zero_shot, FRACAST_0),
    **{
        f"{name}{covariates}": functools.partial(
            zero_shot, source, reads_covariates=bool(covariates), **options
        )
        for name, source, options in ZEROS
        for covariates in ("", "+covariates")
    },
    "nbeats_ensemble": nbeats_ensemble,
    **{name: functools.partial(by_default, name) for name in ARCHITECTURES},
    **{
        f"{name}+calendar": functools.partial(by_default, name, calendar=True)
        for name in ARCHITECTURES
    },
}
