"""One function of a frame for every engine: rows, covariates, parts without a series, schema."""

import pickle

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, from_pretrained, partitions
from tests.helpers.parquet import SIZES, series


def with_covariates():
    """A forecaster with future and static covariates, its frame and what `predict` is given."""
    frame = series(0, 2, length=88).assign(price=lambda x: np.arange(len(x)) % 7.0)
    static = pd.DataFrame({"unique_id": frame["unique_id"].unique(), "size": [1.0, 2.0]})
    future = frame.groupby("unique_id").tail(SIZES["prediction_length"]).drop(columns="y")
    frame = frame.drop(index=future.index)
    forecaster = Forecaster("tide", **SIZES, future=["price"], hidden_dim=8)
    forecaster.fit(frame, static=static, epochs=1, verbose=0)
    return forecaster, frame, {"future": future, "static": static}


def table_of(frame, known):
    """One table of the history, the rows to forecast, and the static covariates."""
    return pd.concat([frame, known["future"]]).merge(known["static"], on="unique_id")


def test_a_table_holds_what_predict_is_given():
    forecaster, frame, known = with_covariates()
    forecast = pickle.loads(pickle.dumps(partitions.forecast_function(forecaster, levels=[80])))
    table = table_of(frame, known).sample(frac=1, random_state=0)
    expected = forecaster.predict(frame, **known, levels=[80])
    found = forecast(table)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-5)
    assert list(found) == list(forecast.schema)
    assert found["ds"].min() > frame["ds"].max()
    lost = table[table["unique_id"] == "s0"][:30].assign(unique_id="c", y=np.nan)
    with pytest.warns(UserWarning, match="'c'"):
        assert set(forecast(pd.concat([table, lost]))["unique_id"]) == {"s0", "s1"}
    table["size"] += np.arange(len(table))
    with pytest.raises(ValueError, match="'size' must have one value per series, 's"):
        forecast(table)
    with pytest.raises(ValueError, match=r"static covariates \['size'\] are not columns"):
        forecast(table.drop(columns="size"))


def test_a_folder_is_loaded_by_its_content(tmp_path):
    for name in ("last_value", "seasonal_naive"):
        options = {"season": 24} if name == "seasonal_naive" else {}
        forecaster = Forecaster(name, 24, 8, alias="m", **options).fit(series(0, 3))
        forecaster.save(tmp_path / name)
        forecast = partitions.forecast_function(tmp_path / name)
        pd.testing.assert_frame_equal(forecast(series(0, 3)), forecaster.predict(series(0, 3)))


def test_a_part_without_a_series_has_no_rows():
    forecaster = Forecaster("last_value", 24, 8).fit(series(0, 3))
    forecast = partitions.forecast_function(forecaster)
    with pytest.warns(UserWarning, match="no value"):
        found = forecast(series(0, 2).assign(y=np.nan))
    pd.testing.assert_frame_equal(found, forecast.schema)
    assert found.empty
    with pytest.warns(UserWarning, match="left out"):
        both = forecast(pd.concat([series(0, 1), series(1, 1).assign(y=np.nan)]))
    assert both["unique_id"].nunique() == 1


@pytest.mark.parametrize(
    ("head", "levels"),
    [("point", None), ("quantiles", None), ("student_t", 80), ("mixture", [90, 50])],
)
def test_the_schema_is_that_of_predict(head, levels):
    forecaster = Forecaster("nlinear", **SIZES, head=head).fit(series(0, 2), epochs=1, verbose=0)
    forecast = partitions.forecast_function(forecaster, levels=levels)
    rows = forecast(series(0, 2))
    pd.testing.assert_frame_equal(
        rows[:0].reset_index(drop=True), forecast.schema, check_dtype=False
    )
    words = forecast.ddl("bigint").split(", ")
    assert words[:2] == ["`unique_id` bigint", "`ds` timestamp"]
    assert [word.split("`")[1] for word in words] == list(rows)


def test_sample_paths_and_backtests():
    zero = from_pretrained("kerastrans_zero_2", 8, freq="h", verbose=False)
    frame = series(0, 2)
    paths = partitions.forecast_function(zero, simulate={"num_paths": 4})(frame)
    assert paths.groupby("unique_id")["path"].nunique().tolist() == [4, 4]
    rows = partitions.forecast_function(zero, backtest={"windows": 2}, levels=[80])(frame)
    assert rows["cutoff"].nunique() == 2
    with pytest.raises(ValueError, match="give backtest or simulate, not both"):
        partitions.forecast_function(zero, simulate={}, backtest={})
    with pytest.raises(ValueError, match="the schema is that of predict, got 'simulate'"):
        _ = partitions.forecast_function(zero, simulate={}).schema
