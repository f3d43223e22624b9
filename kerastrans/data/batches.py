"""Batches that are made when they are asked for, on every backend as `fit` takes them fastest."""

import keras
import numpy as np

from kerastrans.utils.backend import processes, tensorflow_batches


def make_batches(arrays, count, make, batch_size, shuffle, seed, in_numpy=False):
    """Batches of the examples 0 ... count - 1, which `make` cuts out of the arrays.

    Args:
        arrays: list of NumPy arrays, kept once.
        count: int, number of examples.
        make: function `(xp, arrays, chosen)` from integers `(batch,)` to a batch; `xp` is NumPy,
            or TensorFlow's NumPy, which is traced, and the arrays its tensors.
        batch_size: int, at most `count`.
        shuffle: bool, whether the order changes with every epoch; the last batch is then filled
            up with examples of the epoch before or after, so that all are of one size.
        seed: int, of the shuffling.
        in_numpy: bool, whether NumPy makes them on TensorFlow too: no graph to trace, for data
            that are used but once.

    Returns:
        `tf.data.Dataset` on TensorFlow, `keras.utils.PyDataset` elsewhere. Of several processes
        that train together each gets its part of every batch.
    """
    if keras.backend.backend() == "tensorflow" and not in_numpy:
        return tensorflow_batches(arrays, count, make, batch_size, shuffle, seed)
    return _Batches(arrays, count, make, batch_size, shuffle, seed)


class _Batches(keras.utils.PyDataset):
    def __init__(self, arrays, count, make, batch_size, shuffle, seed):
        super().__init__()
        self.arrays = arrays
        self.make = make
        self.batch_size = batch_size
        self.random = np.random.default_rng(seed) if shuffle else None
        self.order = np.arange(count)
        self.on_epoch_end()

    def __len__(self):
        return -(-len(self.order) // self.batch_size)

    def __getitem__(self, index):
        places = np.arange(index * self.batch_size, (index + 1) * self.batch_size)
        if self.random is None:
            places = places[places < len(self.order)]
        number, count = processes()
        return self.make(np, self.arrays, self.order.take(places[number::count], mode="wrap"))

    def on_epoch_end(self):
        if self.random is not None:
            self.random.shuffle(self.order)
