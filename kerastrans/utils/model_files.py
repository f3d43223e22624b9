"""What a `.keras` file declares, checked before memory is given to it; what goes into one."""

import io
import json
import math
import zipfile
from collections import Counter
from pathlib import Path

import h5py
import keras

from kerastrans.utils.keras_internals import without_values

MAX_BYTES = 2**28  # that any file may unpack to; a larger file up to EXPANSION times its size
EXPANSION = 4  # Keras does not compress
SPARE = 2**20  # weights that a model may have beyond those stored: seeds, adapters
CONFIG, WEIGHTS = "config.json", "model.weights.h5"


def check_model_file(path):
    """Compare the weights that a `.keras` file holds with the model that it describes.

    Sizes and shapes are read, the weights themselves are not, and the model's are not allocated.

    Args:
        path: file that `keras.Model.save` wrote.

    Raises:
        ValueError: a file that unpacks to much more than its size; no model; weights that the
            model has not, that are not stored in full or outside the file; a model with more
            weights than the file holds. A damaged file raises what zipfile, h5py or Keras raise.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename: member.file_size for member in archive.infolist()}
        missing = [name for name in (CONFIG, WEIGHTS) if name not in sizes]
        if missing:
            raise ValueError(f"it holds no {missing[0]}, so it is no .keras file")
        total, limit = sum(sizes.values()), max(MAX_BYTES, EXPANSION * Path(path).stat().st_size)
        if total > limit:
            raise ValueError(f"it unpacks to {total} bytes, at most {limit} are read")
        # All of it, since reading to the end compares the checksums.
        contents = {name: archive.read(name) for name in sizes}
    model = _symbolic(json.loads(contents[CONFIG]))
    with h5py.File(io.BytesIO(contents[WEIGHTS])) as file:
        _compare(_stored_shapes(file), model)


def _symbolic(config):
    """The model of a configuration, not compiled, its variables without values."""
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} must hold a JSON object, got a {type(config).__name__}")
    config["compile_config"] = None
    with without_values():
        model = keras.saving.deserialize_keras_object(config, safe_mode=True)
    if not isinstance(model, keras.Model):
        raise ValueError(f"{CONFIG} describes a {type(model).__name__}, which is no model")
    return model


def _stored_shapes(file):
    """Dict from the paths of an HDF5 file's datasets to their shapes."""
    shapes = {}

    def visit(path, item):
        if not isinstance(item, h5py.Dataset):
            return
        elsewhere = item.external or item.is_virtual
        if elsewhere or item.shape is None or item.id.get_storage_size() < item.nbytes:
            raise ValueError(
                f"{path!r} in {WEIGHTS} declares the shape {item.shape} and stores "
                f"{item.id.get_storage_size()} bytes"
            )
        shapes[path] = item.shape

    file.visititems(visit)
    return shapes


def _compare(stored, model):
    """Raise ValueError unless the stored weights are the model's, and enough of them."""
    left = Counter(tuple(variable.shape) for variable in model.variables)
    for path, shape in stored.items():
        if path.startswith("optimizer"):  # whose sizes are those on the disk
            continue
        if not left[shape]:
            raise ValueError(f"{path!r} in {WEIGHTS} has shape {shape}, which the model has not")
        left[shape] -= 1
    needed = sum(math.prod(weight.shape) for weight in model.weights)
    held = sum(map(math.prod, stored.values()))
    if needed > 2 * held + SPARE:
        raise ValueError(f"{CONFIG} describes {needed} weights, {WEIGHTS} holds {held} numbers")


def without_optimizer(model, name=None):
    """The same model with the same weights, not compiled; by another name where one is given."""
    bare = type(model).from_config({**model.get_config(), "name": name or model.name})
    bare.set_weights(model.get_weights())
    return bare
