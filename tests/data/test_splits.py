import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import chronological_split, sliding_windows


@given(rows=st.integers(20, 300), context=st.integers(0, 10))
def test_parts_are_consecutive_and_overlap_only_by_the_context(rows, context):
    values = np.arange(rows)
    train, validation, test = chronological_split(values, context_length=context)
    np.testing.assert_array_equal(np.r_[train, validation[context:], test[context:]], values)
    np.testing.assert_array_equal(validation[:context], train[len(train) - context :])


def test_fractions_are_rounded_as_in_the_published_tables():
    counts = [len(part) for part in chronological_split(np.zeros(7588), (0.7, 0.1, 0.2))]
    assert counts == [5311, 760, 1517]  # int(0.7 n), the rest, int(0.2 n)


def test_row_counts_leave_remaining_rows_unused():
    train, validation, test = chronological_split(np.arange(17420), (8640, 2880, 2880), 96)
    assert (len(train), len(validation), len(test)) == (8640, 2976, 2976)
    assert test[-1] == 14399


def test_no_window_is_dropped():
    values = np.zeros((100, 1))
    _, validation, test = chronological_split(values, (60, 20, 20), context_length=10)
    for part, rows in ((validation, 20), (test, 20)):
        assert len(sliding_windows(part, 10, 5)[0]) == rows - 5 + 1


def test_parts_are_views_and_frames_remain_frames():
    values = np.zeros((50, 2))
    assert all(np.shares_memory(part, values) for part in chronological_split(values))
    frame = pd.DataFrame(values, pd.date_range("2020", periods=50))
    assert chronological_split(frame)[0].index[0] == frame.index[0]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0.7, 0.3), "must be three positive"),
        ((0.7, 0.3, 0.0), "must be three positive"),
        ((0.7, 0.3, 0.2), "must add up to at most 1"),
        ((40, 10, 10), r"require \(40, 10, 10\) rows of a series that has 50"),
        ((0.98, 0.01, 0.01), "each part needs at least one row"),
    ],
)
def test_bad_sizes_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        chronological_split(np.zeros(50), sizes)


def test_context_longer_than_the_training_part_is_refused():
    with pytest.raises(ValueError, match="cannot reach back context_length=36 rows"):
        chronological_split(np.zeros(50), context_length=36)
