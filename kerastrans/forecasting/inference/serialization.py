"""Files of a forecaster: model.keras and forecaster.json."""

import functools
import json
from dataclasses import asdict

import keras

from kerastrans import heads
from kerastrans.data.scaling import WindowScaler
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.utils.files import load_model, read_json
from kerastrans.utils.model_files import without_optimizer

MODEL, FORECASTER = "model.keras", "forecaster.json"
# Format of forecaster.json. Format 1 had no number; format 2 had the arguments that `fit` resolved
# instead of those that were given.
FORMAT = 3


def write_files(config, state, folder, optimizer):
    """Write model.keras and forecaster.json into an existing folder.

    Args:
        config: `Config` that was given.
        state: `FittedState`.
        folder: Path.
        optimizer: bool, whether to write the state of the optimizer.
    """
    arguments = config.arguments()
    if config.architecture is None:  # model.keras is enough to build it
        arguments |= {"model": None, "head": None, "alias": state.config.name}
        for name in config.hyperparameters:
            del arguments[name]
    content = {
        "format": FORMAT,
        "config": write_arguments(arguments),
        "fitted": state.to_dict(),
    }
    text = json.dumps(content, indent=2) + "\n"
    model = state.model if optimizer else without_optimizer(state.model)
    model.save(folder / MODEL)
    (folder / FORECASTER).write_text(text)


def read_files(path):
    """Read a folder that `write_files` wrote, in this version or an earlier one.

    Returns:
        Arguments of the constructor, and a function from their `Config` to the `FittedState`.

    Raises:
        FileNotFoundError: If there is no forecaster at `path`.
        ValueError: If a file is damaged or of a newer format, or the model contains code.
    """
    file = path / FORECASTER
    if not file.is_file():
        raise FileNotFoundError(f"{path} holds no forecaster.")
    content = read_json(file, {"config": dict})
    number = content.get("format", 1)
    if number not in (1, 2, FORMAT):
        raise ValueError(f"{path} has format {number}, this version reads up to {FORMAT}.")
    if number > 1:
        content = read_json(file, {"config": dict, "fitted": dict})
    model = load_model(path / MODEL)
    try:
        if number == 1:
            arguments, stored = read_format_1(content, model)
        else:
            arguments, stored = read_arguments(content["config"]), content["fitted"]
        if arguments["model"] is None:
            arguments["model"] = model
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is damaged: {error!r}.") from None
    return arguments, functools.partial(_restore, file, model, stored)


def _restore(file, model, stored, config):
    try:
        return FittedState.from_dict(config, model, stored)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is damaged: {error!r}.") from None


def write_arguments(arguments):
    """Return constructor arguments, ready for JSON."""
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


def read_arguments(written):
    """Return the arguments that `write_arguments` wrote."""
    arguments = keras.saving.deserialize_keras_object(written)
    return {**arguments, "scaler": WindowScaler(**arguments["scaler"])}


def read_format_1(content, model):
    """Return arguments and state from a forecaster.json of kerastrans 0.1."""
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
