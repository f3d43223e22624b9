"""A training that is interrupted is resumed as if it had not been."""

import functools

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.data.batches import make_batches
from kerastrans.forecasting.training.checkpoint import FILE
from kerastrans.heads import QuantileHead
from tests.conftest import assert_same_numbers
from tests.helpers.frames import series, statics

TIMES = pd.date_range("2024-01-01", periods=90, freq="h")
NOISE = np.random.default_rng(0).standard_normal(90)
FRAME = pd.DataFrame({"a": 10 + 5 * np.sin(np.arange(90) / 4) + NOISE}, TIMES)
FIT = {"batch_size": 16, "validation_size": 12, "epochs": 4, "verbose": 0}
SMALL = {"patch_length": 4, "stride": 4, "d_model": 8, "num_heads": 2, "ff_dim": 8, "num_blocks": 1}


class Interrupted(keras.callbacks.Callback):
    """Ctrl-C at the beginning or in the middle of an epoch."""

    def __init__(self, epoch, batch=None):
        super().__init__()
        self.at, self.batch, self.epoch = epoch, batch, None

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        if self.batch is None and epoch == self.at:
            raise KeyboardInterrupt

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == self.at and batch == self.batch:
            raise KeyboardInterrupt


def forecaster(**kwargs):
    """PatchTST with dropout, whose random seeds go on too, and a new optimizer, "adam_1" ..."""
    options = {"head": "point", "dropout": 0.2, "optimizer": keras.optimizers.Adam(), **SMALL}
    options |= kwargs
    return Forecaster("patchtst", 24, 6, **options)


@pytest.fixture(scope="module")
def uninterrupted():
    return forecaster().fit(FRAME, **FIT)


def assert_same(one, other):
    assert_same_numbers(one.model.get_weights(), other.model.get_weights())
    assert list(one.history.history) == list(other.history.history)
    assert_same_numbers(one.history.history.values(), other.history.history.values())
    assert other.history.epoch == [0, 1, 2, 3]


SLOW = [pytest.param(*at, marks=pytest.mark.slow) for at in ((0, 1), (2, 1), (3, 0))]


@pytest.mark.parametrize(("epoch", "batch"), [(2, None), *SLOW])
def test_a_resumed_training_equals_the_uninterrupted_one(uninterrupted, epoch, batch, tmp_path):
    one = forecaster()
    with pytest.raises(KeyboardInterrupt):
        one.fit(FRAME, checkpoint=tmp_path, callbacks=[Interrupted(epoch, batch)], **FIT)
    assert (tmp_path / FILE).exists() is (epoch > 0)
    # A time limit, which the given epochs replace, and what is kept are no part of the training.
    ends = {"time_limit": 60, "restore_published": False}
    resumed = forecaster().fit(FRAME, checkpoint=tmp_path, **ends, **FIT)
    assert_same(uninterrupted, resumed)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.slow
def test_a_training_that_is_done_is_not_done_again(uninterrupted, tmp_path):
    forecaster().fit(FRAME, checkpoint=tmp_path, **FIT)
    before = (tmp_path / FILE).read_bytes()
    again = forecaster().fit(FRAME, checkpoint=tmp_path, **FIT)
    assert_same(uninterrupted, again)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_best_epoch_survives_an_interruption(tmp_path):
    options = {"batch_size": 16, "verbose": 0}
    make = {"optimizer": keras.optimizers.Adam(0.05)}  # too fast: the best epoch is an early one
    whole = forecaster(**make).fit(FRAME, **options)
    losses = whole.history.history["val_loss"]
    assert 6 <= len(losses) < 50
    best = int(np.argmin(losses))
    with pytest.raises(KeyboardInterrupt):
        forecaster(**make).fit(
            FRAME, checkpoint=tmp_path, callbacks=[Interrupted(best + 3)], **options
        )
    for _ in range(2):  # the second finds the training over
        resumed = forecaster(**make).fit(FRAME, checkpoint=tmp_path, **options)
        assert_same_numbers([resumed.history.history["val_loss"]], [losses])
        assert_same_numbers(whole.model.get_weights(), resumed.model.get_weights())


@pytest.mark.slow
def test_what_differs_is_named(tmp_path):
    forecaster().fit(FRAME, checkpoint=tmp_path, **FIT | {"epochs": 1})
    with pytest.raises(
        ValueError, match=r"batch_size, dropout, epochs differ from the interrupted one's"
    ):
        forecaster(dropout=0.1).fit(FRAME, checkpoint=tmp_path, **FIT | {"batch_size": 8})
    with pytest.raises(ValueError, match=r": data differs from the interrupted one's"):
        forecaster().fit(FRAME + 1, checkpoint=tmp_path, **FIT | {"epochs": 1})
    for change, name in (
        ({"optimizer": keras.optimizers.Adam(0.1)}, "optimizer"),
        ({"head": QuantileHead([0.1, 0.5, 0.9])}, "head, weights at the start"),
        ({"stride": 2}, "stride, weights at the start"),
    ):
        with pytest.raises(ValueError, match=f": {name} differ"):
            forecaster(**change).fit(FRAME, checkpoint=tmp_path, **FIT | {"epochs": 1})
    later = FRAME.set_axis(FRAME.index + pd.Timedelta(days=3))
    with pytest.raises(ValueError, match=r": data differs from the interrupted one's"):
        forecaster().fit(later, checkpoint=tmp_path, **FIT | {"epochs": 1})


