"""What forecasts the tasks: by name a function of the task, its training rows and a seed."""

import functools
import itertools

import keras

from kerastrans import Forecaster, combine, select
from kerastrans.data import WindowScaler


def seasonal_naive(task, train, seed, **options):
    """The season before, without intervals."""
    model = Forecaster("seasonal_naive", task.season, task.horizon, season=task.season)
    return model.fit(train), ""


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
    losses = forecaster.history.history.get("val_loss", [])
    best = f"best {min(losses):.4f}" if losses else ""
    chosen = f"{forecaster.config.model}, context {forecaster.config.context_length}"
    return forecaster, f"{chosen}; {len(losses)} epochs; {best}"


def selected(task, train, seed, time_limit=900):
    """What `kerastrans.select` makes in the time; the same number of seconds as a training."""
    forecaster = select(
        train, task.horizon, time_limit=time_limit, future=task.future, seed=seed, verbose=False
    )
    table = forecaster.leaderboard.dropna(subset="weight")
    weights = [f"{x.model} {x.weight:.2f}" for x in table.itertuples() if x.weight]
    return forecaster, "; ".join(weights)


def nbeats_ensemble(task, train, seed, **options):
    """N-BEATS as in its paper, at a size that two cores bear: the median of 12 or 6 networks.

    Each context has a generic and an interpretable one, or these in turns; so do the losses.
    """
    losses = ("mape",) if task.benchmark == "Tourism" else ("smape", "mape", "mase")
    steps, horizons, count = STEPS[task.name]
    members = []
    for number, (stacks, lookback) in enumerate(itertools.product(STACKS, LOOKBACKS)):
        turn = number + number // len(LOOKBACKS)
        if turn % (12 // count):
            continue
        loss = losses[turn % len(losses)]
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
            seed=12 * seed + number,
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


LOOKBACKS = (2, 3, 4, 5, 6, 7)  # contexts in horizons
STACKS = (
    {"stacks": ("generic",) * 6, "num_blocks": 1},
    {"stacks": ("trend", "seasonality"), "num_blocks": 3},
)
# Training steps of each network, the last horizons of each series that they begin in, and how many
# networks there are.
STEPS = {
    "m3_yearly": (100, 20, 6),
    "m3_quarterly": (400, 5, 6),
    "m3_monthly": (1500, 5, 12),
    "m3_other": (250, 10, 6),
    "tourism_yearly": (60, 20, 6),
    "tourism_quarterly": (200, 10, 6),
    "tourism_monthly": (1000, 20, 6),
}
ARCHITECTURES = ("auto", "patchtst", "nhits", "nbeats", "tide", "rlinear", "deepar", "tft")
MODELS = {
    "seasonal_naive": seasonal_naive,
    "naive": naive,
    "select": selected,
    "nbeats_ensemble": nbeats_ensemble,
    **{name: functools.partial(by_default, name) for name in ARCHITECTURES},
    **{
        f"{name}+calendar": functools.partial(by_default, name, calendar=True)
        for name in ARCHITECTURES
    },
}
