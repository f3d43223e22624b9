"""Frames of other libraries are taken and returned as frames of pandas are."""

import datetime

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from tests.helpers.frames import long_frame

pyarrow = pytest.importorskip("pyarrow")


def to_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def to_table(frame):
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("convert", [to_table, to_polars])
def test_a_forecaster_takes_and_returns_frames_of_a_library(convert):
    frame = long_frame([40, 30])
    native = convert(frame)
    forecaster = Forecaster("last_value", 6, 3).fit(native)
    pandas = forecaster.predict(frame)
    rows = forecaster.predict(native)
    assert type(rows) is type(native)
    pd.testing.assert_frame_equal(rows.to_pandas(), pandas, check_dtype=False)
    scored = forecaster.backtest(native, windows=2)
    assert type(scored) is type(native)
    expected = forecaster.backtest(frame, windows=2)
    pd.testing.assert_frame_equal(scored.to_pandas(), expected, check_dtype=False)
    calibrated = forecaster.calibrate(native, windows=6, levels=[80]).predict(native)
    assert calibrated.to_pandas().shape == (6, 5)


def test_covariates_ahead_can_be_of_another_library():
    frame = long_frame([40]).assign(price=np.arange(40.0))
    ahead = pd.date_range(frame["ds"].max() + datetime.timedelta(1), periods=3)
    future = pd.DataFrame({"unique_id": "s0", "ds": ahead, "price": 1.0})
    forecaster = Forecaster("dlinear", 6, 3, future=["price"]).fit(frame, epochs=0)
    expected = forecaster.predict(frame, future=future)
    rows = forecaster.predict(to_table(frame), future=to_table(future))
    np.testing.assert_allclose(rows["dlinear"].to_numpy(), expected["dlinear"])
    mixed = forecaster.predict(frame, future=to_table(future))
    np.testing.assert_allclose(mixed["dlinear"].to_numpy(), expected["dlinear"])


def test_what_is_not_a_frame_is_refused_as_before():
    with pytest.raises(TypeError, match="expected a DataFrame, got list"):
        Forecaster("last_value", 6, 3).fit([1, 2, 3])
