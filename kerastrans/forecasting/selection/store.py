"""Store of trained candidates, so that `select` can be resumed."""

import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.utils.files import new_file, read_json

SETTINGS_FILE = "selection.json"


class CandidateStore:
    """Store of trained candidates by number, in a folder if one is given.

    Args:
        folder: Path of the folder, which is created if it does not exist; None to store nothing.
        settings: Dict, ready for JSON, of everything that determines the selection.
        frame: Frame of the selection, whose checksum is one of the settings.
        static: Frame of static covariates, or None.

    Raises:
        ValueError: If the folder belongs to another selection. The message names the settings that
            differ.
    """

    def __init__(self, folder, settings, frame, static):
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        checksums = [checksum(x) for x in (frame, static) if x is not None]
        settings = json.loads(json.dumps({**settings, "data": checksums}))
        path = self.folder / SETTINGS_FILE
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            with new_file(path) as unfinished:
                unfinished.write_text(json.dumps(settings, indent=2) + "\n")
            return
        stored = read_json(path, {})
        differing = [name for name in settings if stored.get(name) != settings[name]]
        if differing:
            raise ValueError(
                f"{self.folder} holds a selection with other {', '.join(differing)}: give another "
                "folder, or delete this one."
            )

    def has(self, number):
        """Return whether a candidate is stored."""
        return self.folder is not None and (self.folder / str(number)).is_dir()

    def get(self, number, train):
        """Return a stored candidate, or train and store it."""
        if self.has(number):
            return Forecaster.load(self.folder / str(number))
        forecaster = train()
        if self.folder is not None:
            forecaster.save(self.folder / str(number))
        return forecaster


def checksum(frame):
    """Return a checksum of the columns, index and values of a frame."""
    hashes = pd.util.hash_pandas_object(frame).to_numpy()
    return zlib.crc32(np.ascontiguousarray(hashes), zlib.crc32(repr(list(frame)).encode()))
