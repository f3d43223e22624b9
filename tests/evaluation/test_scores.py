"""Scores beside utilsforecast, and the formulas of M4, GluonTS and fev written out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from utilsforecast import losses

from kerastrans import backtesting
from kerastrans.evaluation.scores import GRID

LEVELS = (20, 40, 60, 80, 95)
HORIZON, ORIGINS, LENGTH = 6, 4, 90
NAMES = ("week", "day", "zeros", "gaps", "flat")


def values_of(name, rng):
    """Series of all kinds, the last 30 steps of which are the test part."""
    steps = np.arange(LENGTH + HORIZON * ORIGINS)
    noise = rng.normal(size=len(steps))
    return {
        "week": 50 + 10 * np.sin(2 * np.pi * steps / 7) + noise,
        "day": 1e4 + 3e3 * np.sin(2 * np.pi * steps / 24) + 100 * noise,
        "zeros": np.maximum(np.round(2 * noise), 0.0),
        "gaps": np.where(rng.random(len(steps)) < 0.2, np.nan, -5 + noise),
        "flat": np.full(len(steps), 3.0),
    }[name]


@pytest.fixture(scope="module")
def panel():
    """Training rows, and a backtest with intervals: `(train, backtest)`."""
    rng = np.random.default_rng(0)
    train, backtest = [], []
    for name in NAMES:
        y = values_of(name, rng)
        times = pd.date_range("2024-01-01", periods=len(y), freq="h")
        train.append(pd.DataFrame({"unique_id": name, "ds": times, "y": y})[:LENGTH])
        for origin in range(LENGTH, len(y), HORIZON):
            rows = slice(origin, origin + HORIZON)
            point = np.nan_to_num(y[rows], nan=-5.0) * 1.02 + rng.normal(size=HORIZON)
            frame = pd.DataFrame({"unique_id": name, "ds": times[rows], "y": y[rows]})
            frame = frame.assign(cutoff=times[origin - 1], m=point)
            for level in LEVELS:
                half = stats.norm.ppf((1 + level / 100) / 2)
                frame[f"m-lo-{level}"], frame[f"m-hi-{level}"] = point - half, point + 0.9 * half
            backtest.append(frame)
    return pd.concat(train, ignore_index=True), pd.concat(backtest, ignore_index=True)


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
            "mape": np.mean(np.abs(y - point) / np.abs(y)),
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
def test_scores_of_each_series_are_gluonts_and_fevs(panel, season):
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
    assert np.isinf(table.loc["zeros", "mape"])


@pytest.mark.parametrize("season", [7, 24])
def test_scores_are_utilsforecasts(panel, season):
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


def test_over_all_series_they_are_means_of_each_ones_mean(panel):
    train, backtest = panel
    uneven = backtest[(backtest["unique_id"] != "week") | (backtest["cutoff"].dt.day == 4)]
    each = quiet_score(uneven, train, by="unique_id", season=24)
    table = quiet_score(uneven, train, season=24).loc["all"]
    for name in set(each) - {"rmse", "wql", "mape"}:
        assert table[name] == pytest.approx(each[name].mean(), rel=1e-9), name
    assert table["rmse"] == pytest.approx((each["rmse"] ** 2).mean() ** 0.5)
    assert np.isinf(table["mape"])  # one true value is zero, and nobody is told otherwise
    known = uneven.dropna(subset="y")
    total = known["y"].abs().groupby(known["unique_id"]).sum()
    assert table["wql"] == pytest.approx((each["wql"] * total).sum() / total.sum())


def test_over_series_of_one_length_they_are_fevs(panel):
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


def test_scores_of_m4_are_its_own():
    """sMAPE and MASE as in the organisers' code, of one quarterly series worked by hand."""
    times = pd.date_range("2020-01-01", periods=8, freq="QS")
    train = pd.DataFrame({"q": [10.0, 20.0, 30.0, 40.0, 12.0, 18.0]}, times[:6])
    rows = {"unique_id": "q", "ds": times[6:], "cutoff": times[5], "y": [33.0, 44.0]}
    table = backtesting.score(pd.DataFrame({**rows, "m": [30.0, 40.0]}), train).loc["all"]
    assert table["mase"] == pytest.approx((3 + 4) / 2 / ((2 + 2) / 2))
    assert 100 * table["smape"] == pytest.approx((200 * 3 / 63 + 200 * 4 / 84) / 2)


