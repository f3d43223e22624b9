"""Batches that are cut on demand, in the form that `fit` reads fastest on each backend."""

import itertools
import threading

import keras
import numpy as np

from kerastrans.utils.backend import processes, tensorflow_batches
from kerastrans.utils.random import draw_seed


def make_batches(
    arrays, count, make, batch_size, shuffle, seed=None, *, in_numpy=False, first=None, weights=None
):
    """Return batches of the examples 0 ... count - 1, which `make` cuts out of the arrays.

    Every pass over the batches, of `fit` or of a loop, is an epoch with its own order;
    `steps_per_epoch` does not end it. The order of an epoch depends only on `seed` and the number
    of the epoch, so that an interrupted training resumes with the batch that would have been next.

    Args:
        arrays: List of NumPy arrays, which are stored once.
        count: int, number of examples.
        make: Function `(xp, arrays, chosen)` that returns the batch of the examples `chosen`,
            integers `(batch,)`. `xp` is NumPy, or TensorFlow's NumPy, which is traced with tensors
            as arrays.
        batch_size: int, number of examples in a batch, at most `count`.
        shuffle: bool, whether the order changes with every epoch. The last batch is then filled up
            with the first examples of the epoch, so that all batches have the same size.
        seed: int, seed of the shuffling; None draws one, see `draw_seed`.
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
        seed = draw_seed()
    # Cumulative distribution of the examples, for the draws in `order_of`.
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
    """Batches of one epoch after another; the examples are in order if the seed is None.

    Keras reads them by index. It asks for `num_batches` when it begins with the first one; the end
    of its epoch (`on_epoch_end`) may be within a pass. Its threads read ahead across that end, so
    that `workers` is ignored: they would mix two passes, and a batch is cut in less than they take.
    """

    workers = property(lambda self: 1, lambda self, value: None)
    use_multiprocessing = property(lambda self: False, lambda self, value: None)

    def __init__(self, arrays, count, make, batch_size, seed, shares=None):
        super().__init__()
        self.arrays = arrays
        self.count = count
        self.make = make
        self.batch_size = batch_size
        self.seed = seed
        self.shares = shares
        self.epochs = 0  # begun so far
        self.order = None  # of the examples in the epoch that is read by index; None before it

    def next_order(self):
        """Begin an epoch, and return its order."""
        self.epochs += 1
        return self.order_of(self.epochs - 1)

    def order_of(self, epoch):
        """Return the order of the examples in the epoch of this number, `(count,)`."""
        if self.seed is None:
            return np.arange(self.count)
        random = np.random.default_rng([self.seed, epoch])
        if self.shares is None:
            return random.permutation(self.count)
        return np.searchsorted(self.shares[:-1], random.random(self.count), side="right")

    def stream(self, number):
        """Iterate over the batches from this number, epoch after epoch."""
        first, skipped = divmod(number, len(self))
        for epoch in itertools.count(first):
            yield from self.read(self.order_of(epoch), skipped)
            skipped = 0

    def read(self, order, first=0):
        """Iterate over the batches of an order, from the batch `first`."""
        return (self.batch(order, i) for i in range(first, len(self)))

    def batch(self, order, index):
        """Return a batch of an order."""
        places = np.arange(index * self.batch_size, (index + 1) * self.batch_size)
        if self.seed is None:
            places = places[places < self.count]
        number, count = processes()
        return self.make(np, self.arrays, order.take(places[number::count], mode="wrap"))

    def __len__(self):
        return -(-self.count // self.batch_size)

    @property
    def num_batches(self):
        self.order = None
        return len(self)

    def __getitem__(self, index):
        if self.order is None:
            self.order = self.next_order()
        return self.batch(self.order, index)

    def __iter__(self):
        return self.read(self.next_order())
