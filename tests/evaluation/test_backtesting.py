import numpy as np
import pandas as pd
import pytest
from scipy import stats
from utilsforecast import losses

from kerastrans import backtesting


def example(seed=0, origins=6, steps=4, spread=1.0, bias=0.0):
    rng = np.random.default_rng(seed)
    rows = []
    for name, level in (("a", 10.0), ("b", 1000.0)):
        for origin in range(origins):
            cutoff = pd.Timestamp("2024-01-01") + pd.Timedelta(days=2 * origin)
            times = pd.date_range(cutoff, periods=steps + 1, freq="D")[1:]
            y = level + rng.normal(size=steps)
            mean = level + bias + 0.1 * rng.normal(size=steps)
            frame = pd.DataFrame({"unique_id": name, "ds": times, "cutoff": cutoff, "y": y})
            frame["mean"] = mean
            for share, z in ((80, 1.2816), (95, 1.96)):
                frame[f"lo-{share}"], frame[f"hi-{share}"] = mean - z * spread, mean + z * spread
            rows.append(frame)
    return pd.concat(rows, ignore_index=True)


def training_rows(seed=1, rows=50):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2023-01-01", periods=rows, freq="D")
    return pd.concat(
        pd.DataFrame({"unique_id": name, "ds": times, "y": level * rng.normal(size=rows)})
        for name, level in (("a", 1.0), ("b", 3.0))
    )


@pytest.mark.parametrize("by", [None, "unique_id", "step", "cutoff"])
def test_scores_are_those_computed_by_hand(by):
    frame, train = example(), training_rows()
    table = backtesting.score(frame, train, by=by, season=7)
    frame = frame.assign(step=np.tile(np.arange(1, 5), 12))
    groups = {"all": frame} if by is None else dict(iter(frame.groupby(by)))
    assert len(table) == len(groups)
    scale = {name: rows["y"].diff(7).abs().mean() for name, rows in train.groupby("unique_id")}
    for name, rows in groups.items():
        error = rows["y"] - rows["mean"]
        found = table.loc[name]
        assert found["mae"] == pytest.approx(error.abs().mean())
        assert found["rmse"] == pytest.approx((error**2).mean() ** 0.5)
        assert found["mape"] == pytest.approx((error / rows["y"]).abs().mean())
        assert found["smape"] == pytest.approx(
            (error.abs() / (rows["y"].abs() + rows["mean"].abs())).mean()
        )
        each = {key: part["y"] - part["mean"] for key, part in rows.groupby("unique_id")}
        mase = np.mean([part.abs().mean() / scale[key] for key, part in each.items()])
        assert found["mase"] == pytest.approx(mase)
        inside = (rows["y"] >= rows["lo-80"]) & (rows["y"] <= rows["hi-80"])
        assert found["coverage-80"] == pytest.approx(inside.mean())
        assert found["width-95"] == pytest.approx(3.92)
        pinball = []
        for q, column in ((0.025, "lo-95"), (0.1, "lo-80"), (0.5, "mean"), (0.9, "hi-80")):
            rest = rows["y"] - rows[column]
            pinball.append(np.maximum(q * rest, (q - 1) * rest).mean())
        rest = rows["y"] - rows["hi-95"]
        pinball.append(np.maximum(0.975 * rest, -0.025 * rest).mean())
        assert found["pinball"] == pytest.approx(np.mean(pinball))
        assert found["crps"] == pytest.approx(2 * np.mean(pinball))


def test_mase_and_rmsse_by_series_are_utilsforecasts():
    frame, train = example(), training_rows()
    table = backtesting.score(frame, train, by="unique_id", season=7)
    for name in ("mase", "rmsse"):
        known = getattr(losses, name)(
            frame, ["mean"], seasonality=7, train_df=train, cutoff_col="none"
        )
        np.testing.assert_allclose(table[name], known.set_index("unique_id")["mean"], rtol=1e-9)


def test_rows_without_truth_do_not_count():
    frame = example()
    gone = frame["unique_id"] == "a"
    table = backtesting.score(frame.assign(y=frame["y"].where(~gone)))
    assert table["mae"].item() == pytest.approx(
        backtesting.score(frame[~gone])["mae"].item(), rel=1e-9
    )
    with pytest.raises(ValueError, match="no row of the backtest has a known y"):
        backtesting.score(frame.assign(y=np.nan))


def test_the_test_of_diebold_and_mariano_is_a_t_test_where_origins_do_not_overlap():
    differences = np.random.default_rng(0).normal(0.3, size=40)
    statistic, p = backtesting.diebold_mariano(differences)
    known = stats.ttest_1samp(differences, 0.0)  # divides by n - 1 where the test has n
    assert statistic == pytest.approx(known.statistic, rel=1e-9)
    assert p == pytest.approx(known.pvalue, rel=1e-6)
    assert backtesting.diebold_mariano(np.zeros(10)) == (0.0, 1.0)
    assert np.isnan(backtesting.diebold_mariano([1.0])[1])


def test_it_rejects_as_often_as_it_says_though_origins_overlap():
    rng = np.random.default_rng(0)
    rejected = []
    for _ in range(400):
        noise = rng.normal(size=203)
        moving = np.convolve(noise, np.ones(4), "valid")  # errors 4 steps ahead
        rejected.append(backtesting.diebold_mariano(moving, 8)[1] < 0.05)
    assert 0.02 < np.mean(rejected) < 0.12
    blind = []
    for _ in range(400):
        moving = np.convolve(rng.normal(size=203), np.ones(4), "valid")
        blind.append(backtesting.diebold_mariano(moving, 1)[1] < 0.05)
    assert np.mean(blind) > 0.2  # what the overlap is for


def test_skill_beside_a_baseline():
    good, bad = example(), example(bias=2.0)
    table = backtesting.skill({"good": good, "bad": bad}, "bad")
    assert table.loc["good", "skill"] == pytest.approx(
        1 - table.loc["good", "mae"] / table.loc["bad", "mae"]
    )
    assert table.loc["good", "skill"] > 0.3
    assert table.loc["good", "crps skill"] > 0.2
    assert table.loc["good", "p"] < 0.05
    assert np.isnan(table.loc["bad", "p"])
    with pytest.raises(ValueError, match="baseline must be one of 'good', 'bad', got 'naive'"):
        backtesting.skill({"good": good, "bad": bad}, "naive")
    with pytest.raises(ValueError, match="'good' and 'bad' are backtests of different rows"):
        backtesting.skill({"good": good[:-1], "bad": bad}, "bad")


def test_bad_input():
    with pytest.raises(ValueError, match="needs the columns \\['cutoff'\\]"):
        backtesting.score(example().drop(columns="cutoff"))
    with pytest.raises(ValueError, match="by must be one of"):
        backtesting.score(example(), by="week")


def test_a_series_that_repeats_itself_does_not_spoil_the_others_mase():
    frame, train = example(), training_rows()
    flat = train.assign(y=train["y"].where(train["unique_id"] == "b", 1.0))
    table = backtesting.score(frame, flat, season=7)
    alone = backtesting.score(frame[frame["unique_id"] == "b"], train, season=7)
    assert table["mase"].item() == pytest.approx(alone["mase"].item())
