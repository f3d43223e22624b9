"""Series in more Parquet files than memory holds: a folder of files, each with whole series."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd


def list_partitions(folder):
    """The .parquet files of a folder and of the folders in it, in the order of their paths.

    Raises:
        FileNotFoundError: there is none.
    """
    files = sorted(Path(folder).glob("**/*.parquet"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no .parquet file.")
    return files


def read_partition(path):
    """The frame of a file.

    Raises:
        ImportError: the extra `scale` is missing. ValueError: no Parquet file.
    """
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ImportError('Parquet wants the extra: pip install "kerastrans[scale]".') from None
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def stream_batches(files, windows, batch_size, shuffle, seed, epoch=0):
    """Batches for `fit`, for ever, of which no more than one file's windows are in memory.

    The order of an epoch is a function of `seed` and the epoch's number alone.

    Args:
        files: list of paths, each of which has windows.
        windows: function from a path to its `Windows`.
        batch_size: int, windows in a batch.
        shuffle: bool, whether the files and the windows of each come in a new order every epoch.
        seed: int, of the shuffling.
        epoch: int, the first.
    """
    for number in itertools.count(epoch):
        random = np.random.default_rng([seed, number])
        for place in random.permutation(len(files)) if shuffle else range(len(files)):
            order = int(random.integers(2**31))
            batches = windows(files[place]).batches(batch_size, shuffle, order, in_numpy=True)
            yield from (batches[i] for i in range(len(batches)))
            del batches  # before the next file is read
