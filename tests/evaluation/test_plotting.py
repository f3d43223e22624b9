import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.text import Text

from kerastrans.evaluation.backtesting import score
from kerastrans.evaluation.plotting import (
    attention_heatmaps,
    plot_calibration,
    plot_error_by_step,
    plot_explanation,
    plot_fan,
    plot_forecast,
    plot_ranks,
    plot_residuals,
    plot_variable_importances,
    positional_encoding,
)
from tests.helpers.frames import example

DATES = pd.date_range("2020-01-01", periods=15, freq="h")
FRAME = pd.DataFrame(np.arange(30.0).reshape(15, 2), DATES, ["a", "b"])
NAME = "_cost$^$"  # its dollars would enclose a formula without a base
EXPLANATION = pd.DataFrame(
    {
        "unique_id": "a",
        "ds": DATES[3:5].repeat(3),
        "part": ["past value", "mean", "slope"] * 2,
        "lag": pd.array([2, None, 8] * 2, "Int64"),
        "source": [DATES[1], pd.NaT, pd.NaT, DATES[2], pd.NaT, pd.NaT],
        "value": [4.0, 2.0, np.nan, 6.0, 2.0, np.nan],
        "share": [0.5, 0.5, np.nan, 0.75, 0.25, np.nan],
        "contribution": [2.0, 1.0, -0.5, 4.5, 0.5, 0.25],
    }
)


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


def test_each_series_is_joined_to_the_end_of_its_own_history():
    times = pd.date_range("2024-01-01", periods=60, freq="D")
    ends = {"a": 20, "b": 50, "c": 50}
    history = pd.DataFrame({name: pd.Series(range(end), times[:end]) for name, end in ends.items()})
    rows = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": times[end : end + 4], "nhits": 7.0})
        for name, end in ends.items()
    )
    rows.loc[rows["unique_id"] == "c", "nhits"] = np.nan
    actual = pd.DataFrame({"b": range(60)}, times)
    figure = plot_forecast(history.sample(frac=1, random_state=0), rows, actual)
    expected = {"a": (range(20), [19, *[7.0] * 4]), "b": (range(18, 60), [49, *[7.0] * 4])}
    for panel, (name, (values, joined)) in zip(figure.axes, expected.items(), strict=False):
        observed, forecast, marker = panel.lines
        np.testing.assert_array_equal(observed.get_ydata(), values)
        np.testing.assert_array_equal(forecast.get_ydata(), joined)
        assert forecast.get_xdata()[0] == marker.get_xdata()[0] == times[ends[name] - 1]
    assert len(figure.axes[2].lines[1].get_ydata()) == 1  # no forecast follows


def test_a_missing_last_value_leaves_no_gap_and_a_missing_history_is_drawn():
    history = FRAME[:10].assign(b=np.nan)
    history.iloc[[4, -1], 0] = np.nan
    first, second = plot_forecast(history, {"model": FRAME[10:]}).axes
    np.testing.assert_array_equal(first.lines[0].get_ydata(), history["a"][:9])  # a gap stays one
    np.testing.assert_array_equal(first.lines[1].get_ydata(), [16, *FRAME["a"][10:]])
    np.testing.assert_array_equal(second.lines[1].get_ydata(), FRAME["b"][10:])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_forecast(
            FRAME[:10].rename(columns={"a": NAME}),
            {NAME: FRAME[10:].rename(columns={"a": NAME})},
            title=NAME,
            unit=NAME,
        ),
        lambda: plot_fan(example().replace({"a": NAME}), title=NAME, unit=NAME),
        lambda: plot_error_by_step({NAME: pd.DataFrame({"mae": [1.0]})}, title=NAME, unit=NAME),
        lambda: plot_calibration(example(), title=NAME),
        lambda: plot_residuals(example(), title=NAME, unit=NAME),
        lambda: plot_ranks(pd.DataFrame({"rank": [1], "low": [0], "high": [2]}, [NAME]), NAME),
        lambda: plot_explanation(EXPLANATION.replace({"a": NAME}), title=NAME, unit=NAME),
        lambda: attention_heatmaps(
            np.ones((1, 1, 1, 1)), [NAME], [NAME], title=NAME, query_axis=NAME, key_axis=NAME
        ),
        lambda: plot_variable_importances(
            pd.DataFrame({"kind": "past", "variable": [NAME], "share": 1.0}), NAME
        ),
    ],
)
def test_names_titles_and_units_are_drawn_as_they_are(draw):
    figure = draw()
    figure.draw_without_rendering()
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert not any(map(is_math_text, texts))
    assert any(NAME in text.replace(r"\$", "$") for text in texts)


