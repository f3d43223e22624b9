import numpy as np
import pandas as pd

from kerastrans.plotting import plot_forecast

DATES = pd.date_range("2020-01-01", periods=15, freq="h")
FRAME = pd.DataFrame(np.arange(30.0).reshape(15, 2), DATES, ["a", "b"])


def test_each_channel_has_its_panel_with_names_and_units(tmp_path):
    history, actual = FRAME.iloc[:10], FRAME.iloc[10:]
    figure = plot_forecast(history, {"model": actual + 1}, actual, title="t", unit="MW")
    assert [axes.get_ylabel() for axes in figure.axes] == ["a\n[MW]", "b\n[MW]"]
    assert figure.axes[-1].get_xlabel() == "time"
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["observed", "model"]
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_forecast_line_starts_where_the_history_ends():
    history, future = FRAME.iloc[:10], FRAME.iloc[10:] + 5
    line = plot_forecast(history, {"model": future}).axes[0].lines[1]
    np.testing.assert_array_equal(line.get_ydata(), [18, *future["a"]])


def test_channels_are_matched_by_name():
    history, future = FRAME.iloc[:10], FRAME.iloc[10:]
    line = plot_forecast(history, {"model": future[["b", "a"]]}).axes[0].lines[1]
    np.testing.assert_array_equal(line.get_ydata()[1:], future["a"])
