import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
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
        with pytest.raises(
            ValueError, match=f"needs {context + steps} rows, got {rows} from row 0"
        ):
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


@given(
    rows=st.integers(1, 40),
    context=st.integers(1, 5),
    steps=st.integers(1, 4),
    rate=st.integers(1, 4),
    gap=st.integers(-5, 6),
    stride=st.integers(1, 3),
    ends=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
@example(rows=9, context=4, steps=1, rate=2, gap=-5, stride=1, ends=(1, 0))
def test_windows_read_the_rows_that_the_diagram_shows(
    rows, context, steps, rate, gap, stride, ends
):
    values = np.arange(rows, dtype="float32")[:, None] * [1, 100]
    gap, start, end = max(gap, -context * rate), ends[0], max(rows - ends[1], 0)
    expected = []
    for first in range(start, end, stride):
        past = [first + rate * i for i in range(context)]
        ahead = [first + context * rate + gap + rate * i for i in range(steps)]
        if max(past + ahead) < end:
            expected.append((values[past], values[ahead, 1:]))
    options = {"sampling_rate": rate, "offset": gap, "stride": stride, "batch_size": 8}
    options |= {"start_index": start, "end_index": end, "targets": [1]}
    if not expected:
        with pytest.raises(
            ValueError, match=rf"offset={gap} needs \d+ rows, got {end - start} from"
        ):
            window_dataset(values, context, steps, **options)
        return
    found = batches(window_dataset(values, context, steps, **options))
    for place, windows in enumerate(zip(*expected, strict=True)):
        np.testing.assert_array_equal(np.concatenate([x[place] for x in found]), windows)


def keras_windows(*args, **kwargs):
    """What Keras's own function returns, in one batch."""
    dataset = keras.utils.timeseries_dataset_from_array(*args, batch_size=10_000, **kwargs)
    return keras.tree.map_structure(np.asarray, next(iter(dataset)))


@pytest.mark.parametrize(
    ("past", "step", "future", "stride"), [(720, 6, 72, 1), (20, 1, 0, 1), (30, 5, 3, 4)]
)
def test_the_weather_script_of_keras_has_the_same_windows(past, step, future, stride):
    # Past rows, of which every step-th is read, and one column that many rows after them.
    series = random_sequences(1, 900, 7, seed=0)[0]
    length = past // step
    expected = keras_windows(
        series,
        series[past + future :, [1]],
        sequence_length=length,
        sampling_rate=step,
        sequence_stride=stride,
    )
    options = {"sampling_rate": step, "offset": future, "stride": stride, "batch_size": 10_000}
    for targets in ([1], series[:, [1]]):
        [(contexts, found)] = batches(window_dataset(series, length, 1, targets=targets, **options))
        np.testing.assert_array_equal(contexts, expected[0])
        np.testing.assert_array_equal(found[:, 0], expected[1])


@pytest.mark.parametrize(
    ("input_width", "label_width", "shift"),
    [(24, 1, 24), (24, 24, 24), (1, 1, 1), (24, 24, 1), (26, 24, 1), (6, 1, 1), (5, 3, 2)],
)
def test_the_window_generator_of_tensorflow_has_the_same_windows(input_width, label_width, shift):
    series = pd.DataFrame(random_sequences(1, 90, 3, seed=0)[0], columns=["p", "T (degC)", "rho"])
    rows = {"start_index": 7, "end_index": 80}
    whole = keras_windows(
        series.to_numpy(), None, sequence_length=input_width + shift, sequence_stride=2, **rows
    )
    dataset = window_dataset(
        series,
        input_width,
        label_width,
        offset=shift - label_width,
        targets=["T (degC)"],
        stride=2,
        batch_size=100,
        **rows,
    )
    [(inputs, labels)] = batches(dataset)
    np.testing.assert_array_equal(inputs, whole[:, :input_width])
    np.testing.assert_array_equal(labels, whole[:, -label_width:, 1:2])


def test_targets_may_be_an_array_of_any_shape_with_the_rows_of_the_series():
    labels = np.arange(30) // 10
    [(_, found)] = batches(window_dataset(VALUES, 4, 2, targets=labels, batch_size=30))
    np.testing.assert_array_equal(found[[0, 24]], [[0, 0], [2, 2]])
    assert found.shape == (25, 2)


def test_options_of_the_decoder_and_of_positions_go_with_those_of_the_windows():
    levels = 10 * VALUES[:, :1]
    options = {"start_index": 3, "stride": 2, "batch_size": 30, "targets": levels}
    sizes = {"sampling_rate": 2, "offset": 3, "teacher_forcing": True, "patch_length": 2}
    [((contexts, decoder_inputs), targets)] = batches(
        window_dataset(VALUES, 4, 3, **options, **sizes)
    )
    # Rows 3, 5, 7, 9 of the first window; the targets begin three rows after row 10.
    np.testing.assert_array_equal(contexts[0], VALUES[[3, 5, 7, 9]])
    np.testing.assert_array_equal(targets[0], levels[[14, 16, 18]])
    np.testing.assert_array_equal(decoder_inputs[0], levels[[7, 9, 14]])
    [(inputs, _)] = batches(window_dataset(VALUES, 4, 3, **options, first_position=100))
    np.testing.assert_array_equal(inputs["position"], 100 + inputs["history"][:, 0, 0] / 2)


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
        ({"teacher_forcing": True, "first_position": 0}, "cannot be combined: give one of them"),
        ({"teacher_forcing": True, "offset": -1}, "requires an offset of at least 0, got -1"),
        ({"first_position": 0, "offset": 1}, "first_position requires offset=0 .* offset=1"),
        ({"first_position": 0, "sampling_rate": 2}, "first_position requires .*sampling_rate=2"),
        ({"offset": 21}, r"offset=21 needs 31 rows, got 30 from row 0 to 30\.$"),
        ({"offset": -5}, "offset must be an integer of at least -4, got -5"),
        ({"offset": 0.5}, "offset must be an integer of at least -4, got 0.5"),
        ({"sampling_rate": 0}, "sampling_rate must be an integer of at least 1, got 0"),
        ({"start_index": -1}, "start_index must be an integer of at least 0, got -1"),
        ({"start_index": 25}, "needs 10 rows, got 5 from row 25 to 30"),
        ({"end_index": 31}, "end_index must be at most rows=30, got 31"),
        ({"start_index": 20, "end_index": 10}, "got -10 from row 20 to 10"),
        ({"targets": [2]}, r"targets must be columns of values .* got \[2\]: .*known are 0, 1"),
        ({"targets": ["T"]}, r"targets must be columns of values .* got \['T'\]"),
        ({"targets": [True, False]}, r"targets must be columns of values .* got \[True, False\]"),
        ({"targets": []}, r"targets must be columns of values .* got \[\]"),
        ({"targets": 1}, r"targets must be a list of columns .* got shape \(\)"),
        ({"targets": VALUES[3:]}, r"30 rows, which offset counts, got shape \(27, 2\)"),
        (
            {"targets": np.full((30, 1), np.nan)},
            "targets must be finite, got nan in row 0, channel 0",
        ),
        ({"targets": VALUES.astype(str)}, "targets must be numbers, got the type <U"),
        ({"seed": -1}, "seed must be an int of at least 0, got -1"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as error:
        window_dataset(VALUES, 4, 6, **options)
    assert "\n" not in str(error.value)


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
        (
            pd.DataFrame({"x": [1.0] * 30, "place": ["a"] * 30}),
            "must be numbers, got the type object",
        ),
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


def test_rows_that_no_window_reads_may_be_missing():
    values = np.where(np.arange(30)[:, None] < 3, np.nan, 1.0)
    dataset = window_dataset(values, 4, 2, start_index=3)
    assert np.isfinite(batches(dataset)[0][0]).all()
    with pytest.raises(ValueError, match="got nan in row 2, channel 0"):
        window_dataset(values, 4, 2, start_index=2)
