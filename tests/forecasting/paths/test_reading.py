"""Sums, peaks and first passages of paths."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting, datasets
from kerastrans.forecasting.paths import (
    aggregate_paths,
    backtest_aggregates,
    find_first_passages,
    find_peaks,
)

TIMES = pd.date_range("2024-01-01 12:00", periods=4, freq="12h")  # half of the first day


def frame_of(values, times=TIMES):
    """Return a frame of paths of values (series, paths, steps)."""
    values = np.asarray(values, float)
    names = list("abcd")[: len(values)]
    index = [names, range(values.shape[1]), times]
    index = pd.MultiIndex.from_product(index, names=["unique_id", "path", "ds"])
    frame = pd.DataFrame({"model": values.ravel()}, index).reset_index()
    return frame[["unique_id", "ds", "path", "model"]]


PATHS = frame_of([[[1, 2, 3, 4], [5, 6, 7, 8]], [[10, 20, 30, 40], [50, 60, 70, 80]]])


def values(rows):
    return rows["model"].tolist()


def test_sums_over_days_and_blocks_of_steps():
    rows = aggregate_paths(PATHS, "D")
    assert rows["ds"].drop_duplicates().tolist() == [TIMES[0], TIMES[1], TIMES[3]]
    assert values(rows)[:6] == [1, 5, 4, 5, 13, 8]
    assert values(aggregate_paths(PATHS, 2))[:4] == [3, 7, 11, 15]
    assert values(aggregate_paths(PATHS, how="mean")) == [2.5, 6.5, 25, 65]
    shuffled = PATHS.sample(frac=1, random_state=1)
    found = aggregate_paths(shuffled).sort_values(["unique_id", "path"])
    assert values(found) == [10, 26, 100, 260]


def test_sums_over_series_path_by_path():
    assert values(aggregate_paths(PATHS, by="all")) == [110, 286]
    assert values(aggregate_paths(PATHS, 4, by={"a": "x", "b": "x"})) == [110, 286]
    groups = pd.DataFrame({"unique_id": ["a", "b"], "region": ["x", "y"]})
    rows = aggregate_paths(PATHS, by=groups, how="mean")
    assert rows["unique_id"].unique().tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="1 series have no group in by, 'b' is the first"):
        aggregate_paths(PATHS, by={"a": "x"})
    with pytest.raises(ValueError, match="1 series have no group in by, 'b' is the first"):
        aggregate_paths(PATHS, by={"a": "x", "b": None})


def test_quantiles_over_paths():
    rows = aggregate_paths(PATHS, quantiles=[0.25, 0.5, 0.75])
    assert list(rows.columns) == ["unique_id", "ds", "quantile", "model"]
    assert values(rows) == [14, 18, 22, 140, 180, 220]
    rows = find_peaks(PATHS, quantiles=[0.5])
    assert values(rows) == [6, 60]
    assert rows["time"].tolist() == [TIMES[3], TIMES[3]]


def test_a_missing_value_is_missing_in_sums_and_ignored_by_peaks():
    paths = frame_of([[[1, np.nan, 3, 2]], [[np.nan] * 4]])
    assert np.isnan(values(aggregate_paths(paths))).all()
    rows = find_peaks(paths)
    assert values(rows)[0] == 3
    assert rows["time"].tolist()[0] == TIMES[2]
    assert rows[["model", "time"]].iloc[1].isna().all()
    assert (
        find_first_passages(paths, 0, summary=True)["probability"].isna().tolist()[4:] == [True] * 4
    )


def test_series_that_end_at_other_times_have_their_own_periods():
    later = frame_of([[[1, 1, 1, 1]]], TIMES + pd.Timedelta(days=7)).assign(unique_id="z")
    rows = aggregate_paths(pd.concat([PATHS, later], ignore_index=True), "W-SUN")
    assert rows[rows["unique_id"] == "z"]["ds"].tolist() == [TIMES[0] + pd.Timedelta(days=7)]
    assert len(rows) == 5


def test_a_group_that_lacks_a_series_is_missing_unless_the_rest_is_asked_for():
    later = frame_of([[[1, 1, 1, 1]]], TIMES + pd.Timedelta(days=1)).assign(unique_id="z")
    later = pd.concat([later, later.assign(path=1)], ignore_index=True)
    paths = pd.concat([PATHS, later], ignore_index=True)
    with pytest.warns(UserWarning, match="4 of 6 periods lack a series of a group.* 'all' at 2024"):
        rows = aggregate_paths(paths, 1, by="all")
    assert rows.groupby("ds")["model"].count().tolist() == [0, 0, 2, 2, 0, 0]
    rest = aggregate_paths(paths, 1, by="all", incomplete="sum")
    assert rest["model"].notna().all()
    assert rest["model"].iloc[::6].tolist() == [11, 55]
    with pytest.warns(UserWarning, match="1 of 1 periods"):
        assert aggregate_paths(paths, by="all", how="mean")["model"].isna().all()
    assert aggregate_paths(paths)["model"].notna().all()  # each series by itself
    with pytest.raises(ValueError, match="incomplete must be"):
        aggregate_paths(paths, incomplete="drop")


def test_periods_say_how_many_steps_they_hold():
    rows = aggregate_paths(PATHS, "D")
    assert rows.groupby("ds")["steps"].unique().tolist() == [1, 2, 1]
    quantiles = aggregate_paths(PATHS, "D", quantiles=[0.5])
    assert quantiles["steps"].tolist() == [1, 2, 1, 1, 2, 1]
    assert find_peaks(rows)["model"].notna().all()  # it is not a forecast
    assert "steps" not in aggregate_paths(PATHS)


def test_peaks_and_troughs_of_each_day():
    paths = frame_of([[[9, 3, 4, 1]]])
    rows = find_peaks(paths, "D")
    assert values(rows) == [9, 4, 1]
    assert rows["time"].tolist() == [TIMES[0], TIMES[2], TIMES[3]]
    assert values(find_peaks(paths, kind="min")) == [1]


def test_first_passages_and_their_probabilities():
    rows = find_first_passages(PATHS, 6, direction="above")
    assert rows["time"].isna().tolist() == [True, False, False, False]
    assert rows["time"][1] == TIMES[2]
    rows = find_first_passages(PATHS, 6, summary=True)
    assert rows["probability"].tolist() == [0, 0, 0.5, 0.5, 1, 1, 1, 1]
    assert find_first_passages(PATHS, 2, direction="below")["time"].notna().tolist() == [
        *(True, False, False, False)
    ]
    with pytest.raises(ValueError, match="level must be a finite number, got nan"):
        find_first_passages(PATHS, np.nan)


def test_first_passages_of_series_that_end_at_other_times():
    short = frame_of([[[0, 5, 0], [0, 0, 0]]], TIMES[:3]).assign(unique_id="short")
    rows = find_first_passages(pd.concat([PATHS, short], ignore_index=True), 2, summary=True)
    of_short = rows[rows["unique_id"] == "short"]["probability"].tolist()
    assert of_short[:3] == [0, 0.5, 0.5]
    assert np.isnan(of_short[3:]).all()


def test_invalid_frames():
    with pytest.raises(ValueError, match="path 0 of 'a' has two values at"):
        aggregate_paths(pd.concat([PATHS, PATHS]))
    with pytest.raises(ValueError, match="freq must be a pandas frequency"):
        aggregate_paths(PATHS, "fortnight")
    with pytest.raises(ValueError, match="freq must be a pandas frequency"):
        aggregate_paths(PATHS, 0)
    with pytest.raises(ValueError, match="without"):
        find_peaks(PATHS.drop(columns="path"))


def test_polars_frames_and_time_zones():
    polars = pytest.importorskip("polars")
    rows = aggregate_paths(polars.from_pandas(PATHS), "D")
    assert isinstance(rows, polars.DataFrame)
    zoned = PATHS.assign(ds=PATHS["ds"].dt.tz_localize("Europe/Berlin"))
    assert values(aggregate_paths(zoned, "D")) == values(aggregate_paths(PATHS, "D"))


def test_frames_without_rows_are_refused():
    for function in (aggregate_paths, find_peaks):
        with pytest.raises(ValueError, match="the frame of paths has no rows"):
            function(PATHS[:0])


def test_sums_are_backtested_as_they_are_forecast():
    frame = datasets.load("nyc_departures").tail(400)
    forecaster = Forecaster("nlinear", 48, 24).fit(frame[:-96], epochs=1, verbose=0)
    options = {"levels": [80], "num_paths": 20, "seed": 3, "prediction_length": 12}
    rows = backtest_aggregates(forecaster, frame, by="all", windows=2, step=24, **options)
    assert rows.columns.tolist()[2:] == ["cutoff", "y", "nlinear", "nlinear-lo-80", "nlinear-hi-80"]
    for row, end in zip(rows.itertuples(index=False), (376, 400), strict=True):
        known, ahead = frame[: end - 12], frame[end - 12 : end]
        assert (row.unique_id, row.ds, row.cutoff) == ("all", ahead.index[0], known.index[-1])
        assert row.y == ahead.to_numpy().sum()
        paths = forecaster.simulate(known, num_paths=20, seed=3, prediction_length=12)
        expected = aggregate_paths(paths, by="all", quantiles=[0.1, 0.9])
        np.testing.assert_allclose(row[5:], expected["nlinear"])
    assert 0 <= backtesting.score(rows)["coverage-80"].item() <= 1
    long = frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
    again = backtest_aggregates(forecaster, long, 6, windows=1, **options)
    assert len(again) == 3 * 2
    first = frame["EWR"].iloc[-12:-6].sum()
    assert again.query("unique_id == 'EWR'")["y"].iloc[0] == first
    with pytest.raises(ValueError, match="windows=40 of 12 steps need more than the 400 time"):
        backtest_aggregates(forecaster, frame, windows=40, **options)
    for argument in ("prediction_length", "step"):
        with pytest.raises(ValueError, match=f"{argument} must be an integer of at least 1"):
            backtest_aggregates(forecaster, frame, **options | {argument: 0})


def test_origins_of_sums_are_steps_of_the_clock_and_training_rows_are_told():
    frame = datasets.load("nyc_departures").tail(400)
    forecaster = Forecaster("nlinear", 48, 24).fit(frame[:-48], epochs=1, verbose=0)
    options = {"by": "all", "windows": 2, "num_paths": 5}
    with_gap = frame.drop(frame.index[-30:-25])  # rows of the first of two days
    rows = backtest_aggregates(forecaster, with_gap, **options)
    assert rows["cutoff"].tolist() == [frame.index[-49], frame.index[-25]]
    assert np.isnan(rows["y"][0])  # not the sum of the hours that are known
    assert rows["y"][1] == frame[-24:].to_numpy().sum()
    with pytest.warns(UserWarning, match="1 of 3 windows score rows that the model was trained on"):
        backtest_aggregates(forecaster, frame, **options | {"windows": 3})
