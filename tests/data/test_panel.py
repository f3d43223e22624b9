import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.data.window_index import training_cuts
from tests.helpers.frames import long_frame, series_of


@given(
    lengths=st.lists(st.integers(3, 30), min_size=1, max_size=5),
    seed=st.integers(0, 100),
    share=st.floats(0.0, 0.5),
)
def test_series_do_not_depend_on_gaps_and_the_order_of_rows(lengths, seed, share):
    frame = long_frame(lengths, seed)
    rng = np.random.default_rng(seed)
    inner = frame.groupby("unique_id").cumcount()
    inside = (inner > 0) & (inner < frame["unique_id"].map(frame.groupby("unique_id").size()) - 1)
    gone = inside & (rng.uniform(size=len(frame)) < share)
    panel = read_panel(frame[~gone].sample(frac=1, random_state=seed), freq="D")
    assert not panel.faults
    for i, name in enumerate(panel.names[:, 0]):
        rows = frame[frame["unique_id"] == name]
        wanted = rows["y"].where(~gone[rows.index]).to_numpy()
        np.testing.assert_array_equal(series_of(panel, i)[:, 0], wanted)
        times = panel.clock.times(panel.numbers(i, np.arange(panel.begins[i], panel.ends[i])))
        assert (times == rows["ds"]).all()


def test_a_wide_frame_is_one_series_of_channels():
    wide = pd.DataFrame(
        np.arange(20.0).reshape(10, 2), pd.date_range("2024", periods=10, freq="h"), ["a", "b"]
    )
    panel = read_panel(wide)
    assert panel.names.tolist() == [["a", "b"]]
    np.testing.assert_array_equal(series_of(panel, 0), wide)


def test_invalid_series_is_named_and_the_others_are_kept():
    frame = long_frame([20] * 7)
    frame.loc[5, "ds"] = frame.loc[4, "ds"]
    frame.loc[25, "y"] = np.inf
    frame.loc[40:59, "y"] = np.nan
    frame.loc[65, "ds"] += pd.Timedelta("5h")
    frame.loc[85, "ds"] = pd.NaT
    frame.loc[120, "ds"] = pd.Timestamp("1902-01-01")
    panel = read_panel(frame)
    assert panel.names[:, 0].tolist() == ["s5"]
    assert panel.faults == {
        "s0": "duplicate time stamp 2024-01-05 00:00:00",
        "s1": "an infinite value at 2024-01-06 00:00:00",
        "s2": "no value at all",
        "s3": "time stamp 2024-01-06 05:00:00 is not on the grid of frequency 'D'",
        "s4": "a row has no time stamp",
        "s6": "20 rows over 44580 steps",
    }
    with pytest.raises(ValueError, match=r"no usable series of 6: 's0' has duplicate"):
        read_panel(frame[frame["unique_id"] != "s5"])


def test_a_series_of_a_longer_step_is_left_out():
    monthly = pd.DataFrame(
        {"ds": pd.date_range("2020", periods=40, freq="MS").delete(7), "y": 1.0, "unique_id": "m"}
    )
    weekly = monthly.assign(ds=pd.date_range("2020", periods=39, freq="7D"), unique_id="w")
    sparse = monthly.assign(ds=pd.to_datetime("2020") + pd.to_timedelta(np.arange(39) ** 2, "D"))
    daily = long_frame([60])
    frame = pd.concat([daily, monthly, weekly, sparse.assign(unique_id="gaps")])
    for settings in ({}, {"freq": "D"}):
        panel = read_panel(frame, **settings)
        assert panel.names[:, 0].tolist() == ["s0", "gaps"]
        assert panel.faults == {
            "m": "rows 28 or more steps of frequency 'D' apart",
            "w": "rows 7 or more steps of frequency 'D' apart",
        }
    assert read_panel(pd.concat([daily, weekly[:5]])).names[:, 0].tolist() == ["s0", "w"]


