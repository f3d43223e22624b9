"""Series in more Parquet files than memory holds: a folder of files, each with whole series."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd


def list_partitions(path):
    """The .parquet files of a folder and of the folders in it, in the order of their paths.

    Args:
        path: of the folder, or of one Parquet file.

    Raises:
        FileNotFoundError: there is nothing at `path`, or a folder without such files.
        ValueError: a file that is not called .parquet.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
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


def read_partition(path):
    """The frame of a file.

    Raises:
        ImportError: the extra `scale` is missing.
        ValueError: not a Parquet file.
    """
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ImportError('Parquet wants the extra: pip install "kerastrans[scale]".') from None
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def first_frame(frame):
    """The frame itself, or the first of a folder of Parquet files."""
    if isinstance(frame, str | Path):
        return read_partition(list_partitions(frame)[0])
    return frame


def stream_batches(files, windows, batch_size, shuffle, seed, epoch=0):
    """Batches for `fit`, without end, of which no more than one file's windows are in memory.

    The order of an epoch is a function of `seed` and the epoch's number alone.

    Args:
        files: list of paths.
        windows: function from a path to its `Windows`.
        batch_size: int, windows in a batch.
        shuffle: bool, whether the files and the windows of each come in a new order every epoch.
        seed: int, of the shuffling.
        epoch: int, number of the first epoch.

    Raises:
        ValueError: no file has a window.
    """
    for number in itertools.count(epoch):
        random = np.random.default_rng([seed, number])
        is_empty = True
        for place in random.permutation(len(files)) if shuffle else range(len(files)):
            order = int(random.integers(2**31))
            part = windows(files[place])
            if len(part):
                is_empty = False
                batches = part.batches(batch_size, shuffle, order, in_numpy=True)
                yield from (batches[i] for i in range(len(batches)))
                del batches
            del part  # before the next file is read
        if is_empty:
            raise ValueError(f"the {len(files)} files have no window.")
