"""Statistical baselines: rows and origins with a stand-in for the library, and the library."""

import types

import numpy as np
import pandas as pd
import pytest

from kerastrans.evaluation import statistical


class Drift:
    """Stand-in for a model of statsforecast: the last value plus the steps."""

    def __init__(self, season_length):
        self.season_length = season_length

    def forecast(self, y, h, level):
        if y[-1] < 0:
            raise RuntimeError("cannot be fitted")
        mean = y[-1] + np.arange(1, h + 1)
        bounds = {f"lo-{x}": mean - x for x in level} | {f"hi-{x}": mean + x for x in level}
        return {"mean": mean, **bounds}


def example(sign=1.0):
    times = pd.date_range("2024-01-01", periods=12, freq="D")
    history = pd.DataFrame({"a": sign * np.arange(12.0)}, times)
    history.iloc[3] = np.nan
    rows = [
        pd.DataFrame({"unique_id": "a", "ds": times[i + 1 : i + 4], "cutoff": times[i], "y": 1.0})
        for i in (5, 8)
    ]
    return pd.concat(rows, ignore_index=True).assign(m=0.0), history


@pytest.fixture
def library(monkeypatch):
    models = types.SimpleNamespace(**dict.fromkeys(statistical.MODELS.values(), Drift))
    monkeypatch.setattr(statistical, "import_extra", lambda *_: models)


@pytest.mark.usefixtures("library")
def test_each_origin_is_forecast_from_its_past():
    backtest, history = example()
    found = statistical.statistical_backtests(backtest.assign(y=np.nan), history, levels=[80])
    assert list(found) == ["ets", "theta", "arima"]
    ets = found["ets"]
    assert ets["ets"].tolist() == [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    np.testing.assert_allclose(ets["ets-hi-80"] - ets["ets"], 80)
    np.testing.assert_allclose(ets["ets"] - ets["ets-lo-80"], 80)


@pytest.mark.usefixtures("library")
def test_a_series_that_cannot_be_fitted_has_its_last_value():
    backtest, history = example(sign=-1.0)
    found = statistical.statistical_backtests(backtest.assign(y=np.nan), history, ["ets"])
    assert found["ets"]["ets"].tolist() == [-5.0] * 3 + [-8.0] * 3
    assert found["ets"]["ets-lo-80"].isna().all()
    with pytest.raises(ValueError, match="models must be one of 'ets', 'theta', 'arima', got 'x'"):
        statistical.statistical_backtests(backtest, history, ["x"])


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "statsforecast", None)
    backtest, history = example()
    with pytest.raises(ImportError, match=r'pip install "kerastrans\[baselines\]"'):
        statistical.statistical_backtests(backtest, history)


def test_the_library_gives_forecasts_with_intervals():
    pytest.importorskip("statsforecast")
    backtest, history = example()
    found = statistical.statistical_backtests(backtest, history, ["theta"], season=1)["theta"]
    assert np.isfinite(found["theta"]).all()
    assert (found["theta-lo-95"] <= found["theta-lo-80"]).all()
