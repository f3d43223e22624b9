"""Store of trained candidates, so that `select` can be resumed."""

import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.utils.files import new_file, read_json

FACTS = "selection.json"


class CandidateStore:
    """Store of candidates by their numbers, in a folder if one is given.

    Args:
        folder: Path of the folder, which is created if it does not exist; None to store nothing.
        facts: Dict, ready for JSON, of everything that decides the selection.
        frame: Frame of the selection, whose checksum is one of the facts.
        static: Frame of static covariates, or None.

    Raises:
        ValueError: If the folder belongs to another selection. The message names the facts that
            differ.
    """

    def __init__(self, folder, facts, frame, static):
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        sums = [checksum(x) for x in (frame, static) if x is not None]
        facts = json.loads(json.dumps({**facts, "data": sums}))
        path = self.folder / FACTS
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            with new_file(path) as unfinished:
                unfinished.write_text(json.dumps(facts, indent=2) + "\n")
            return
        stored = read_json(path, {})
        differing = [name for name in facts if stored.get(name) != facts[name]]
        if differing:
            raise ValueError(
                f"{self.folder} holds a selection with other {', '.join(differing)}: give another "
                "folder, or remove it."
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
    """Return a checksum of the columns, the index and the values of a frame."""
    hashes = pd.util.hash_pandas_object(frame).to_numpy()
    return zlib.crc32(np.ascontiguousarray(hashes), zlib.crc32(repr(list(frame)).encode()))
