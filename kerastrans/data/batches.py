"""Batches that are cut on demand, in the form that `fit` reads fastest on each backend."""

import itertools
import threading

import keras
import numpy as np

from kerastrans.utils.backend import processes, tensorflow_batches


def make_batches(
    arrays, count, make, batch_size, shuffle, seed=None, *, in_numpy=False, first=None, weights=None
):
    """Return batches of the examples 0 ... count - 1, which `make` cuts out of the arrays.

    The order of an epoch depends only on `seed` and the number of the epoch, so that an interrupted
    training resumes with the batch that would have been next.

    Args:
        arrays: List of NumPy arrays, which are stored once.
        count: int, number of examples.
        make: Function `(xp, arrays, chosen)` that returns the batch of the examples `chosen`,
            integers `(batch,)`. `xp` is NumPy, or TensorFlow's NumPy, which is traced with tensors
            as arrays.
        batch_size: int, number of examples in a batch, at most `count`.
        shuffle: bool, whether the order changes with every epoch. The last batch is then filled up
            with the first examples of the epoch, so that all batches have the same size.
        seed: int, seed of the shuffling; None draws one.
        in_numpy: bool, whether to use NumPy on TensorFlow too, for data that are used only once,
            which saves tracing a graph.
        first: int, for an infinite stream of shuffled batches: number of the first batch, counted
            from the first batch of epoch 0. None for the batches of one epoch at a time.
        weights: `(count,)`, for shuffled batches: relative probability of each example. An epoch
            then draws `count` examples with replacement. None for each example once.

    Returns:
        `tf.data.Dataset` on TensorFlow, `keras.utils.PyDataset` on other backends. If several
        processes train together, each gets its part of every batch.
    """
    if shuffle and seed is None:
        seed = int(np.random.default_rng().integers(2**31))
    # Cumulative distribution of the examples, for the draws in `begin`.
    shares = None if weights is None else np.cumsum(weights) / np.sum(weights)
    if keras.backend.backend() == "tensorflow" and not in_numpy:
        return tensorflow_batches(arrays, count, make, batch_size, shuffle, seed, first, shares)
    batches = _Batches(arrays, count, make, batch_size, seed if shuffle else None, shares)
    return batches if first is None else Endless(batches.stream, first)


class Endless(keras.utils.PyDataset):
    """Infinite stream of batches, each determined by its number, in whatever order they are read.

    Args:
        stream: Function from the number of a batch to an iterator of this batch and all following.
        first: int, number of the first batch.
    """

    num_batches = None

    def __init__(self, stream, first=0):
        super().__init__()
        self.stream = stream
        self.first = first
        self.place = None  # index of the batch that the iterator returns next
        self.lock = threading.Lock()  # TensorFlow's thread of an old iterator may still read

    def __getitem__(self, index):
        with self.lock:
            if index != self.place:
                self.batches = self.stream(self.first + index)
            self.place = index + 1
            return next(self.batches)


class _Batches(keras.utils.PyDataset):
    """Batches of one epoch after another; the examples are in order if the seed is None."""

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
        """Set the order of the examples to that of an epoch."""
        self.epoch = epoch
        if self.seed is None:
            return
        random, count = np.random.default_rng([self.seed, epoch]), len(self.order)
        if self.shares is None:
            self.order = random.permutation(count)
        else:
            self.order = np.searchsorted(self.shares[:-1], random.random(count), side="right")

    def stream(self, number):
        """Iterate over the batches from this number, epoch after epoch."""
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