def test_a_future_that_begins_before_the_end_is_told():
    frame = long_frame([20])
    with pytest.raises(ValueError, match=r"duplicate .* 2024-01-20 00:00:00, which the future has"):
        read_panel(frame, future=frame[19:].drop(columns="y"))
    zoned = frame.assign(ds=frame["ds"].dt.tz_localize("UTC"))
    with pytest.raises(ValueError, match=r"future has time stamps of UTC, the frame of no time zo"):
        read_panel(frame, future=zoned)
    with pytest.raises(TypeError, match="expected a DataFrame of pandas, polars or pyarrow, got l"):
        read_panel(frame, future=[1])


def test_time_stamp_out_of_range_excludes_only_its_series():
    frame = long_frame([20, 20])
    frame["ds"] = frame["ds"].astype("datetime64[s]")
    frame.loc[25, "ds"] = pd.Timestamp("9999-12-31")
    panel = read_panel(frame)
    assert panel.names[:, 0].tolist() == ["s0"]
    assert panel.faults == {"s1": "time stamp 9999-12-31 00:00:00 is not in the years 1678 to 2261"}


def test_time_stamps_may_be_text():
    frame = long_frame([20, 9])
    panel = read_panel(frame.assign(ds=frame["ds"].astype(str)))
    np.testing.assert_array_equal(panel.first, read_panel(frame).first)


def test_the_clock_does_not_depend_on_the_order_of_rows():
    daily, other = long_frame([20, 20]), long_frame([20, 20], freq="h")
    frame = pd.concat([daily[daily["unique_id"] == "s0"], other[other["unique_id"] == "s1"]])
    assert read_panel(frame).clock == read_panel(frame[::-1]).clock


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.drop(columns="ds"), ValueError, r"\['ds'\] are missing from"),
        (
            lambda f: f.assign(y=f["y"] + 1j),
            ValueError,
            "'y' must be numeric, got complex128",
        ),
        (
            lambda f: f.assign(ds=f["ds"].dt.year),
            ValueError,
            "column 'ds' must be time stamps, got numbers, such as 2024: give pd.to_dat",
        ),
        (
            lambda f: f.assign(ds=(f["ds"].astype("int64") // 10**6).astype(object)),
            ValueError,
            "column 'ds' must be time stamps, got numbers, .*, unit='s' for seconds since 1970",
        ),
        (
            lambda f: f.assign(ds=f["ds"].astype(str).where(f.index != 3, "soon")),
            ValueError,
            "column 'ds' is not all time stamps, got 'soon' in row 3: give pd.to_datetime",
        ),
        (
            lambda f: f[["y"]].set_axis(f["ds"].astype(str)),
            ValueError,
            r"a wide one a DatetimeIndex; .* its index holds '2024-01-01'",
        ),
        (
            lambda f: f.assign(ds=pd.Timestamp("9999-12-31")),
            ValueError,
            "time stamps must be in the years 1678 to 2261, got 9999-12-31",
        ),
        (lambda f: f.to_numpy(), TypeError, "expected a DataFrame of .*, got ndarray"),
        (lambda f: f.assign(y="many"), ValueError, "column 'y' must be numeric, got"),
        (lambda f: f[:0], ValueError, "the frame is empty"),
        (lambda f: f.assign(ds="monday"), ValueError, "column 'ds' is not all time stamps"),
        (
            lambda f: f.assign(unique_id=f["unique_id"].where(f.index != 3)),
            ValueError,
            "column 'unique_id' has no value in row 3",
        ),
        (
            lambda f: f.assign(unique_id=f["unique_id"].map({"s0": 1, "s1": "1"})),
            ValueError,
            "column 'unique_id' has '1' as text and as number",
        ),
        (
            lambda f: pd.concat({"load": f.set_index("ds")[["y"]]}, axis=1),
            ValueError,
            r"columns have 2 levels, expected one: give frame.set_axis\(\['name', ...\], axis=1\)",
        ),
    ],
)
def test_invalid_frame_is_refused_in_one_line(change, error, message):
    with pytest.raises(error, match=message):
        read_panel(change(long_frame([10, 10])))


