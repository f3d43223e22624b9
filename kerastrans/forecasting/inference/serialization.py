"""A forecaster's arguments as forecaster.json holds them."""

import json
from dataclasses import asdict

import keras

from kerastrans import heads
from kerastrans.data.scaling import WindowScaler


def written(arguments):
    """Arguments of the constructor as JSON holds them."""
    written = {**arguments, "scaler": asdict(arguments["scaler"])}
    written = json.loads(json.dumps(keras.saving.serialize_keras_object(written)))
    for name in ("head", "loss", "optimizer"):
        try:
            keras.saving.deserialize_keras_object(written[name])
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}={arguments[name]!r} cannot be written: register it with "
                "keras.saving.register_keras_serializable."
            ) from None
    return written


def read(written):
    """What `written` wrote."""
    arguments = keras.saving.deserialize_keras_object(written)
    return {**arguments, "scaler": WindowScaler(**arguments["scaler"])}


def of_format_1(content, model):
    """Arguments and state out of a forecaster.json of kerastrans 0.1."""
    config = dict(content["config"])
    arguments = {
        **config.pop("hyperparameters"),
        "model": config.pop("architecture"),
        "scaler": WindowScaler(**content["scaler"]),
        **config,
    }
    if arguments["model"] is not None:
        arguments["head"] = heads.of(model)
    return arguments, {**content, "trained": {}}
