"""Running an exported model, a SavedModel or an ONNX file, on the held-back days."""

import json
from pathlib import Path

import numpy as np

from kerastrans.utils.validation import import_extra


def open_export(path):
    """Return the metadata of an exported model, and its forecast as a function of named inputs.

    Args:
        path: Path of a SavedModel folder or of an .onnx file.

    Raises:
        FileNotFoundError: If there is no such path.
        ImportError: If TensorFlow or onnxruntime is not installed.
        ValueError: If the path is neither of the two, or was not written by kerastrans.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"export: {path} does not exist.")
    if path.suffix == ".onnx":
        return _open_onnx(path)
    if (path / "saved_model.pb").exists():
        return _open_savedmodel(path)
    raise ValueError(f"export: expected a SavedModel folder or an .onnx file, got {path}.")


def _open_savedmodel(path):
    tensorflow = import_extra("tensorflow", "A SavedModel", "tensorflow")
    signatures = tensorflow.saved_model.load(str(path)).signatures
    if "metadata" not in signatures:
        raise ValueError(f"export: {path} has no metadata; write it by Forecaster.export.")
    metadata = json.loads(signatures["metadata"]()["json"].numpy())

    def run(**inputs):
        return signatures["serving_default"](
            **{name: tensorflow.constant(value) for name, value in inputs.items()}
        )["forecast"].numpy()

    return metadata, run


def _open_onnx(path):
    onnxruntime = import_extra("onnxruntime", "An .onnx file", "onnx")
    session = onnxruntime.InferenceSession(path)
    facts = session.get_modelmeta().custom_metadata_map
    if "kerastrans" not in facts:
        raise ValueError(f"export: {path} has no metadata; write it by Forecaster.export.")
    return json.loads(facts["kerastrans"]), lambda **inputs: session.run(["forecast"], inputs)[0]


def inputs_of(metadata, frame, origin, horizon):
    """Return the inputs of a model for all series of a frame, at one origin.

    Args:
        metadata: dict, metadata of the exported model.
        frame: DataFrame with "unique_id", "ds", "y" and covariates, each series from the same day.
        origin: int, number of rows of the history.
        horizon: int, steps to forecast.

    Raises:
        ValueError: If the model reads something that the frame does not have.
    """
    names, groups = zip(*frame.groupby("unique_id"), strict=True)

    def rows(columns, count):
        return np.stack([g[columns].to_numpy("float32")[:count] for g in groups])

    columns = metadata.get("columns", {})
    made = {"history": rows(["y"], origin)}
    for name, count in (("past_covariates", origin), ("future_covariates", origin + horizon)):
        if name in metadata["inputs"]:
            made[name] = rows(columns[name], count)
    if "last_time" in metadata["inputs"]:
        seconds = groups[0]["ds"].to_numpy().astype("datetime64[s]").astype("int64")
        made["last_time"] = np.full(len(groups), seconds[origin - 1])
    if "unique_id" in metadata["inputs"]:
        made["unique_id"] = np.array(names, object)
    unknown = sorted(set(metadata["inputs"]) - set(made))
    if unknown:
        raise ValueError(f"export: the scorer has no input {', '.join(unknown)}.")
    return made
