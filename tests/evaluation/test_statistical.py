"""Statistical baselines: rows and origins with a stand-in for the library, and the library."""

import types

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans.evaluation import report
from kerastrans.evaluation.baselines import statistical
from kerastrans.forecasting.selection import search


class Drift:
    """Stand-in for a model of statsforecast: the last value plus the steps."""

    def __init__(self, season_length, approximation=None):
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
    assert list(found) == ["ets", "theta", "arima"]  # no series holds a week twice
    ets = found["ets"]
    assert ets["ets"].tolist() == [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    np.testing.assert_allclose(ets["ets-hi-80"] - ets["ets"], 80)
    np.testing.assert_allclose(ets["ets"] - ets["ets-lo-80"], 80)


@pytest.mark.parametrize(
    ("freq", "rows", "season", "names", "fitted"),
    [
        ("D", 30, None, ["ets (7)", "theta (7)"], {7}),
        ("D", 30, 1, ["ets", "theta"], {1}),
        ("D", 30, 5, ["ets (5)", "theta (5)"], {5}),
        ("D", 13, None, ["ets", "theta"], {1}),
        ("W", 120, None, ["ets", "theta (52)"], {1, 52}),  # ETS has no season above 24
    ],
)
def test_the_season_is_that_of_the_history_and_in_the_name(
    freq, rows, season, names, fitted, library, monkeypatch
):
    seen, start = set(), Drift.__init__
    monkeypatch.setattr(
        Drift, "__init__", lambda self, season_length: seen.add(season_length) or start(self, 1)
    )
    times = pd.date_range("2024-01-07", periods=rows + 2, freq=freq)
    history = pd.DataFrame({"a": np.arange(rows + 2.0)}, times)
    rows = {"unique_id": "a", "ds": times[-2:], "cutoff": times[-3], "y": [0.0, 1.0]}
    backtest = pd.DataFrame({**rows, "m": 0.0})
    found = statistical.statistical_backtests(
        backtest, history, ["ets", "theta"], levels=[80], season=season
    )
    assert list(found) == names
    assert seen == fitted
    assert list(found[names[0]].columns[4:]) == [f"{names[0]}{x}" for x in ("", "-lo-80", "-hi-80")]
    with pytest.raises(ValueError, match=f"season must be below the {len(times) - 2} steps"):
        statistical.statistical_backtests(backtest, history, ["ets"], season=len(times))


@pytest.mark.usefixtures("library")
def test_a_series_that_cannot_be_fitted_has_its_last_value():
    backtest, history = example(sign=-1.0)
    found = statistical.statistical_backtests(backtest.assign(y=np.nan), history, ["ets"])
    assert found["ets"]["ets"].tolist() == [-5.0] * 3 + [-8.0] * 3
    assert found["ets"]["ets-lo-80"].tolist() == [-5.0] * 3 + [-8.0] * 3
    with pytest.raises(ValueError, match="models must be one of 'ets', 'theta', 'arima', got 'x'"):
        statistical.statistical_backtests(backtest, history, ["x"])


@pytest.mark.usefixtures("library")
def test_short_series_beside_long_ones_are_scored(tmp_path):
    backtest, history = example()
    history["b"] = np.nan
    history.loc[history.index[[0, 5]], "b"] = 1.0, 9.0
    backtest = pd.concat([backtest, backtest.assign(unique_id="b")], ignore_index=True)
    backtest = backtest.assign(**{"m-lo-80": -1.0, "m-hi-80": 1.0})
    options = {"levels": [80], "season": 1}
    found = statistical.statistical_backtests(backtest.assign(y=np.nan), history, **options)["ets"]
    short = found[found["unique_id"] == "b"]  # two known values: interpolated ones do not count
    assert (short[["ets", "ets-lo-80", "ets-hi-80"]] == 9.0).all(axis=None)
    assert np.isfinite(kerastrans.backtesting.score(found.assign(y=1.0))["crps"].item())
    report.write_report(tmp_path / "a.html", backtest, history=history, statistical=["ets"])


@pytest.mark.usefixtures("library")
def test_bounds_that_the_library_cannot_compute_have_no_width(monkeypatch):
    unknown = lambda self, y, h, level: {  # noqa: E731
        "mean": np.full(h, 2.0),
        **{f"{side}-{x}": np.full(h, np.nan) for x in level for side in ("lo", "hi")},
    }
    monkeypatch.setattr(Drift, "forecast", unknown)
    found = statistical.statistical_backtests(*example(), ["theta"], levels=[80])["theta"]
    assert (found[["theta", "theta-lo-80", "theta-hi-80"]] == 2.0).all(axis=None)


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "statsforecast", None)
    backtest, history = example()
    with pytest.raises(ImportError, match=r'pip install "\.\[baselines\]"'):
        statistical.statistical_backtests(backtest, history)
    times = pd.date_range("2024-01-01", periods=9, freq="D")
    frame = pd.DataFrame({"a": np.arange(9.0)}, times)
    with pytest.raises(ImportError, match=r"statistical=\('ets',\) requires an optional package"):
        kerastrans.select(frame, 2, statistical=["ets"])
    with pytest.raises(ValueError, match="statistical must be one of 'ets', 'theta', 'arima'"):
        kerastrans.select(frame, 2, statistical=["x"])