def test_a_model_whose_name_begins_with_an_underscore_is_in_the_legend():
    forecasts = {"_a": FRAME[10:], "b": FRAME[10:]}
    tables = dict.fromkeys(forecasts, pd.DataFrame({"mae": [1.0]}))
    for figure in (plot_forecast(FRAME[:10], forecasts), plot_error_by_step(tables)):
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert labels[-2:] == ["\N{ZERO WIDTH SPACE}_a", "b"]


def test_series_to_draw_are_names_of_known_series():
    draw = {
        "the forecast": lambda **options: plot_fan(example(), **options),
        "the explanation": lambda **options: plot_explanation(EXPLANATION, **options),
        "the history and the forecasts": lambda **options: plot_forecast(
            FRAME[:10], {"x": FRAME[10:], "y": FRAME[["a"]][10:]}, **options
        ),
    }
    for place, plot in draw.items():
        assert plot(series="a").axes[0].get_ylabel() == "a"
        for series in ("zz", ["a", "zz"]):
            with pytest.raises(ValueError, match=rf"draw: \['zz'\] must be in {place}\.$"):
                plot(series=series)
        with pytest.raises(ValueError, match=rf"draw: at least one must be in {place}\.$"):
            plot(series=[])
    with pytest.raises(ValueError, match="at least one must be in the forecast"):
        plot_fan(example()[:0])
    assert len(draw["the history and the forecasts"]().axes) == 1  # "y" has no forecast of "b"


def test_the_axis_of_a_metric_begins_at_zero_unless_a_value_is_negative():
    table = pd.DataFrame({"mae": [1.0, 2.0], "bias": [-1.0, -2.0]}, [1, 2])
    (panel,) = plot_error_by_step({"x": table}).axes
    assert panel.get_ylim()[0] == 0
    (panel,) = plot_error_by_step({"x": table, "y": -table}, "bias").axes
    bottom, top = panel.get_ylim()
    assert bottom < -2
    assert top > 2
    with pytest.raises(ValueError, match="metric must be one of 'mae', 'bias', got 'mse'"):
        plot_error_by_step({"x": table}, "mse")


def test_channels_are_matched_by_name():
    history, future = FRAME.iloc[:10], FRAME.iloc[10:]
    line = plot_forecast(history, {"model": future[["b", "a"]]}).axes[0].lines[1]
    np.testing.assert_array_equal(line.get_ydata()[1:], future["a"])


def test_heatmaps_leave_masked_keys_empty_and_label_tokens():
    weights = np.tril(np.ones((2, 3, 4, 4)) / np.arange(1, 5)[:, None])
    tokens = ["a", "b", "c", "."]
    figure = attention_heatmaps(weights, tokens, tokens, title="t", key_axis="source token")
    panels, bar = figure.axes[:-1], figure.axes[-1]
    assert [p.get_title() for p in panels] == [
        f"block {b}, head {h}" for b in (1, 2) for h in (1, 2, 3)
    ]
    shown = panels[0].images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), weights[0, 0] == 0)
    assert [label.get_text() for label in panels[0].get_yticklabels()] == tokens
    assert figure.get_supxlabel() == "source token"
    assert bar.get_ylabel() == "attention weight"
    figure = attention_heatmaps(weights[:1], tokens, ["a long token", *tokens[1:]])
    assert [p.get_title() for p in figure.axes[:-1]] == ["head 1", "head 2", "head 3"]


