"""Files of a forecaster: model.keras and forecaster.json."""

import functools
import json
from dataclasses import asdict

import keras

from kerastrans.data.scaling import WindowScaler
from kerastrans.forecasting.inference.recipe import Training
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.utils.files import load_model, read_json
from kerastrans.utils.keras_internals import serialize_loss
from kerastrans.utils.model_files import without_optimizer

MODEL, FORECASTER = "model.keras", "forecaster.json"
FORMAT = 4  # of forecaster.json; no earlier one was in a release
RECORDS = {"scaler": WindowScaler, "training": Training}  # arguments that JSON has as objects


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
        arguments |= {"model": None, "head": None, "size": None, "alias": state.config.name}
        arguments["context_length"] = state.config.context_length
        for name in config.hyperparameters:
            del arguments[name]
    content = {"format": FORMAT, "config": write_arguments(arguments), "fitted": state.to_dict()}
    text = json.dumps(content, indent=2, default=asdict) + "\n"
    model = state.model if optimizer else without_optimizer(state.model)
    model.save(folder / MODEL)
    (folder / FORECASTER).write_text(text)


def read_files(path):
    """Read a folder that `write_files` wrote.

    Returns:
        Arguments of the constructor, and a function from their `Config` to the `FittedState`.

    Raises:
        FileNotFoundError: If there is no forecaster at `path`.
        ValueError: If a file is damaged or of another format, or the model contains code.
    """
    file = path / FORECASTER
    if not file.is_file():
        raise FileNotFoundError(f"{path} holds no forecaster.")
    number = read_json(file, {}).get("format", 1)
    if number != FORMAT:
        is_newer = isinstance(number, int) and number > FORMAT
        hint = "install a newer kerastrans" if is_newer else "train and save it anew"
        raise ValueError(
            f"{path} has format {number!r}, and this version reads format {FORMAT}: {hint}. The "
            "presets of the package have this format."
        )
    content = read_json(file, {"config": dict, "fitted": dict})
    model = load_model(path / MODEL)
    try:
        arguments, stored = read_arguments(content["config"]), content["fitted"]
        if arguments["model"] is None:
            arguments["model"] = model
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is damaged: {error!r}.") from None
    return arguments, functools.partial(_restore, file, model, stored)


def _restore(file, model, stored, config):
    try:
        return FittedState.from_dict(config, model, stored)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{file} is damaged: {error!r}.") from None
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None


def write_arguments(arguments):
    """Return constructor arguments, ready for JSON."""
    records = {name: asdict(arguments[name]) for name in RECORDS}
    written = {**arguments, **records}
    written = keras.saving.serialize_keras_object(written)
    written = json.loads(json.dumps(written | {"loss": serialize_loss(arguments["loss"])}))
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
    return arguments | {name: kind(**arguments[name]) for name, kind in RECORDS.items()}
