"""Training data are read once, and decide what is held out of them."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.data import parquet
from kerastrans.data.frames import to_long
from kerastrans.data.panel import read_panel
from kerastrans.forecasting.inference import reader
from kerastrans.forecasting.training import data
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import HeldOut
from tests.helpers.frames import long_frame


def config(**options):
    return Forecaster("nlinear", 6, 3, head="point", **options).config


def test_each_file_of_a_folder_is_read_once_before_training(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    for number in range(3):
        frame = long_frame([30]).assign(unique_id=f"s{number}")
        frame.to_parquet(tmp_path / f"{number}.parquet")
    read = []
    monkeypatch.setattr(
        data, "read_partition", lambda path: read.append(path.stem) or parquet.read_partition(path)
    )
    forecaster = Forecaster("last_value", 6, 3).fit(tmp_path)
    assert read == ["0", "1", "2"]
    assert set(forecaster.predict(long_frame([9]))["unique_id"]) == {"s0"}


def test_the_hold_out_set_counts_steps_of_valid_series():
    """ "s1" has gaps; "s2" is invalid."""
    frame = long_frame([30, 90, 900])
    number = np.arange(len(frame))
    frame = frame[(frame["unique_id"] != "s1") | (number % 3 == 0) | (number % 5 == 0)]
    frame.loc[frame["unique_id"] == "s2", "y"] = np.nan
    read = TrainingData.read(config(), frame, freq="D")
    assert list(read.panels[0].names[:, 0]) == ["s0", "s1"]
    assert read.panels[0].lengths.tolist() == [30, 88]
    assert read.held_out == HeldOut(3)  # a tenth of the median of 59 steps is 5: one forecast
    assert TrainingData.read(config(), frame, freq="D", epochs=1).held_out == HeldOut()
    assert TrainingData.read(config(), frame, freq="D", validation_size=4).held_out == HeldOut(4)


@pytest.mark.parametrize("folder", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_order_of_rows_series_and_files_changes_no_training(folder, tmp_path):
    frame = long_frame([30, 25, 20]).assign(price=lambda x: np.sin(x.index))
    static = pd.DataFrame({"unique_id": ["s2", "s0", "s1"], "size": [2.0, 0.5, 1.0]})
    found = []
    for number, rows in enumerate((frame, frame.sample(frac=1, random_state=1))):
        source = rows
        if folder:
            pytest.importorskip("pyarrow")
            source = tmp_path / str(number)
            source.mkdir()
            for name in rows["unique_id"].unique():  # written in another order
                part = rows[rows["unique_id"].isin([name])]
                part.to_parquet(source / f"{name}.parquet", index=False)
        model = Forecaster("nlinear", 6, 3, head="point", past=["price"])
        fitted = model.fit(source, static=static, epochs=1, verbose=0)
        assert list(fitted.predict(rows, static=static)["unique_id"].unique()) == list(
            rows["unique_id"].unique()
        )
        found.append(fitted.predict(frame, static=static)["nlinear"])
    np.testing.assert_array_equal(*found)


def test_channels_that_are_forecast_one_by_one_are_held_out_as_series():
    """64 forecasts in all: 32 of each of two channels."""
    dates = pd.date_range("2024-01-01", periods=2000, freq="h")
    wide = pd.DataFrame({"a": np.arange(2000.0), "b": np.arange(2000.0)}, dates)
    assert TrainingData.read(config(), wide).held_out == HeldOut(64 * 3)
    long = to_long(wide, [])
    assert TrainingData.read(config(), long).held_out == HeldOut(32 * 3)
    state = Forecaster("nlinear", 6, 3, head="point").fit(long, epochs=0).fitted
    assert TrainingData.read(state.config, wide, state=state).held_out == HeldOut(32 * 3)


def test_series_follow_those_of_an_earlier_panel():
    frame = long_frame([12, 9, 7])
    later = frame.groupby("unique_id").tail(4)
    early = frame.drop(later.index)
    early = early[early["unique_id"] != "s1"]  # "s1" is new
    early = early[(early["unique_id"] != "s0") | (early["ds"] < early["ds"].max())]  # a gap
    whole = pd.concat([early, later])
    joined = read_panel(later).after(read_panel(early))
    expected = read_panel(whole)
    order = [list(joined.names[:, 0]).index(name) for name in expected.names[:, 0]]
    np.testing.assert_array_equal(joined.first[order], expected.first)
    for place, other in enumerate(order):
        rows = slice(expected.begins[place], expected.ends[place])
        found = slice(joined.begins[other], joined.ends[other])
        np.testing.assert_array_equal(joined.values[found], expected.values[rows])
    assert np.isnan(joined.values).sum() == np.isnan(expected.values).sum() == 2


def test_a_validation_frame_is_read_once(monkeypatch):
    frame = long_frame([40, 30])
    end = frame.groupby("unique_id").tail(6)
    sizes = []

    def recorded(frame, **kwargs):
        sizes.append(len(frame))
        return read_panel(frame, **kwargs)

    monkeypatch.setattr(reader, "read_panel", recorded)
    found = TrainingData.read(config(), frame.drop(end.index), validation=end)
    assert sizes == [58, 12]
    assert found.validation.steps.tolist() == [6, 6]
    assert found.validation.panel.lengths.tolist() == [40, 30]
    refused = config(short="refuse")
    found = TrainingData.read(refused, frame.drop(end.index), validation=end)
    assert found.validation.panel.lengths.tolist() == [40, 30]
