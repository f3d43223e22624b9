import tracemalloc

import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import WindowScaler
from kerastrans.data.covariates import Covariates
from kerastrans.data.cuts import training_cuts
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from tests.conftest import to_numpy


def long_frame(lengths, seed=0, freq="D", start="2024-01-01"):
    rng = np.random.default_rng(seed)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "unique_id": f"s{i}",
                    "ds": pd.date_range(start, periods=length, freq=freq),
                    "y": 100.0 * i + rng.normal(size=length),
                }
            )
            for i, length in enumerate(lengths)
        ],
        ignore_index=True,
    )


def series_of(panel, i):
    return panel.values[panel.begins[i] : panel.ends[i]]


@given(
    lengths=st.lists(st.integers(3, 30), min_size=1, max_size=5),
    seed=st.integers(0, 100),
    share=st.floats(0.0, 0.5),
)
def test_series_come_back_whatever_the_order_of_rows_and_the_gaps(lengths, seed, share):
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


def test_a_series_with_a_fault_is_named_and_the_others_stay():
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
    with pytest.raises(ValueError, match=r"no usable series: 's0' has duplicate .* \(6 series"):
        read_panel(frame[frame["unique_id"] != "s5"])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.drop(columns="ds"), ValueError, r"\['ds'\] are missing from"),
        (lambda f: f.to_numpy(), TypeError, "expected a DataFrame, got ndarray"),
        (lambda f: f.assign(y="many"), ValueError, "column 'y' must be numeric, got"),
        (lambda f: f[:0], ValueError, "the frame is empty"),
        (lambda f: f.assign(ds="monday"), ValueError, "column 'ds' is not all time stamps"),
        (
            lambda f: f.assign(unique_id=f["unique_id"].where(f.index != 3)),
            ValueError,
            "column 'unique_id' has no value in row 3",
        ),
    ],
)
def test_a_frame_at_fault_is_refused_in_one_line(change, error, message):
    with pytest.raises(error, match=message):
        read_panel(change(long_frame([10, 10])))


def test_training_windows_lie_inside_their_series_and_validation_behind():
    panel = read_panel(long_frame([40, 9, 3, 25]))
    (series, cuts), (val_series, val_cuts) = training_cuts(panel, 10, 4, held_out=6)
    ends = panel.cuts - 6
    assert (cuts + 4 <= ends[series]).all()
    assert (cuts > panel.begins[series]).all()
    assert (val_cuts >= ends[val_series]).all()
    assert (val_cuts + 4 <= panel.cuts[val_series]).all()
    counts = np.bincount(series, minlength=4)
    # 34 - 14 + 1 full windows; none of 3 rows; none of -3; 19 - 14 + 1.
    np.testing.assert_array_equal(counts, [21, 0, 0, 6])
    (series, cuts), (rest, _) = training_cuts(panel, 10, 4)
    np.testing.assert_array_equal(np.bincount(series, minlength=4), [27, 1, 0, 12])
    assert not len(rest)


def windows(panel, context=6, steps=3, **options):
    (series, cuts), _ = training_cuts(panel, context, steps)
    return Windows(panel, context, steps, series, cuts, **options)


@pytest.mark.parametrize("kind", [None, "standard", "mean_abs", "mase"])
def test_a_window_is_scaled_by_its_own_context_and_targets_with_it(kind):
    panel = read_panel(long_frame([20, 15]))
    found = windows(panel, scaler=WindowScaler(kind, 2))
    inputs, (center, scale) = found.arrays()
    batch = next(iter(found.batches(len(found))))
    for i, (series, cut) in enumerate(zip(found.series, found.cuts, strict=True)):
        context = panel.values[cut - 6 : cut, 0]
        wanted = {
            None: (0.0, 1.0),
            "standard": (context.mean(), context.std()),
            "mean_abs": (0.0, np.abs(context).mean()),
            "mase": (context.mean(), np.abs(context[2:] - context[:-2]).mean()),
        }[kind]
        np.testing.assert_allclose([center[i].item(), scale[i].item()], wanted, rtol=1e-9)
        np.testing.assert_allclose(inputs[i, :, 0], (context - wanted[0]) / wanted[1], atol=1e-4)
        targets = (panel.values[cut : cut + 3, 0] - wanted[0]) / wanted[1]
        np.testing.assert_allclose(to_numpy(batch[1])[i, :, 0], targets, rtol=1e-4, atol=1e-4)
        assert series in (0, 1)


