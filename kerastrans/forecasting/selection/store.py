"""The candidates of a selection on disk, each once it is trained, so that it can be resumed."""

import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.utils.files import new_file, read_json

FACTS = "selection.json"


class Kept:
    """Candidates by their numbers, in a folder or nowhere.

    Args:
        folder: made where there is none; None to keep nothing.
        facts: dict, ready for JSON, of what decides the selection.
        frame, static: its data, whose checksum is one of the facts.

    Raises:
        ValueError: a folder of another selection; the facts that differ are named.
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
        """Whether a candidate is there."""
        return self.folder is not None and (self.folder / str(number)).is_dir()

    def get(self, number, make):
        """A candidate from its folder, or made, and kept there."""
        if self.has(number):
            return Forecaster.load(self.folder / str(number))
        forecaster = make()
        if self.folder is not None:
            forecaster.save(self.folder / str(number))
        return forecaster


def checksum(frame):
    """A number of a frame's columns, index and values."""
    hashes = pd.util.hash_pandas_object(frame).to_numpy()
    return zlib.crc32(np.ascontiguousarray(hashes), zlib.crc32(repr(list(frame)).encode()))