@pytest.mark.usefixtures("library")
def test_a_report_adds_statistical_models(tmp_path, monkeypatch):
    backtest, history = example()
    backtest = backtest.assign(**{"m-lo-80": -1.0, "m-hi-80": 1.0})
    options = {"history": history, "seasons": [2]}
    monkeypatch.setattr(report, "find_spec", lambda name: name)
    page = report.write_report(tmp_path / "a.html", {"m": backtest}, **options).read_text()
    assert [f"<th>{name}</th>" in page for name in statistical.MODELS] == [True, True, False]
    page = report.write_report(tmp_path / "e.html", {"m": backtest}, season=4, **options)
    assert "<th>ets (4)</th>" in page.read_text()  # and needs no training rows
    page = report.write_report(
        tmp_path / "b.html", {"m": backtest}, statistical=["arima"], **options
    )
    assert [f"<th>{name}</th>" in page.read_text() for name in statistical.MODELS] == [0, 0, 1]
    monkeypatch.setattr(report, "MAX_FITS", 1)
    page = report.write_report(tmp_path / "c.html", {"m": backtest}, **options).read_text()
    assert "<th>ets</th>" not in page
    with pytest.raises(ValueError, match=r"statistical=\['ets'\] requires history="):
        report.write_report(tmp_path / "d.html", {"m": backtest}, statistical=["ets"])
    assert not (tmp_path / "d.html").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("library")
def test_a_leaderboard_lists_statistical_models_outside_of_the_ensemble(monkeypatch):
    monkeypatch.setattr(search, "CANDIDATES", ())
    times = pd.date_range("2024-01-01", periods=40, freq="D")
    frame = pd.DataFrame({"a": np.arange(40.0), "b": -np.arange(40.0)}, times)
    table = kerastrans.select(frame, 2, statistical=["ets"], verbose=False).leaderboard
    table = table.set_index("model")
    assert np.isnan(table.loc["ets (7)", "weight"])
    assert table["weight"].sum() == 1
    # "a" is forecast exactly, with intervals of 95, 80 and 50; "b" has its last value everywhere.
    bounds = np.array([-95, -80, -50, 0, 50, 80, 95])
    levels = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
    exact = 2 * np.mean(np.maximum(levels * -bounds, (levels - 1) * -bounds))
    last = 2 * np.mean(1.5 * (1 - levels))  # one and two steps below, at every level
    # A step, the unit of both for days, is 1.
    assert table.loc["ets (7)", "loss"] == pytest.approx((exact + last) / 2)


def test_the_library_gives_forecasts_with_intervals():
    pytest.importorskip("statsforecast")
    backtest, history = example()
    found = statistical.statistical_backtests(backtest, history, ["theta"], season=1)["theta"]
    assert np.isfinite(found["theta"]).all()
    assert (found["theta-lo-95"] <= found["theta-lo-80"]).all()
