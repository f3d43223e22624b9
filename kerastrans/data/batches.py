"""Batches that are made when they are asked for, on every backend as `fit` takes them fastest."""

import itertools
import threading

import keras
import numpy as np

from kerastrans.utils.backend import processes, tensorflow_batches


def make_batches(
    arrays, count, make, batch_size, shuffle, seed=None, *, in_numpy=False, first=None, weights=None
):
    """Batches of the examples 0 ... count - 1, which `make` cuts out of the arrays.

    The order of an epoch is a function of `seed` and the epoch's number alone, so that a training
    that was interrupted is resumed with the batch that it would have had.

    Args:
        arrays: list of NumPy arrays, kept once.
        count: int, number of examples.
        make: function `(xp, arrays, chosen)` from integers `(batch,)` to a batch; `xp` is NumPy,
            or TensorFlow's NumPy, which is traced, and the arrays its tensors.
        batch_size: int, at most `count`.
        shuffle: bool, whether the order changes with every epoch; the last batch is then filled
            up with the first examples of the same epoch, so that all are of one size.
        seed: int, of the shuffling; None for one that is drawn.
        in_numpy: bool, whether NumPy makes them on TensorFlow too: no graph to trace, for data
            that are used but once.
        first: int, for shuffled batches without an end, epoch after epoch: the number of the first,
            counted from the first batch of epoch 0. None for the batches of one epoch at a time.
        weights: `(count,)`, for shuffled batches: how likely each example is, in any unit. As many
            are drawn in an epoch, with replacement. None for each once.

    Returns:
        `tf.data.Dataset` on TensorFlow, `keras.utils.PyDataset` elsewhere. Of several processes
        that train together each gets its part of every batch.
    """
    if shuffle and seed is None:
        seed = int(np.random.default_rng().integers(2**31))
    shares = None if weights is None else np.cumsum(weights) / np.sum(weights)
    if keras.backend.backend() == "tensorflow" and not in_numpy:
        return tensorflow_batches(arrays, count, make, batch_size, shuffle, seed, first, shares)
    batches = _Batches(arrays, count, make, batch_size, seed if shuffle else None, shares)
    return batches if first is None else Endless(batches.stream, first)


class Endless(keras.utils.PyDataset):
    """Batches without an end, each a function of its number, whoever reads ahead or starts anew.

    Args:
        stream: function from the number of a batch to an iterator of it and all that follow.
        first: int, number of the first batch.
    """

    num_batches = None

    def __init__(self, stream, first=0):
        super().__init__()
        self.stream = stream
        self.first = first
        self.place = None  # of the batch that the iterator would give next
        self.lock = threading.Lock()  # TensorFlow's thread of an old iterator may read on

    def __getitem__(self, index):
        with self.lock:
            if index != self.place:
                self.batches = self.stream(self.first + index)
            self.place = index + 1
            return next(self.batches)


class _Batches(keras.utils.PyDataset):
    """The batches of one epoch after the other; in order where the seed is None."""

    def __init__(self, arrays, count, make, batch_size, seed, shares=None):
        super().__init__()
        self.arrays = arrays
        self.make = make
        self.batch_size = batch_size
        self.seed = seed
        self.shares = shares
        self.order = np.arange(count)
        self.begin(0)

    def begin(self, epoch):
        """Put the examples into the order of an epoch."""
        self.epoch = epoch
        if self.seed is None:
            return
        random, count = np.random.default_rng([self.seed, epoch]), len(self.order)
        if self.shares is None:
            self.order = random.permutation(count)
        else:
            self.order = np.searchsorted(self.shares[:-1], random.random(count), side="right")

    def stream(self, number):
        """Iterator of the batches from this number on, epoch after epoch."""
        first, skipped = divmod(number, len(self))
        for epoch in itertools.count(first):
            self.begin(epoch)
            yield from (self[i] for i in range(skipped, len(self)))
            skipped = 0

    def __len__(self):
        return -(-len(self.order) // self.batch_size)

    def __getitem__(self, index):
        places = np.arange(index * self.batch_size, (index + 1) * self.batch_size)
        if self.seed is None:
            places = places[places < len(self.order)]
        number, count = processes()
        return self.make(np, self.arrays, self.order.take(places[number::count], mode="wrap"))

    def on_epoch_end(self):
        self.begin(self.epoch + 1)