def gaussian(levels, count=200_000):
    """A perfect forecast of standard normal values, with intervals of these levels."""
    y = np.random.default_rng(0).normal(size=count)
    times = pd.date_range("1900-01-01", periods=count + 1, freq="min")
    frame = pd.DataFrame({"unique_id": "a", "ds": times[1:], "cutoff": times[:-1], "y": y, "m": 0})
    for level in levels:
        bound = stats.norm.ppf((1 + level / 100) / 2)
        frame[f"m-lo-{level}"], frame[f"m-hi-{level}"] = -bound, bound
    return frame


@pytest.mark.parametrize(
    ("levels", "crps"),
    [((80, 95), 0.501), ((20, 40, 60, 80), 0.592), ((20, 40, 60, 80, 90, 95), 0.563)],
)
def test_the_crps_integrates_over_levels_however_they_lie(levels, crps):
    table = backtesting.score(gaussian(levels))
    assert table["crps"].item() == pytest.approx(crps, abs=0.003)  # the CRPS itself: 0.564
    assert ("wql" in table) == (set(levels) >= {20, 40, 60, 80})
    assert "sql" not in table


def test_an_interval_of_no_width_has_the_absolute_error_as_its_crps():
    frame = gaussian((50, 80, 95), 100).assign(m=0.3)
    frame = frame.assign(**{f"m-{end}-{level}": 0.3 for end in ("lo", "hi") for level in (50, 80)})
    frame = frame.assign(**{"m-lo-95": 0.3, "m-hi-95": 0.3})
    table = backtesting.score(frame)
    assert table["crps"].item() == pytest.approx(table["mae"].item())


def test_zeros_are_as_in_the_formulas():
    times = pd.date_range("2024-01-01", periods=3, freq="D")
    rows = pd.DataFrame({"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [0.0, 2.0]})
    wrong, right = rows.assign(m=[1.0, 2.0]), rows.assign(m=[0.0, 3.0])
    assert np.isinf(backtesting.score(wrong)["mape"].item())
    assert np.isnan(backtesting.score(right)["mape"].item())  # 0 / 0
    assert backtesting.score(wrong)["smape"].item() == 1.0
    assert backtesting.score(right)["smape"].item() == pytest.approx(0.2)


def test_what_does_not_count_is_named(panel):
    backtest = panel[1].dropna(subset="y").reset_index(drop=True)
    is_week = backtest["unique_id"] == "week"
    with pytest.warns(UserWarning, match=r"no score: 1 series \('week': no row has a y and a fore"):
        backtesting.score(backtest.assign(y=backtest["y"].where(~is_week)))
    with pytest.warns(UserWarning, match=r"24 of the \d+ rows with a y have no forecast of 'm'"):
        backtesting.score(backtest.assign(m=backtest["m"].where(~is_week)))
    broken = backtest.assign(m=backtest["m"].where(backtest.index > 0, np.inf))
    with pytest.warns(UserWarning, match="1 forecasts of 'm' are infinite, and so is their error"):
        table = backtesting.skill({"it": broken, "base": backtest}, "base")
    assert np.isinf(table.loc["it", "mae"])
    assert np.isnan(table.loc["it", "p"])
    broken = backtest.assign(**{"m-lo-80": backtest["m-lo-80"].where(backtest.index > 0)})
    with pytest.raises(ValueError, match="'m-lo-80' is missing where there is a 'm'"):
        backtesting.score(broken)
