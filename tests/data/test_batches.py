import keras
import numpy as np
import pytest

from kerastrans.data import random_sequences, window_dataset
from tests.conftest import XLA, to_numpy
from tools.presets.synthetic import synthetic_series

VALUES = np.arange(50, dtype="float32")[:, None]
STARTS = set(range(45))  # first rows of the windows of 4 + 2 rows
OPTIONS = {"batch_size": 8, "shuffle": True}  # six batches, of which the last is filled up with 3


def windows(**kwargs):
    return window_dataset(VALUES, 4, 2, **OPTIONS | kwargs)


def order(dataset):
    """The first rows of the windows of one pass."""
    return np.concatenate([to_numpy(x)[:, 0, 0].astype(int) for x, _ in dataset]).tolist()


@pytest.mark.parametrize("batch_size", [1, 8, 45, 100])
def test_a_pass_has_batches_of_one_size_and_every_window_once(batch_size):
    dataset = windows(batch_size=batch_size)
    sizes = [len(x) for x, _ in dataset]
    assert set(sizes) == {min(batch_size, 45)}
    assert len(dataset) == len(sizes) == -(-45 // batch_size)
    for _ in range(2):
        starts = order(dataset)
        assert sorted(starts[:45]) == sorted(STARTS) != starts[:45]


def test_a_seed_decides_the_order_of_each_pass_of_a_new_object():
    passes = []
    for seed, of_keras in ((1, 0), (1, 7), (2, 0)):
        keras.utils.set_random_seed(of_keras)
        dataset = windows(seed=seed)
        passes.append([order(dataset) for _ in range(3)])
    assert passes[0] == passes[1]
    different = {tuple(x) for x in passes[0] + passes[2]}
    assert len(different) == 6


def test_without_a_seed_the_order_is_that_of_the_seed_of_keras():
    def draw(seed):
        keras.utils.set_random_seed(seed)
        dataset = windows()
        return (
            [order(dataset), order(dataset), order(windows())],
            random_sequences(2, 3, 4).tolist(),
            synthetic_series(6, 9).tolist(),
        )

    one, again, other = draw(0), draw(0), draw(1)
    assert one == again
    assert all(x != y for x, y in zip(one, other, strict=True))
    assert one[0][0] != one[0][2]
    assert (random_sequences(2, 3, 4) != random_sequences(2, 3, 4)).all()


def test_loops_at_once_have_an_order_each():
    dataset = windows(seed=0)
    pairs = [
        (to_numpy(x)[:, 0, 0], to_numpy(y)[:, 0, 0])
        for (x, _), (y, _) in zip(dataset, dataset, strict=True)
    ]
    one, other = (np.concatenate(x).astype(int).tolist() for x in zip(*pairs, strict=True))
    assert set(one) == set(other) == STARTS
    assert one != other


def test_windows_that_are_not_shuffled_keep_their_order():
    dataset = windows(shuffle=False)
    assert order(dataset) == order(dataset) == sorted(STARTS)


class Seen(keras.metrics.Metric):
    """Counts how often `fit` and `evaluate` have read each window."""

    def __init__(self):
        super().__init__(name="seen")
        self.counts = self.add_weight(name="counts", shape=(50,), initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        starts = keras.ops.cast(y_true[:, 0, 0], "int32") - 4
        self.counts.assign_add(keras.ops.sum(keras.ops.one_hot(starts, 50), axis=0))

    def result(self):
        return keras.ops.sum(self.counts)

    def reset_state(self):
        pass


def fit(dataset, **kwargs):
    """Fit, and return how often each window was read in each epoch, `(epochs, windows)`."""
    history = keras.Input((4, 1))
    outputs = keras.layers.Dense(2)(keras.layers.Flatten()(history))
    model = keras.Model(history, keras.layers.Reshape((2, 1))(outputs))
    seen, counts = Seen(), [np.zeros(45)]
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=[seen], **XLA)
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: counts.append(to_numpy(seen.counts.value)[:45].copy())
    )
    model.fit(dataset, verbose=0, callbacks=[callback, *kwargs.pop("callbacks", [])], **kwargs)
    return np.diff(counts, axis=0)


@pytest.mark.filterwarnings("ignore:.shuffle=True. was passed")
@pytest.mark.parametrize("shuffle", [False, True])
def test_every_epoch_of_fit_reads_every_window(shuffle):
    dataset = windows(seed=0)
    order(dataset)
    if isinstance(dataset, keras.utils.PyDataset):
        dataset.workers = 3  # of Keras, whose threads read across the ends of passes
    counts = fit(dataset, epochs=3, shuffle=shuffle)
    assert counts.min() == 1
    np.testing.assert_array_equal((counts == 2).sum(axis=1), [3, 3, 3])
    assert (counts[0] != counts[1]).any()
    assert (counts[1] != counts[2]).any()  # other windows fill up the last batch


def test_steps_per_epoch_do_not_move_the_end_of_a_pass():
    dataset = windows(seed=0)
    looks = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: next(iter(dataset)))
    counts = fit(dataset, epochs=6, steps_per_epoch=2, shuffle=False, callbacks=[looks])
    np.testing.assert_array_equal(counts.sum(axis=1), [16] * 6)
    for one_pass in (counts[:3], counts[3:]):
        assert one_pass[:2].sum(axis=0).max() == 1
        assert one_pass.sum(axis=0).min() == 1
    assert (counts[0] != counts[3]).any()


def test_a_loop_after_fit_has_another_order():
    dataset = windows(seed=0)
    before = order(dataset)
    fit(dataset, epochs=1, shuffle=False)
    assert before != order(dataset) != order(dataset)


@pytest.mark.slow
def test_two_runs_of_a_script_have_the_same_losses():
    def losses():
        keras.utils.set_random_seed(42)
        layers = keras.layers.Flatten(), keras.layers.Dense(4), keras.layers.Reshape((4, 1))
        model = keras.Sequential(layers)
        model.compile("adam", "mse", **XLA)
        train = window_dataset(VALUES / 50, 8, 4, shuffle=True)
        validation = window_dataset(VALUES / 50, 8, 4)
        history = model.fit(train, epochs=2, shuffle=False, validation_data=validation, verbose=0)
        return history.history

    assert losses() == losses()