@pytest.mark.slow
def test_other_data_of_the_same_shape_are_noticed(tmp_path):
    frame, static = pd.concat([series(x, 60) for x in "abc"]), statics()
    tide = {"head": "point", "hidden_dim": 8, "past": ["price"], "future": ["weather"]}

    def fit(frame, static):
        options = {"epochs": 1, "verbose": 0, "checkpoint": tmp_path, "static": static}
        Forecaster("tide", 14, 7, **tide).fit(frame, **options)

    fit(frame, static)
    fit(frame, static)
    for other in (
        (frame, static.assign(kind=["x", "y", "y"])),
        (frame, static.replace({"x": "w"})),
        (frame, static.rename(columns={"kind": "type"})),
        (frame.assign(y=frame["price"], price=frame["y"]), static),
        (frame.replace({"weather": {"rain": "snow"}}), static),
    ):
        with pytest.raises(ValueError, match=": data differs from the interrupted one's"):
            fit(*other)


@pytest.mark.slow
def test_a_damaged_checkpoint_is_named_in_one_line(tmp_path):
    forecaster().fit(FRAME, checkpoint=tmp_path, **FIT | {"epochs": 1})
    content = (tmp_path / FILE).read_bytes()
    for damaged in (content[: len(content) // 2], content[:100] + b"\xff" * 60 + content[160:]):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^cannot read .*training.npz: .*\.$") as error:
            forecaster().fit(FRAME, checkpoint=tmp_path, **FIT | {"epochs": 1})
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_training_that_diverges_does_not_block_the_next(tmp_path):
    fast = forecaster(optimizer=keras.optimizers.SGD(1e30))
    with pytest.raises(ValueError, match="the training diverged"):
        fast.fit(FRAME, checkpoint=tmp_path, **FIT)
    forecaster().fit(FRAME, checkpoint=tmp_path, **FIT | {"epochs": 1})


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_resumed_training_draws_the_same_windows(tmp_path):
    options = FIT | {"sampling": "series"}
    whole = forecaster().fit(FRAME, **options)
    with pytest.raises(KeyboardInterrupt):
        forecaster().fit(FRAME, checkpoint=tmp_path, callbacks=[Interrupted(2)], **options)
    with pytest.raises(ValueError, match="sampling differs from the interrupted one's"):
        forecaster().fit(FRAME, checkpoint=tmp_path, **FIT)
    assert_same(whole, forecaster().fit(FRAME, checkpoint=tmp_path, **options))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_folder_of_files_goes_on_too(tmp_path):
    pytest.importorskip("pyarrow")
    data = tmp_path / "data"
    data.mkdir()
    for number in range(3):
        rows = {"unique_id": f"s{number}", "ds": TIMES, "y": FRAME["a"].to_numpy() * (1 + number)}
        pd.DataFrame(rows).to_parquet(data / f"{number}.parquet")
    whole = forecaster().fit(data, **FIT)
    folder = tmp_path / "training"
    with pytest.raises(KeyboardInterrupt):
        forecaster().fit(data, checkpoint=folder, callbacks=[Interrupted(2, 1)], **FIT)
    assert_same(whole, forecaster().fit(data, checkpoint=folder, **FIT))


def order_of(count, first, batches, **kwargs):
    """The examples in some of the batches of 4, of `count` examples."""
    made = make_batches(
        [np.arange(count)],
        count,
        lambda xp, arrays, chosen: xp.take(arrays[0], chosen),
        min(4, count),
        True,
        seed=3,
        first=first,
        **kwargs,
    )
    if isinstance(made, keras.utils.PyDataset):
        return np.concatenate([made[i] for i in range(batches)])
    return np.concatenate([batch.numpy() for batch in made.take(batches)])


@pytest.mark.parametrize("in_numpy", [False, True])
def test_examples_are_drawn_as_often_as_their_weights_say(in_numpy):
    weights = np.array([1.0, 3.0, 0.0, 4.0])
    drawn = order_of(4, 0, 2000, weights=weights, in_numpy=in_numpy)
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, [0.125, 0.375, 0.0, 0.5], atol=0.02)
    assert shares[2] == 0.0
    later = order_of(4, 3, 5, weights=weights, in_numpy=in_numpy)
    np.testing.assert_array_equal(later, drawn[12:32])


@pytest.mark.parametrize("count", [1, 7, 64])
def test_an_epoch_has_every_example_and_an_order_of_its_own(count):
    order = functools.partial(order_of, count)
    steps = -(-count // min(4, count))
    three = order(0, 3 * steps).reshape(3, -1)
    for epoch in three:
        assert set(epoch) == set(range(count))
        assert len(set(epoch[:count])) == count
    np.testing.assert_array_equal(order(2 * steps, steps), three[2])
    np.testing.assert_array_equal(order(2 * steps - 1, 1), three[1].reshape(steps, -1)[-1])
    if count > 1:
        assert (three[0] != three[1]).any() or (three[1] != three[2]).any()
