import numpy as np
import pandas as pd
import pytest
from scipy import stats
from utilsforecast import losses

from kerastrans import backtesting
from tests.helpers.frames import example, training_rows


@pytest.mark.parametrize("by", [None, "unique_id", "step", "cutoff"])
def test_scores_of_groups_equal_manual_computation(by):
    frame, train = example(), training_rows()
    table = backtesting.score(frame, train, by=by, season=7)
    frame = frame.assign(step=np.tile(np.arange(1, 5), 12))
    groups = {"all": frame} if by is None else dict(iter(frame.groupby(by)))
    assert len(table) == len(groups)
    scale = {name: rows["y"].diff(7).abs().mean() for name, rows in train.groupby("unique_id")}
    for name, rows in groups.items():
        error = rows["nhits"] - rows["y"]
        found = table.loc[name]
        assert found["mae"] == pytest.approx(error.abs().mean())
        assert found["rmse"] == pytest.approx((error**2).mean() ** 0.5)
        assert found["bias"] == pytest.approx(error.mean())
        assert found["mape"] == pytest.approx((error / rows["y"]).abs().mean())
        assert found["smape"] == pytest.approx(
            2 * (error.abs() / (rows["y"].abs() + rows["nhits"].abs())).mean()
        )
        each = {key: part["y"] - part["nhits"] for key, part in rows.groupby("unique_id")}
        mase = np.mean([part.abs().mean() / scale[key] for key, part in each.items()])
        assert found["mase"] == pytest.approx(mase)
        inside = (rows["y"] >= rows["nhits-lo-80"]) & (rows["y"] <= rows["nhits-hi-80"])
        assert found["coverage-80"] == pytest.approx(inside.mean())
        assert found["width-95"] == pytest.approx(3.92)
        crps = 0.0
        ends = {0.025: "-lo-95", 0.1: "-lo-80", 0.5: "", 0.9: "-hi-80", 0.975: "-hi-95"}
        cells = (0.0625, 0.2375, 0.4, 0.2375, 0.0625)  # half the gaps, to 0 and 1 at the ends
        for cell, (q, end) in zip(cells, ends.items(), strict=True):
            rest = rows["y"] - rows[f"nhits{end}"]
            crps += cell * 2 * np.maximum(q * rest, (q - 1) * rest).mean()
        assert found["crps"] == pytest.approx(crps)


def test_mase_and_rmsse_by_series_equal_utilsforecast():
    frame, train = example(), training_rows()
    table = backtesting.score(frame, train, by="unique_id", season=7)
    for name in ("mase", "rmsse"):
        known = getattr(losses, name)(
            frame, ["nhits"], seasonality=7, train_df=train, cutoff_col="none"
        )
        np.testing.assert_allclose(table[name], known.set_index("unique_id")["nhits"], rtol=1e-9)


def test_rows_without_observed_value_are_ignored():
    frame = example()
    gone = frame["unique_id"] == "a"
    with pytest.warns(UserWarning, match="no score: 1 series"):
        table = backtesting.score(frame.assign(y=frame["y"].where(~gone)))
    assert table["mae"].item() == pytest.approx(
        backtesting.score(frame[~gone])["mae"].item(), rel=1e-9
    )
    with pytest.raises(ValueError, match="no row of the backtest has a known y"):
        backtesting.score(frame.assign(y=np.nan))


def test_invalid_backtests_are_refused():
    with pytest.raises(ValueError, match=r"without \['cutoff'\]"):
        backtesting.score(example().drop(columns="cutoff"))
    with pytest.raises(ValueError, match="by must be one of"):
        backtesting.score(example(), by="week")


def test_series_without_seasonal_changes_does_not_affect_mase_of_others():
    frame, train = example(), training_rows()
    flat = train.assign(y=train["y"].where(train["unique_id"] == "b", 1.0))
    with pytest.warns(UserWarning, match="left out of mase.*: it repeats itself exactly"):
        table = backtesting.score(frame, flat, season=7)
    alone = backtesting.score(frame[frame["unique_id"] == "b"], train, season=7)
    assert table["mase"].item() == pytest.approx(alone["mase"].item())


def test_scores_do_not_depend_on_the_order_of_rows():
    frame = example()
    shuffled = frame.sample(frac=1, random_state=0)
    for by in backtesting.GROUPS:
        expected = backtesting.score(frame, by=by).sort_index()
        pd.testing.assert_frame_equal(backtesting.score(shuffled, by=by).sort_index(), expected)


def test_one_of_several_models_is_scored_by_its_alias():
    good, bad = example(), example(bias=2.0, alias="tide")
    both = good.merge(bad)
    with pytest.raises(
        ValueError, match=r"forecasts of \['nhits', 'tide'\]: choose one with alias"
    ):
        backtesting.score(both)
    with pytest.raises(ValueError, match="alias must be one of 'nhits', 'tide', got 'mean'"):
        backtesting.score(both, alias="mean")
    pd.testing.assert_frame_equal(backtesting.score(both, alias="tide"), backtesting.score(bad))
    _, shares = backtesting.observed_levels(both, alias="tide")
    np.testing.assert_array_equal(shares, backtesting.observed_levels(bad)[1])
    assert backtesting.quantiles(both, "tide")[1][:2] == ["tide-lo-95", "tide-lo-80"]
    assert backtesting.interval_levels(both, "nhits") == [80, 95]


def test_median_is_the_0_5_quantile_not_the_mean():
    """Counts of a perfect model: three in four are below their mean, half below their median."""
    mean, alpha, levels = 1.0, 4.0, (0.1, 0.9)
    distribution = stats.nbinom(1 / alpha, 1 / (1 + alpha * mean))
    y = distribution.rvs(size=40_000, random_state=0).astype(float)
    origins = pd.date_range("2024-01-01", periods=len(y), freq="D")
    frame = pd.DataFrame({"unique_id": "a", "ds": origins + pd.Timedelta("1D"), "cutoff": origins})
    low, high = distribution.ppf(levels)
    frame = frame.assign(**{"y": y, "nb": mean, "nb-median": distribution.median()})
    frame = frame.assign(**{"nb-lo-80": low, "nb-hi-80": high})
    known, shares = backtesting.observed_levels(frame)
    assert known.tolist() == pytest.approx([0.1, 0.5, 0.9])
    # By randomised PIT, since two in three counts are equal to the median or below it.
    assert distribution.cdf(distribution.median()) > 0.66
    np.testing.assert_allclose(shares, known, atol=0.05)
    table = backtesting.score(frame).iloc[0]
    by_mean = backtesting.score(frame.drop(columns="nb-median")).iloc[0]
    pinball = [
        np.maximum(q * (y - f), (q - 1) * (y - f)).mean()
        for q, f in ((0.1, low), (0.5, distribution.median()), (0.9, high))
    ]
    assert table["crps"] == pytest.approx(2 * np.dot([0.3, 0.4, 0.3], pinball))
    assert table["crps"] < by_mean["crps"] - 0.02  # the true quantiles score best
    assert table["mae"] == by_mean["mae"] == pytest.approx(np.abs(y - mean).mean())


def test_duplicate_rows_are_refused():
    frame = example()
    with pytest.raises(ValueError, match="two forecasts of 'a' at 2024-01-02 00:00:00 from 2024-"):
        backtesting.score(pd.concat([frame, frame.iloc[:1]]))
