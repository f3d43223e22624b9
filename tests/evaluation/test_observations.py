import pandas as pd

from kerastrans.evaluation import baselines
from kerastrans.evaluation.scores.scales import as_long

TIMES = pd.date_range("2024-01-01", periods=20, freq="D", name="ds")


def test_a_channel_may_have_the_name_of_a_column_of_long_frames():
    wide = pd.DataFrame({"y": range(20), "text": "x"}, TIMES)
    long = as_long(wide)
    assert long.columns.tolist() == ["unique_id", "ds", "y"]
    assert long["unique_id"].unique().tolist() == ["y"]
    assert long["y"].tolist() == list(range(20))
    rows = {"unique_id": "y", "ds": TIMES[-2:], "cutoff": TIMES[-3], "y": [18.0, 19.0]}
    backtest = pd.DataFrame({**rows, "nlinear": [17.0, 17.0]})
    naives = baselines.naive_backtests(backtest, wide)
    assert naives["last value"]["last value"].tolist() == [17.0, 17.0]
