import numpy as np
import pandas as pd
import pytest

from kerastrans import conformal
from kerastrans.forecasting.conformal.coverage import coverage_by_series


def test_coverage_by_series_is_public():
    assert conformal.coverage_by_series is coverage_by_series


def test_series_with_the_lowest_coverage_come_first():
    times = pd.date_range("2024", periods=10, freq="D")
    y = {"good": np.zeros(10), "bad": np.arange(10.0), "fair": [0] * 8 + [5, 5]}
    frame = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": times, "y": values}) for name, values in y.items()
    ).assign(cutoff=times[0], x=0.0)
    for level, width in ((50, 1.0), (95, 3.0)):
        frame[f"x-lo-{level}"], frame[f"x-hi-{level}"] = -width, width
    found = coverage_by_series(frame)
    assert list(found.index) == ["bad", "fair", "good"]
    assert list(found.columns) == ["coverage-50", "width-50", "coverage-95", "width-95"]
    assert found.loc["bad"].tolist() == [0.2, 2.0, 0.4, 6.0]
    with pytest.raises(ValueError, match="this backtest has no intervals: pass levels"):
        coverage_by_series(frame[["unique_id", "ds", "cutoff", "y", "x"]])
