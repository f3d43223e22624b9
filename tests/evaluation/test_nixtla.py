"""Rows go unchanged into the tools that share their columns."""

import numpy as np
import pandas as pd
import pytest
from utilsforecast import losses
from utilsforecast.evaluation import evaluate
from utilsforecast.plotting import plot_series

from kerastrans import Forecaster, backtesting

HORIZON = 7


@pytest.fixture(scope="module")
def bottom():
    """Four series: two regions of two shops."""
    times = pd.date_range("2024-01-01", periods=90, freq="D")
    rng = np.random.default_rng(0)
    return pd.concat(
        pd.DataFrame(
            {
                "region": shop[0],
                "shop": shop,
                "ds": times,
                "y": 10 * (i + 1) + 3 * np.sin(np.arange(90) * 2 * np.pi / 7) + rng.normal(size=90),
            }
        )
        for i, shop in enumerate(("n1", "n2", "s1", "s2"))
    )


@pytest.fixture(scope="module")
def hierarchy(bottom):
    """The four series, their regions and their total; which adds up to which; and its levels."""
    utils = pytest.importorskip("hierarchicalforecast.utils")
    return utils.aggregate(
        bottom.assign(country="all"),
        [["country"], ["country", "region"], ["country", "region", "shop"]],
    )


@pytest.fixture(scope="module")
def frame(bottom):
    return bottom.rename(columns={"shop": "unique_id"})[["unique_id", "ds", "y"]]


@pytest.fixture(scope="module")
def forecaster(frame):
    return Forecaster("nlinear", 14, HORIZON).fit(frame, epochs=1, verbose=0)


def test_backtest_can_be_evaluated_by_utilsforecast(forecaster, frame):
    backtest = forecaster.backtest(frame, windows=2)
    table = evaluate(backtest, metrics=[losses.mae, losses.coverage, losses.mqloss], level=[80, 95])
    assert list(table.columns) == ["unique_id", "cutoff", "metric", "nlinear"]
    assert len(table) == 4 * 2 * 4
    means = table.groupby("metric")["nlinear"].mean()
    scores = backtesting.score(backtest).iloc[0]
    assert means["mae"] == pytest.approx(scores["mae"])
    assert means["coverage_level80"] == pytest.approx(scores["coverage-80"])


def test_forecasts_can_be_plotted_by_utilsforecast(forecaster, frame):
    figure = plot_series(frame, forecaster.predict(frame), level=[80, 95])
    panels = [panel for panel in figure.axes if panel.lines]
    assert [line.get_label() for line in panels[0].lines] == ["y", "nlinear"]
    assert len(panels) == 4
    assert all(len(panel.collections) == 2 for panel in panels)


def test_forecasts_can_be_reconciled_by_hierarchicalforecast(hierarchy):
    core = pytest.importorskip("hierarchicalforecast.core")
    methods = pytest.importorskip("hierarchicalforecast.methods")
    frame, sums, tags = hierarchy
    forecasts = Forecaster("nlinear", 14, HORIZON).fit(frame, epochs=1, verbose=0).predict(frame)

    def incoherence(column):
        wide = forecasts.pivot(index="unique_id", columns="ds", values=column)
        matrix = sums.set_index("unique_id")
        added_up = matrix.to_numpy() @ wide.loc[matrix.columns].to_numpy()
        return np.abs(wide.loc[matrix.index].to_numpy() - added_up).max()

    assert incoherence("nlinear") > 1e-3  # little, since the model is linear
    reconciler = core.HierarchicalReconciliation([methods.BottomUp(), methods.MinTrace("ols")])
    forecasts = reconciler.reconcile(
        Y_hat_df=forecasts,
        Y_df=frame,
        S_df=sums,
        tags=tags,
        level=[80],
        intervals_method="normality",
    )
    for column in ("nlinear/BottomUp", "nlinear/MinTrace_method-ols"):
        assert incoherence(column) < 1e-9
        assert (forecasts[f"{column}-lo-80"] < forecasts[f"{column}-hi-80"]).all()