def test_positional_encoding_plot_has_curves_and_a_heatmap():
    encoding = np.sin(np.arange(60)[:, None] * 0.5 ** np.arange(32))
    waves, heat, _ = positional_encoding(encoding, columns=(6, 7)).axes
    np.testing.assert_array_equal(waves.lines[1].get_ydata(), encoding[:, 7])
    np.testing.assert_array_equal(heat.images[0].get_array(), encoding)
    assert (waves.get_xlabel(), heat.get_ylabel()) == ("position [steps]", "position [steps]")


def test_invalid_arrays_are_refused():
    with pytest.raises(ValueError, match=r"weights must be \(blocks, heads, queries, keys\)"):
        attention_heatmaps(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="key_labels must have 4 entries, one per position, got 3"):
        attention_heatmaps(np.zeros((1, 1, 2, 4)), key_labels=list("abc"))
    with pytest.raises(ValueError, match="columns must be from 0 to 3"):
        positional_encoding(np.zeros((5, 4)))


def test_fan_plot_shows_each_interval_and_the_observed_values():
    backtest = example()
    history = pd.DataFrame(
        {"unique_id": "a", "ds": pd.date_range("2023-11-01", periods=90, freq="D"), "y": 9.0}
    )
    figure = plot_fan(backtest, history, ["a"], unit="MW")
    (panel,) = figure.axes
    assert panel.get_ylabel() == "a\n[MW]"
    assert len(panel.collections) == 2 * 6  # two levels, six origins
    assert {text.get_text() for text in panel.get_legend().get_texts()} == {
        "observed",
        "forecast",
        "80 %",
        "95 %",
    }
    observed = panel.lines[0]
    times, values = observed.get_xdata(), observed.get_ydata()
    np.testing.assert_array_equal(np.diff(times), np.timedelta64(1, "D"))  # no gap before it
    first = backtest["ds"].min()
    assert times[0] == np.datetime64(first - pd.Timedelta(days=4 * 4))
    assert (values[times < np.datetime64(first)] == 9.0).all()
    assert len(plot_fan(backtest).axes) == 2


def test_fan_plot_uses_distinguishable_shades():
    panel = plot_fan(example(), series=["a"]).axes[0]
    legend = panel.get_legend()
    labels = [text.get_text() for text in legend.get_texts() if text.get_text().endswith("%")]
    shades = {k: v.get_facecolor() for k, v in zip(labels, legend.get_patches(), strict=True)}
    assert {shade[3] for shade in shades.values()} == {1.0}  # drawn over each other they stay so
    assert np.abs(np.subtract(shades["80 %"], shades["95 %"])).max() > 0.15
    drawn = {tuple(x.get_facecolor()[0]) for x in panel.collections}
    assert drawn == set(shades.values())


def test_fan_plot_accepts_predictions_with_long_and_wide_histories():
    times = DATES[10:]
    rows = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": times, "nhits": FRAME.loc[times, name] + 1})
        for name in ("b", "a")
    )
    rows = rows.assign(**{"nhits-lo-80": rows["nhits"], "nhits-hi-80": rows["nhits"], "tide": 3.0})
    long = FRAME.melt(ignore_index=False, var_name="unique_id", value_name="y")
    long = long.rename_axis("ds").reset_index()
    for history in (FRAME[:10], long[long["ds"] < times[0]], long):
        figure = plot_forecast(history, rows, FRAME[10:])
        assert [panel.get_ylabel() for panel in figure.axes] == ["a", "b"]
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert labels == ["observed", "nhits", "tide"]
        observed, nhits, tide = figure.axes[1].lines[:3]
        np.testing.assert_array_equal(observed.get_ydata(), FRAME["b"])
        np.testing.assert_array_equal(nhits.get_ydata(), [19, *FRAME["b"][10:] + 1])
        np.testing.assert_array_equal(tide.get_ydata(), [19, *[3.0] * 5])
    assert len(plot_forecast(long, {"x": rows.drop(columns="tide")}, series=["b"]).axes) == 1
    with pytest.raises(ValueError, match=r"no series to draw: \['c'\] must be in the history"):
        plot_forecast(long, rows, series=["c"])
    with pytest.raises(ValueError, match="several origins: draw them with plot_fan"):
        plot_forecast(long, example())


