"""Scores beside utilsforecast, and the formulas of M4, GluonTS and fev written out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from utilsforecast import losses

from kerastrans import backtesting
from kerastrans.evaluation.scores.table import GRID, ScoreFrame

from .conftest import LEVELS, NAMES


def quantile_column(q):
    level = round(abs(2 * q - 1) * 100, 6)
    return "m" if q == 0.5 else f"m-{'lo' if q < 0.5 else 'hi'}-{level:g}"


def quiet_score(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return backtesting.score(*args, **options)


def by_hand(rows, train, season):
    """Scores of one series, as GluonTS and fev define them; `train` has a row for every step."""
    y, point = rows["y"].to_numpy(), rows["m"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        absolute = np.nanmean(np.abs(train[season:] - train[:-season]))
        squared = np.nanmean((train[season:] - train[:-season]) ** 2)
        grid = np.stack([rows[quantile_column(q)] for q in GRID])
        loss = 2 * np.abs((grid - y) * ((y <= grid) - np.array(GRID)[:, None])).mean(axis=0)
        scores = {
            "mae": np.abs(y - point).mean(),
            "rmse": np.sqrt(np.mean((y - point) ** 2)),
            "mape": np.mean(np.abs(y - point) / np.abs(y)) if (y != 0).all() else np.nan,
            "smape": 2 * np.mean(np.abs(y - point) / (np.abs(y) + np.abs(point))),
            "bias": np.mean(point - y),
            "mase": np.mean(np.abs(y - point)) / absolute,
            "rmsse": np.sqrt(np.mean((y - point) ** 2) / squared),
            "wql": loss.sum() / np.abs(y).sum(),
            "sql": (loss / absolute).mean(),
        }
        for level in LEVELS:
            low, high = rows[f"m-lo-{level}"], rows[f"m-hi-{level}"]
            alpha = 1 - level / 100
            outside = (low - y) * (y < low) + (y - high) * (y > high)
            scores[f"msis-{level}"] = np.mean(high - low + 2 / alpha * outside) / absolute
            scores[f"coverage-{level}"] = np.mean((y >= low) & (y <= high))
            scores[f"width-{level}"] = np.mean(high - low)
    return scores


@pytest.mark.parametrize("season", [7, 24])
def test_scores_by_series_equal_gluonts_and_fev(panel, season):
    train, backtest = panel
    table = quiet_score(backtest, train, by="unique_id", season=season)
    assert list(table.index) == list(NAMES)
    for name in NAMES:
        rows = backtest[(backtest["unique_id"] == name) & backtest["y"].notna()]
        history = train.loc[train["unique_id"] == name, "y"].to_numpy()
        for metric, value in by_hand(rows, history, season).items():
            if (name == "flat" and metric in ("mase", "rmsse", "sql")) or "msis" in metric:
                value = value if name != "flat" else np.nan  # no scale
            np.testing.assert_allclose(
                table.loc[name, metric], value, rtol=1e-6, err_msg=f"{name} {metric}"
            )
    assert np.isnan(table.loc["zeros", "mape"])


@pytest.mark.parametrize("season", [7, 24])
def test_scores_equal_utilsforecast(panel, season):
    train, backtest = panel
    known = backtest.dropna(subset="y")
    table = quiet_score(backtest, train, by="unique_id", season=season)
    scaled = {"seasonality": season, "train_df": train}
    models = {"m": [quantile_column(q) for q in GRID]}
    halves = {"m": "m"}
    options = {"cutoff_col": "none"}
    theirs = {
        "mae": losses.mae(known, ["m"], **options),
        "rmse": losses.rmse(known, ["m"], **options),
        "bias": losses.bias(known, ["m"], **options),
        "smape": losses.smape(known, ["m"], **options),
        "mase": losses.mase(known, ["m"], **scaled, **options),
        "rmsse": losses.rmsse(known, ["m"], **scaled, **options),
        "wql": losses.scaled_crps(known, models, np.array(GRID), **options),
        "sql": losses.scaled_mqloss(known, models, np.array(GRID), **scaled, **options),
        "coverage-80": losses.coverage(known, ["m"], 80, **options),
        "half": losses.scaled_quantile_loss(known, halves, q=0.5, **scaled, **options),
    }
    theirs = {name: frame.set_index("unique_id")["m"] for name, frame in theirs.items()}
    theirs["smape"] = 2 * theirs["smape"]  # of M4, GluonTS and fev
    theirs["sql"] = 2 * theirs["sql"]  # of GluonTS and fev, so that of the median it is the MASE
    np.testing.assert_allclose(2 * theirs.pop("half"), theirs["mase"], rtol=1e-9)
    for name, values in theirs.items():
        values = values.where((values.index != "flat") | (name not in ("mase", "rmsse", "sql")))
        np.testing.assert_allclose(
            table[name], values.reindex(table.index), rtol=1e-6, err_msg=name
        )


def test_overall_scores_are_means_over_series(panel):
    train, backtest = panel
    uneven = backtest[(backtest["unique_id"] != "week") | (backtest["cutoff"].dt.day == 4)]
    each = quiet_score(uneven, train, by="unique_id", season=24)
    table = quiet_score(uneven, train, season=24).loc["all"]
    for name in set(each) - {"rmse", "wql", "mape"}:
        assert table[name] == pytest.approx(each[name].mean(), rel=1e-9), name
    assert table["rmse"] == pytest.approx((each["rmse"] ** 2).mean() ** 0.5)
    assert np.isnan(table["mape"])  # one true value is zero, and nobody is told otherwise
    known = uneven.dropna(subset="y")
    total = known["y"].abs().groupby(known["unique_id"]).sum()
    assert table["wql"] == pytest.approx((each["wql"] * total).sum() / total.sum())


def test_overall_scores_of_equally_long_series_equal_fev(panel):
    """Where fev has one mean over all values of all series."""
    train, backtest = panel
    kept = ("week", "day", "zeros")
    backtest = backtest[backtest["unique_id"].isin(kept)]
    table = backtesting.score(backtest, train, season=24).loc["all"]

    def array(column):
        return np.stack([backtest.loc[backtest["unique_id"] == name, column] for name in kept])

    y, point, levels = array("y"), array("m"), np.array(GRID)
    past = np.stack([train.loc[train["unique_id"] == name, "y"] for name in kept])
    scale = np.abs(past[:, 24:] - past[:, :-24]).mean(axis=1, keepdims=True)
    grid = np.stack([array(quantile_column(q)) for q in GRID], axis=-1)
    loss = 2 * np.abs((y[..., None] - grid) * ((y[..., None] <= grid) - levels))
    expected = {
        "mae": np.abs(y - point).mean(),
        "rmse": np.sqrt(((y - point) ** 2).mean()),
        "mase": (np.abs(y - point) / scale).mean(),
        "wql": loss.mean() / np.abs(y).mean(),
        "sql": (loss.mean(axis=2) / scale).mean(),
    }
    for name, value in expected.items():
        assert table[name] == pytest.approx(value, rel=1e-9), name


def test_smape_and_mase_equal_the_m4_code():
    """sMAPE and MASE as in the organisers' code, of one quarterly series worked by hand."""
    times = pd.date_range("2020-01-01", periods=8, freq="QS")
    train = pd.DataFrame({"q": [10.0, 20.0, 30.0, 40.0, 12.0, 18.0]}, times[:6])
    rows = {"unique_id": "q", "ds": times[6:], "cutoff": times[5], "y": [33.0, 44.0]}
    table = backtesting.score(pd.DataFrame({**rows, "m": [30.0, 40.0]}), train).loc["all"]
    assert table["mase"] == pytest.approx((3 + 4) / 2 / ((2 + 2) / 2))
    assert 100 * table["smape"] == pytest.approx((200 * 3 / 63 + 200 * 4 / 84) / 2)


def test_tables_of_long_names_print_all_main_columns():
    names = ["mae", "rmse", "mase", "crps", "coverage-80", "bias", "smape"]
    table = ScoreFrame(
        0.5, index=["kerastrans_zero/MinTrace_method-mint_shrink", "b"], columns=names
    )
    shown = repr(table)
    assert "..." not in shown
    assert all(name in shown.splitlines()[0] for name in ("mae", "mase", "coverage-80"))
    assert "and 1 more: " in shown
