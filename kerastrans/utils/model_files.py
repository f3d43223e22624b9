"""Models in `.keras` files: their classes, checks before memory is allocated, and preparation."""

import inspect
import io
import json
import math
import zipfile
from collections import Counter
from pathlib import Path

import h5py
import keras
import numpy as np

from kerastrans.utils.keras_internals import without_values

MAX_BYTES = 2**28  # limit of unpacked bytes; for larger files EXPANSION times their size
EXPANSION = 4  # Keras does not compress
SPARE = 2**20  # weights that a model may have in addition to those stored, as seeds or adapters
KINDS = {"f": "floats", "i": "integers", "u": "integers", "b": "booleans"}
CONFIG, WEIGHTS = "config.json", "model.weights.h5"


def serializable(cls):
    """Register a class with Keras, and give it a `get_config` that returns its arguments.

    Each argument of the constructor that it names is an attribute of the same name. The other ones,
    such as the name and the dtype of a layer, are in the configuration of the base class.

    Example:
        >>> @serializable
        ... class Times(keras.layers.Layer):
        ...     def __init__(self, factor=2, **kwargs):
        ...         super().__init__(**kwargs)
        ...         self.factor = factor
        >>> Times(3, name="times").get_config()["factor"]
        3
    """
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    names = [x.name for x in parameters if x.kind is not x.VAR_KEYWORD]

    def get_config(self):
        values = {name: getattr(self, name) for name in names}
        parts = {
            name: keras.saving.serialize_keras_object(x)
            for name, x in values.items()
            if hasattr(x, "get_config")
        }
        return {**super(cls, self).get_config(), **values, **parts}

    cls.get_config = get_config
    return keras.saving.register_keras_serializable(package="kerastrans")(cls)


def check_model_file(path):
    """Compare the weights that a `.keras` file contains with the model that it describes.

    Only sizes and shapes are read; neither the stored weights nor the model's are allocated.

    Args:
        path: Path of a file written by `keras.Model.save`.

    Raises:
        ValueError: If the file unpacks to much more than its size, is not a model, contains weights
            that the model does not have or that are incomplete or outside the file, or describes a
            model with more weights than it contains. For damaged files the exceptions of zipfile,
            h5py or Keras are raised.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename: member.file_size for member in archive.infolist()}
        missing = [name for name in (CONFIG, WEIGHTS) if name not in sizes]
        if missing:
            raise ValueError(f"it contains no {missing[0]}, so it is not a .keras file")
        total, limit = sum(sizes.values()), max(MAX_BYTES, EXPANSION * Path(path).stat().st_size)
        if total > limit:
            raise ValueError(f"it unpacks to {total} bytes, the limit is {limit}")
        # Read everything to the end, so that zipfile compares the checksums.
        contents = {name: archive.read(name) for name in sizes}
    model = _symbolic(json.loads(contents[CONFIG]))
    with h5py.File(io.BytesIO(contents[WEIGHTS])) as file:
        _compare(_stored_types(file), model)


def _symbolic(config):
    """Return the uncompiled model of a configuration; its variables have no values."""
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} must contain a JSON object, got a {type(config).__name__}")
    config["compile_config"] = None
    with without_values():
        model = keras.saving.deserialize_keras_object(config, safe_mode=True)
    if not isinstance(model, keras.Model):
        raise ValueError(f"{CONFIG} describes a {type(model).__name__}, which is not a model")
    return model


def _stored_types(file):
    """Return a dict of path -> (shape, kind) of the datasets in an HDF5 file."""
    types = {}

    def visit(path, item):
        if not isinstance(item, h5py.Dataset):
            return
        is_elsewhere = item.external or item.is_virtual
        if is_elsewhere or item.shape is None or item.id.get_storage_size() < item.nbytes:
            raise ValueError(
                f"{path!r} in {WEIGHTS} declares the shape {item.shape} but stores "
                f"{item.id.get_storage_size()} bytes"
            )
        types[path] = item.shape, KINDS.get(item.dtype.kind, str(item.dtype))
        if types[path][1] == "floats" and not np.isfinite(item[()]).all():
            raise ValueError(f"{path!r} in {WEIGHTS} contains numbers that are not finite")

    file.visititems(visit)
    return types


def _compare(stored, model):
    """Raise ValueError unless the stored weights belong to the model and are nearly complete."""
    unmatched = Counter((tuple(x.shape), _kind_of(x.dtype)) for x in model.variables)
    for path, (shape, kind) in stored.items():
        if path.startswith("optimizer"):  # its size is limited by the size of the file
            continue
        if not unmatched[shape, kind]:
            raise ValueError(
                f"{path!r} in {WEIGHTS} has shape {shape} of {kind}, which the model does not have"
            )
        unmatched[shape, kind] -= 1
    needed = sum(math.prod(weight.shape) for weight in model.weights)
    stored_size = sum(math.prod(shape) for shape, _ in stored.values())
    if needed > 2 * stored_size + SPARE:
        raise ValueError(
            f"{CONFIG} describes {needed} weights, but {WEIGHTS} contains {stored_size} numbers"
        )


def _kind_of(dtype):
    """Return the kind of a Keras data type, as `KINDS` names it."""
    name = keras.backend.standardize_dtype(dtype)
    return "floats" if "float" in name else KINDS.get(np.dtype(name).kind, name)


def without_optimizer(model, name=None):
    """Return a copy of a model with its weights, not compiled, and optionally another name."""
    uncompiled = type(model).from_config({**model.get_config(), "name": name or model.name})
    uncompiled.set_weights(model.get_weights())
    return uncompiled


def copy_to_train(model):
    """Return a copy of a model with its weights, compiled alike, with the state of its optimizer.

    The arrays are copied too: a training on JAX deletes those that it has read.
    """
    copied = without_optimizer(model)
    if not model.compiled:
        return copied
    try:
        copied.compile_from_config(model.get_compile_config())
    except (TypeError, ValueError):  # a loss that Keras cannot serialize
        optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
        copied.compile(optimizer, model.loss)
    if model.optimizer.built:
        copied.optimizer.build(copied.trainable_variables)
        variables = zip(copied.optimizer.variables, model.optimizer.variables, strict=True)
        for target, source in variables:
            target.assign(keras.ops.convert_to_numpy(source))
    return copied