def test_calibration_plot_shows_coverage_and_histogram():
    backtest = example()
    figure = plot_calibration(backtest)
    reliability, histogram = figure.axes
    below = [(backtest["y"] <= backtest[c]).mean() for c in ("nhits-lo-95", "nhits-lo-80", "nhits")]
    np.testing.assert_allclose(reliability.lines[1].get_ydata()[:3], below)
    np.testing.assert_allclose(reliability.lines[1].get_xdata(), [0.025, 0.1, 0.5, 0.9, 0.975])
    values, edges, _ = histogram.patches[0].get_data()
    np.testing.assert_allclose((values * np.diff(edges)).sum(), 1.0)
    with pytest.raises(ValueError, match="has no intervals"):
        plot_calibration(backtest[["unique_id", "ds", "cutoff", "y", "nhits"]])


def test_plots_of_errors_residuals_and_importances_show_the_given_values():
    backtest = example()
    table = score(backtest, by="step")
    (panel,) = plot_error_by_step({"one": table}, unit="MW").axes
    np.testing.assert_allclose(panel.lines[0].get_ydata(), table["mae"])
    over_time, histogram = plot_residuals(backtest).axes
    np.testing.assert_allclose(over_time.lines[1].get_ydata(), backtest["y"] - backtest["nhits"])
    assert sum(bar.get_height() for bar in histogram.patches) == len(backtest)
    shares = pd.DataFrame(
        {"kind": ["past", "past", "static"], "variable": ["y", "x", "k"], "share": [0.7, 0.3, 1]}
    )
    past, static = plot_variable_importances(shares).axes
    assert [bar.get_width() for bar in past.patches] == [0.3, 0.7]
    assert static.get_xlabel() == "share among the static variables"


def test_an_explanation_is_drawn_as_shares_and_as_contributions():
    figure = plot_explanation(EXPLANATION, unit="MW")
    left, right = figure.axes
    np.testing.assert_allclose(left.lines[1].get_ydata(), [6, 2.5, 5.25])  # from the last value
    sizes = left.collections[0].get_sizes()
    np.testing.assert_allclose(sizes[1] / sizes[0], 0.75 / 0.5)
    heights = np.reshape([bar.get_height() for bar in right.patches], (2, 2))
    # Of lag 2, half of 4 - 2 and three quarters of 6 - 2; of the slope.
    np.testing.assert_allclose(heights, [[1, 3], [-0.5, 0.25]])
    np.testing.assert_allclose(right.lines[0].get_ydata(), [0.5, 3.25])


def test_ranks_have_their_intervals_the_best_at_the_top():
    ranks = {"rank": [2.0, 1.0, 3.0], "low": [1.5, 0.5, 2.5], "high": [2.5, 1.5, 3.5]}
    panel = plot_ranks(pd.DataFrame(ranks, ["b", "a", "c"])).axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == [
        "a  1.00",
        "b  2.00",
        "c  3.00",
    ]
    assert panel.get_ylim()[0] > panel.get_ylim()[1]
    intervals = [line for line in panel.lines if len(line.get_xdata()) == 2]
    assert [list(line.get_xdata()) for line in intervals] == [[1, 1.5], [1.5, 2.5], [2.5, 3]]
    first, second, third = (line.get_color() for line in intervals)
    assert first == second != third  # b touches the band of a, and c does not


def test_missing_rows_leave_a_gap_and_hidden_series_are_counted():
    times = pd.bdate_range("2024-01-01", periods=60)
    rows = [
        pd.DataFrame({"unique_id": name, "ds": times.delete(range(20, 30)), "y": 1.0})
        for name in "abcdef"
    ]
    ahead = pd.bdate_range(times[-1], periods=16)[1:]
    forecast = pd.concat([pd.DataFrame({"unique_id": x, "ds": ahead, "m": 1.0}) for x in "abcdef"])
    figure = plot_fan(forecast, pd.concat(rows))
    drawn = figure.axes[0].lines[0].get_ydata()
    assert len(figure.axes) == 4
    assert figure.axes[-1].get_xlabel() == "time (4 of 6 series are shown)"
    assert np.isnan(drawn).sum() == 1  # of two weeks; weekends are none
    assert np.isnan(drawn[20])
    assert len(drawn) == 51
