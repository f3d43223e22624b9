"""What forecasts the tasks: by name a function of the task, its training rows and a seed."""

import functools

from kerastrans import Forecaster


def seasonal_naive(task, train, seed, **options):
    """The season before, without intervals."""
    model = Forecaster("seasonal_naive", task.season, task.horizon, season=task.season)
    return model.fit(train), ""


def naive(task, train, seed, **options):
    """The last value, without intervals."""
    return Forecaster("last_value", 1, task.horizon).fit(train), ""


def by_default(name, task, train, seed, time_limit=900, **options):
    """An architecture with nothing chosen by hand; covariates where the task has them."""
    forecaster = Forecaster(
        name, prediction_length=task.horizon, future=task.future, seed=seed, **options
    )
    forecaster.fit(train, time_limit=time_limit, verbose=0)
    losses = forecaster.history.history.get("val_loss", [])
    best = f"best {min(losses):.4f}" if losses else ""
    return forecaster, f"context {forecaster.config.context_length}; epochs {len(losses)}; {best}"


ARCHITECTURES = ("patchtst", "nhits", "nbeats", "tide", "rlinear", "itransformer", "deepar", "tft")
MODELS = {
    "seasonal_naive": seasonal_naive,
    "naive": naive,
    **{name: functools.partial(by_default, name) for name in ARCHITECTURES},
    **{
        f"{name}+calendar": functools.partial(by_default, name, calendar=True)
        for name in ARCHITECTURES
    },
}