def test_training_windows_precede_validation_windows_of_the_same_series():
    panel = read_panel(long_frame([40, 9, 3, 25]))
    (series, cuts), (val_series, val_cuts) = training_cuts(panel, 10, 4, held_out=6)
    ends = panel.cuts - 6
    assert (cuts + 4 <= ends[series]).all()
    assert (cuts > panel.begins[series]).all()
    assert (val_cuts >= ends[val_series]).all()
    assert (val_cuts + 4 <= panel.cuts[val_series]).all()
    counts = np.bincount(series, minlength=4)
    # From one known value on: 34 - 4 windows; none of 3 rows; none of -3; 19 - 4.
    np.testing.assert_array_equal(counts, [30, 0, 0, 15])
    (series, cuts), (rest, _) = training_cuts(panel, 10, 4)
    np.testing.assert_array_equal(np.bincount(series, minlength=4), [36, 5, 0, 21])
    assert not len(rest)
    (series, cuts), _ = training_cuts(panel, 10, 4, pad=False)
    np.testing.assert_array_equal(np.bincount(series, minlength=4), [27, 0, 0, 12])
    assert (cuts - 10 >= panel.begins[series]).all()


def test_limit_selects_the_last_training_origins_of_each_series():
    panel = read_panel(long_frame([40, 9, 3, 25]))
    (series, cuts), (val_series, _) = training_cuts(panel, 10, 4, held_out=6, limit=5)
    ends = panel.cuts - 6
    np.testing.assert_array_equal(np.bincount(series, minlength=4), [5, 2, 0, 5])
    assert ((ends[series] - 5 <= cuts) & (cuts < ends[series])).all()
    assert (cuts > panel.begins[series]).all()
    whole = training_cuts(panel, 10, 4, held_out=6)[1]
    np.testing.assert_array_equal(val_series, whole[0])
    (series, _), _ = training_cuts(panel, 10, 4, pad=False, limit=5)
    np.testing.assert_array_equal(np.bincount(series, minlength=4), [5, 0, 0, 5])


def test_windows_with_only_held_out_targets_are_not_used_for_training():
    frame = long_frame([30])
    frame.loc[[18, 19], "y"] = np.nan  # the last two steps that train
    (_, cuts), _ = training_cuts(read_panel(frame), 10, 4, held_out=10, limit=4)
    np.testing.assert_array_equal(cuts, [17, 18])  # rows begin at 1


@pytest.mark.parametrize("held_out", [1, 3])
def test_validation_set_shorter_than_a_forecast_is_refused(held_out):
    panel = read_panel(long_frame([40]))
    message = f"at least prediction_length=4 .* got {held_out}"
    with pytest.raises(ValueError, match=message):
        training_cuts(panel, 10, 4, held_out=held_out)


@pytest.mark.slow
@pytest.mark.tensorflow  # NumPy alone: once is enough
def test_panel_of_100000_series_needs_less_than_twice_the_memory_of_the_frame():
    count, length = 100_000, 100
    frame = pd.DataFrame(
        {
            # Python strings: with pyarrow pandas packs text into a third of the bytes.
            "unique_id": pd.Series(
                np.repeat([f"series-{i}" for i in range(count)], length), dtype=object
            ),
            "ds": np.tile(pd.date_range("2024", periods=length, freq="D"), count),
            "y": np.random.default_rng(0).normal(size=count * length),
        }
    )
    frame_bytes = int(frame.memory_usage(deep=True).sum())
    tracemalloc.start()
    panel = read_panel(frame)
    (series, cuts), _ = training_cuts(panel, 24, 12, stride=4)
    found = Windows(panel, 24, 12, series, cuts, ends=panel.cuts[series])
    inputs, _ = found.arrays(slice(0, 64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == count * 22
    assert inputs.shape == (64, 24, 1)
    assert peak < frame_bytes  # beside the frame itself: within twice of it


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_a_few_monthly_rows_are_no_daily_series(rows):
    months = pd.date_range("2024-01-01", periods=rows, freq="MS")
    frame = pd.DataFrame({"unique_id": "a", "ds": months, "y": 1.0})
    with pytest.raises(ValueError, match=r"rows \d+ or more steps of frequency 'D' apart"):
        read_panel(frame, freq="D")
    weeks = frame.assign(ds=pd.date_range("2024-01-01", periods=rows, freq="7D"))
    assert len(read_panel(weeks, freq="D")) == 1  # gaps, for all that is known
