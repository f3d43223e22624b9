"""Identity of data and options: whether a stored training, search or forecast is of the same."""

import hashlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.utils.files import sha256_of


def fingerprint(value):
    """Return a text that identifies data or options, the same one in every process.

    A frame is identified by its names, types, index and values; a file by its content, and a folder
    by the names and the content of its files; a dataclass by its fields; an object of Keras by its
    `get_config`, without the numbers that Keras adds to names ("adam_1"); any other object by its
    `repr` and attributes, without addresses.

    Args:
        value: Frame, array, `pathlib.Path`, list, dict, or any option; text is not a path.

    Raises:
        FileNotFoundError: If there is no such file.

    Example:
        >>> frame = pd.DataFrame({"price": [1.0], "promo": [2.0]})
        >>> fingerprint(frame) == fingerprint(frame.copy())
        True
        >>> fingerprint(frame) == fingerprint(frame.set_axis(["promo", "price"], axis=1))
        False
    """
    return hashlib.sha256(repr(_content(value)).encode()).hexdigest()[:32]


def fingerprints(settings):
    """Return a dict of the same names -> the fingerprint of each value."""
    return {name: fingerprint(value) for name, value in settings.items()}


def differing(stored, found):
    """Return the sorted names under which two dicts differ, or that only one of them has."""
    return sorted(x for x in stored.keys() | found.keys() if stored.get(x) != found.get(x))


def _content(value):
    """Return a value as lists of numbers and text, whose `repr` leaves nothing out."""
    if isinstance(value, pd.DataFrame):
        kinds = map(str, (*value.dtypes, value.index.dtype))
        rows = pd.util.hash_pandas_object(value).to_numpy()
        return _content([list(value), list(value.index.names), *kinds, rows])
    if isinstance(value, Path):
        files = sorted(x for x in value.rglob("*") if x.is_file()) or [value]
        return [(x.relative_to(value).as_posix(), sha256_of(x)) for x in files]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_content(x) for x in value]
    if isinstance(value, dict):
        if isinstance(config := "class_name" in value and value.get("config"), dict):
            name = re.sub(r"_\d+$", "", str(config.get("name")))
            value = value | {"config": config | {"name": name}}
        return sorted((repr(name), _content(x)) for name, x in value.items())
    kind = type(value)
    if is_dataclass(kind):
        return repr(kind), _content({x.name: getattr(value, x.name) for x in fields(value)})
    if hasattr(kind, "get_config"):
        from kerastrans.utils.keras_internals import config_of  # imports Keras, which made `value`

        return _content({"class_name": repr(kind), "config": config_of(value)})
    return re.sub(" at 0x[0-9a-f]+", "", repr((value, getattr(value, "__dict__", None))))
