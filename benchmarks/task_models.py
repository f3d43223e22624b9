"""What forecasts the tasks: by name a function of the task, its training rows and a seed."""

import functools

from kerastrans import Forecaster, select


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


ARCHITECTURES = ("auto", "patchtst", "nhits", "nbeats", "tide", "rlinear", "deepar", "tft")
MODELS = {
    "seasonal_naive": seasonal_naive,
    "naive": naive,
    "select": selected,
    **{name: functools.partial(by_default, name) for name in ARCHITECTURES},
    **{
        f"{name}+calendar": functools.partial(by_default, name, calendar=True)
        for name in ARCHITECTURES
    },
}
