import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import (
    random_sequences,
    sliding_windows,
    teacher_forcing_pairs,
    window_dataset,
)
from tests.conftest import XLA, to_numpy

VALUES = np.arange(60, dtype="float32").reshape(30, 2)


def batches(dataset):
    """All batches of a dataset, as NumPy arrays."""
    found = (
        dataset
        if hasattr(dataset, "as_numpy_iterator")
        else map(dataset.__getitem__, range(len(dataset)))
    )
    return [keras.tree.map_structure(to_numpy, batch) for batch in found]


@given(
    rows=st.integers(2, 40),
    context=st.integers(1, 12),
    steps=st.integers(1, 12),
    stride=st.integers(1, 5),
)
def test_all_windows_are_returned_and_targets_follow_contexts(rows, context, steps, stride):
    values = np.arange(rows * 2, dtype="float32").reshape(rows, 2)
    if rows < context + steps:
        with pytest.raises(ValueError, match=f"= {context + steps} rows, got a series of {rows}"):
            sliding_windows(values, context, steps, stride)
        return
    contexts, targets = sliding_windows(values, context, steps, stride)
    assert len(contexts) == len(targets) == (rows - context - steps) // stride + 1
    for i, (seen, wanted) in enumerate(zip(contexts, targets, strict=True)):
        start = i * stride
        np.testing.assert_array_equal(seen, values[start : start + context])
        np.testing.assert_array_equal(wanted, values[start + context : start + context + steps])


def test_windows_are_views():
    contexts, targets = sliding_windows(VALUES, 10, 5)
    assert np.shares_memory(contexts, VALUES)
    assert np.shares_memory(targets, VALUES)


@pytest.mark.parametrize("batch_size", [1, 4, 7, 100])
def test_dataset_drops_no_window_and_keeps_the_order(batch_size):
    dataset = window_dataset(VALUES, 10, 5, batch_size=batch_size)
    found = batches(dataset)
    assert len(dataset) == len(found) == -(-16 // batch_size)
    contexts, targets = sliding_windows(VALUES, 10, 5)
    np.testing.assert_array_equal(np.concatenate([x for x, _ in found]), contexts)
    np.testing.assert_array_equal(np.concatenate([y for _, y in found]), targets)


def test_teacher_forcing_inputs_are_the_last_value_and_previous_targets():
    dataset = window_dataset(VALUES, 10, 5, batch_size=16, teacher_forcing=True)
    [((contexts, decoder_inputs), targets)] = batches(dataset)
    expected, same = teacher_forcing_pairs(targets, contexts[:, -1:])
    np.testing.assert_array_equal(decoder_inputs, expected)
    np.testing.assert_array_equal(targets, same)
    np.testing.assert_array_equal(decoder_inputs[:, 0], contexts[:, -1])
    np.testing.assert_array_equal(decoder_inputs[:, 1:], targets[:, :-1])


def test_teacher_forcing_inputs_of_patches_precede_the_targets_by_a_patch():
    dataset = window_dataset(VALUES, 10, 6, batch_size=16, teacher_forcing=True, patch_length=3)
    [((contexts, decoder_inputs), targets)] = batches(dataset)
    np.testing.assert_array_equal(decoder_inputs[:, :3], contexts[:, -3:])
    np.testing.assert_array_equal(decoder_inputs[:, 3:], targets[:, :-3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patch_length": 2}, "patch_length=2 requires teacher_forcing=True"),
        ({"patch_length": 5, "teacher_forcing": True}, "longer than the context of 4 steps"),
        ({"patch_length": 0, "teacher_forcing": True}, "patch_length must be"),
    ],
)
def test_bad_patches_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        window_dataset(VALUES, 4, 6, **options)


def test_teacher_forcing_pairs_equal_those_of_the_lesson():
    sequences = random_sequences(3, 6, 2, seed=0)
    decoder_inputs, targets = teacher_forcing_pairs(sequences, start_token=0.0, end_token=9.0)
    assert decoder_inputs.shape == targets.shape == (3, 7, 2)
    np.testing.assert_array_equal(decoder_inputs[:, 0], 0)
    np.testing.assert_array_equal(decoder_inputs[:, 1:], sequences)
    np.testing.assert_array_equal(targets[:, :-1], sequences)
    np.testing.assert_array_equal(targets[:, -1], 9)


@pytest.mark.slow
def test_model_fits_a_dataset(small_model):
    values = random_sequences(1, 60, 3, seed=0)[0]
    small_model.compile("adam", "mse", **XLA)
    history = small_model.fit(
        window_dataset(values, 8, 4, batch_size=16, shuffle=True, seed=0, teacher_forcing=True),
        epochs=8,
        shuffle=False,
        verbose=0,
    ).history["loss"]
    assert history[-1] < history[0]


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_position_is_the_first_row_of_each_window(stride, shuffle):
    rows = np.arange(100.0, 130.0)[:, None]
    options = {"stride": stride, "batch_size": 4, "shuffle": shuffle, "seed": 0}
    batches = list(window_dataset(rows, 4, 2, **options, first_position=100))
    history = np.concatenate([np.asarray(inputs["history"]) for inputs, _ in batches])
    position = np.concatenate([np.asarray(inputs["position"]) for inputs, _ in batches])
    np.testing.assert_array_equal(position, history[:, 0, 0])
    assert sorted(set(position)) == list(range(100, 125, stride))


def test_positions_and_decoder_inputs_cannot_be_combined():
    with pytest.raises(ValueError, match="cannot be combined: give one of them"):
        window_dataset(VALUES, 4, 2, teacher_forcing=True, first_position=0)


def test_random_sequences_are_standard_normal_and_seeded():
    first = random_sequences(2000, 6, 12, seed=3)
    assert first.dtype == np.float32
    assert abs(first.mean()) < 0.01
    assert abs(first.std() - 1) < 0.01
    np.testing.assert_array_equal(first, random_sequences(2000, 6, 12, seed=3))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(30), r"values must be \(time, num_channels\), got shape \(30,\)"),
        (np.where(np.arange(30)[:, None] == 7, np.nan, 1.0), "got nan in row 7, channel 0"),
        (np.where(np.arange(30)[:, None] == 8, np.inf, 1.0), "got inf in row 8, channel 0"),
    ],
)
def test_bad_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        window_dataset(values, 4, 2)


@pytest.mark.parametrize("name", ["context_length", "prediction_length", "stride", "batch_size"])
def test_bad_sizes_are_refused(name):
    sizes = {"context_length": 4, "prediction_length": 2, name: 0}
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
        window_dataset(VALUES, **sizes)
