"""Folders of Parquet files, each with whole series, for data that do not fit into memory."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.utils.lazy import install


def list_partitions(path):
    """Return the .parquet files of a folder and its subfolders, sorted by path.

    Args:
        path: Path of the folder, or of one Parquet file.

    Raises:
        FileNotFoundError: If `path` does not exist, or is a folder without such files.
        ValueError: If `path` is a file whose name does not end with .parquet.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"the file or folder {path} does not exist.")
    if path.is_dir():
        files = sorted(path.glob("**/*.parquet"))
        if not files:
            raise FileNotFoundError(f"{path} holds no .parquet file.")
        return files
    if path.suffix != ".parquet":
        raise ValueError(
            f"{path} is neither a folder of Parquet files nor one of them: give a DataFrame, such "
            "as kerastrans.data.read_csv returns of a CSV file."
        )
    return [path]


def read_partition(path, columns=None):
    """Read the frame of a Parquet file.

    Args:
        path: Path of the file.
        columns: List of the columns to read; None for all.

    Raises:
        ImportError: If the extra `scale` is missing.
        ValueError: If the file is not a Parquet file.
    """
    try:
        return pd.read_parquet(path, columns=columns)
    except ImportError:
        raise ImportError(f"Parquet files require an extra: {install('scale')}.") from None
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def stream_batches(files, windows, batch_size, shuffle, seed, epoch=0):
    """Yield batches for `fit` without end, with the windows of only one file in memory at a time.

    The order of an epoch depends only on `seed` and the number of the epoch.

    Args:
        files: List of paths.
        windows: Function from a path to its `Windows`.
        batch_size: int, number of windows in a batch.
        shuffle: bool, whether to shuffle the files, and the windows of each file, in every epoch.
        seed: int, seed of the shuffling.
        epoch: int, number of the first epoch.

    Raises:
        ValueError: If no file has a window.
    """
    for number in itertools.count(epoch):
        random = np.random.default_rng([seed, number])
        is_empty = True
        for place in random.permutation(len(files)) if shuffle else range(len(files)):
            order = int(random.integers(2**31))
            part = windows(files[place])
            if len(part):
                is_empty = False
                yield from part.batches(batch_size, shuffle, order, in_numpy=True)
            del part  # free its memory before the next file is read
        if is_empty:
            raise ValueError(f"the {len(files)} files have no window.")
