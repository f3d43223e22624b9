"""Train the presets of saved_models/: each recipe below is one command and one folder.

    python -m tools.presets.make                        # those that are missing
    python -m tools.presets.make patchtst_etth1_96      # this one anew

Training and validation part train and choose the epoch; the test part is read once, by
`kerastrans.presets.evaluate`, whose figures stand in the card.
"""

import argparse
import shutil
import time

import keras

from kerastrans import Forecaster, datasets, heads, presets
from kerastrans.data import chronological_split
from kerastrans.forecasting.inference.model_card import facts_of
from kerastrans.utils.environment import environment

# context, steps, Forecaster's options, then fit's.
RECIPES = {
    "dlinear_etth1_96": ("etth1", 336, 96, {}, {"batch_size": 32, "epochs": 10}),
    "patchtst_etth1_96": (
        "etth1",
        336,
        96,
        # With two quantiles fewer it stays below 2 MB.
        {"head": heads.QuantileHead((0.025, 0.1, 0.5, 0.9, 0.975)), "dropout": 0.3},
        {"batch_size": 128, "epochs": 12},
    ),
    "itransformer_etth1_96": (
        "etth1",
        96,
        96,
        {"d_model": 96, "ff_dim": 96, "rate": 5e-4},
        {"batch_size": 32, "epochs": 10},
    ),
    "cyclenet_etth2_96": (
        "etth2",
        96,
        96,
        {"cycle_length": 24},
        {"batch_size": 128, "epochs": 20},
    ),
    "nhits_nyc_departures_24": (
        "nyc_departures",
        168,
        24,
        {"hidden_dim": 96},
        {"batch_size": 64, "epochs": 20},
    ),
    "nhits_air_passengers_12": (
        "air_passengers",
        36,
        12,
        {"hidden_dim": 48, "downsampling": (4, 2, 1), "pool_sizes": (4, 2, 1)},
        {"batch_size": 16, "epochs": 200},
    ),
    "nhits_illness_24": (
        "illness",
        104,
        24,
        {"hidden_dim": 96},
        {"batch_size": 32, "epochs": 60},
    ),
    "patchtst_exchange_rate_24": (
        "exchange_rate",
        96,
        24,
        {"patch_length": 12, "stride": 6, "d_model": 16, "num_heads": 4, "ff_dim": 64},
        {"batch_size": 64, "epochs": 10},
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="PRESET")
    chosen = parser.parse_args().names
    for name in chosen or [name for name in RECIPES if name not in presets.names()]:
        if name not in RECIPES:
            parser.error(f"no recipe {name!r}; there are {', '.join(RECIPES)}.")
        make(name)


def make(name):
    """Train a preset, measure it, and write its folder."""
    dataset, context, steps, options, training = RECIPES[name]
    frame = datasets.load(dataset)
    rows = [len(part) for part in chronological_split(frame, datasets.info(dataset).splits)]
    options = dict(options)
    rate = options.pop("rate", 1e-3)
    forecaster = Forecaster(
        name.split("_")[0],
        context,
        steps,
        optimizer=keras.optimizers.Adam(rate, clipnorm=1.0),
        seed=0,
        **options,
    )
    started = time.perf_counter()
    forecaster.fit(
        frame[: rows[0] + rows[1]],
        validation_size=rows[1],
        callbacks=[keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)],
        verbose=2,
        **training,
    )
    seconds = time.perf_counter() - started
    metrics = presets.evaluate(forecaster, dataset).round(5)
    print(metrics, flush=True)
    shutil.rmtree(presets.FOLDER / name, ignore_errors=True)
    presets.write(
        forecaster,
        presets.FOLDER / name,
        data=data_of(forecaster, dataset),
        split=dict(zip(("train", "validation", "test"), rows, strict=True)),
        settings=settings_of(forecaster, training, rate),
        parameters=forecaster.model.count_params(),
        training_seconds=round(seconds, 1),
        metrics={row: errors.dropna().to_dict() for row, errors in metrics.iterrows()},
        command=f"python -m tools.presets.make {name}",
        versions=environment(),
    )


def data_of(forecaster, dataset):
    """What the card says of the data."""
    known = datasets.info(dataset)
    return {
        "name": dataset,
        "description": known.description,
        "frequency": known.frequency,
        "channels": list(forecaster.fitted.channels),
        "source": known.source,
        "licence": known.licence,
    }


def settings_of(forecaster, training, rate):
    """What the card says of the training."""
    losses = forecaster.history.history["val_loss"]
    return {
        **facts_of(forecaster)["settings"],
        "hyperparameters": dict(forecaster.config.hyperparameters),
        **training,
        "learning_rate": rate,
        "quantiles": list(forecaster.fitted.head.levels),
        "best_epoch": losses.index(min(losses)) + 1,
    }


if __name__ == "__main__":
    main()