@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_huge_and_tiny_series_scale_alike(size):
    frame = long_frame([30])
    plain, _ = windows(read_panel(frame)).arrays()
    scaled, _ = windows(read_panel(frame.assign(y=frame["y"] * size))).arrays()
    np.testing.assert_allclose(plain, scaled, atol=1e-5)


def test_missing_values_count_neither_in_scaling_nor_in_targets():
    frame = long_frame([12])
    frame.loc[[2, 4, 7], "y"] = np.nan
    panel = read_panel(frame)
    found = Windows(panel, 6, 3, np.array([0]), panel.begins + 6)
    inputs, (center, scale) = found.arrays()
    context = frame["y"].to_numpy()[:6]
    np.testing.assert_allclose(center.item(), np.nanmean(context))
    np.testing.assert_allclose(scale.item(), np.nanstd(context))
    np.testing.assert_array_equal(inputs[0, [2, 4], 0], 0.0)
    targets = to_numpy(next(iter(found.batches(1)))[1])
    np.testing.assert_array_equal(np.isnan(targets[0, :, 0]), [False, True, False])
    last = Windows(panel, 6, 3, np.array([0]), panel.begins + 6, fill="last").arrays()[0]
    expected = (np.array([context[1], context[3]]) - center.item()) / scale.item()
    np.testing.assert_allclose(last[0, [2, 4], 0], expected, rtol=1e-5)


def test_a_context_before_the_series_begins_is_padded_and_never_anothers():
    panel = read_panel(long_frame([12, 12]))
    found = Windows(panel, 6, 3, np.array([1]), panel.begins[1:] + 2)
    inputs, (center, _) = found.arrays()
    np.testing.assert_array_equal(inputs[0, :4, 0], 0.0)
    np.testing.assert_allclose(center.item(), series_of(panel, 1)[:2].mean())


def test_covariates_and_calendar_stand_at_their_steps():
    frame = long_frame([20])
    frame["price"] = np.arange(20.0)
    frame["seen"] = -np.arange(20.0)
    covariates = Covariates.of(frame, past=["seen"], future=["price"])
    panel = read_panel(frame, covariates=covariates)
    found = Windows(
        panel, 6, 3, np.array([0]), panel.begins + 10, calendar=True, position=True, decoder=True
    )
    inputs, targets = keras.tree.map_structure(to_numpy, next(iter(found.batches(1))))
    mean, std = np.arange(20.0).mean(), np.arange(20.0).std()
    np.testing.assert_allclose(
        inputs["future_covariates"][0, :, 0], (np.arange(4, 13) - mean) / std, rtol=1e-5
    )
    np.testing.assert_allclose(
        inputs["past_covariates"][0, :, 0], -(np.arange(4, 10) - mean) / std, rtol=1e-5
    )
    days = pd.date_range("2024-01-05", periods=9).day_of_week
    np.testing.assert_allclose(
        inputs["future_covariates"][0, :, 1], np.sin(2 * np.pi * days / 7), atol=1e-5
    )
    assert inputs["position"].tolist() == [(pd.Timestamp("2024-01-05") - pd.Timestamp(0)).days]
    before = np.concatenate([inputs["history"][:, -1:], targets[:, :-1]], axis=1)
    np.testing.assert_allclose(inputs["decoder_inputs"], before)


@pytest.mark.tensorflow  # NumPy alone: once is enough
def test_a_hundred_thousand_series_stay_within_twice_the_frame():
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
    found = Windows(panel, 24, 12, series, cuts)
    inputs, _ = found.arrays(slice(0, 64))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == count * 17
    assert inputs.shape == (64, 24, 1)
    assert peak < frame_bytes  # beside the frame itself: within twice of it
