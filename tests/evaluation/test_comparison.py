import warnings

import numpy as np
import pandas as pd
import pytest

from kerastrans import backtesting
from kerastrans.evaluation.significance.comparison import geometric_mean, log_mean, relative_errors
from kerastrans.evaluation.significance.tests import diebold_mariano, holm, time_blocks
from tests.helpers.frames import example, training_rows


def panel(errors, start="2024-01-01", step=1, horizon=1):
    """Backtest of true values 0 whose absolute errors these are: dict of name -> (origins,)."""
    rows = []
    for name, values in errors.items():
        times = pd.date_range(start, periods=len(values) * step + horizon, freq="D")
        for i, value in enumerate(values):
            ds = times[i * step + 1 : i * step + 1 + horizon]
            frame = pd.DataFrame({"unique_id": name, "ds": ds, "cutoff": times[i * step]})
            rows.append(frame.assign(y=0.0, m=value))
    return pd.concat(rows, ignore_index=True)


def test_skill_is_the_geometric_mean_over_series():
    rng = np.random.default_rng(0)
    base = {name: scale * rng.uniform(1, 2, 20) for name, scale in (("small", 1), ("large", 1e4))}
    # Ten times worse of the small one, a fifth better of the large: pooled units would like it.
    own = {"small": 10 * base["small"], "large": 0.8 * base["large"]}
    table = backtesting.skill({"own": panel(own), "base": panel(base)}, "base")
    assert table.loc["own", "skill"] == pytest.approx(1 - np.sqrt(10 * 0.8))
    assert table.loc["own", "mae"] < table.loc["base", "mae"]
    assert table.loc["base", "skill"] == 0
    other = backtesting.skill({"own": panel(own), "base": panel(base)}, "own")
    assert 1 - other.loc["base", "skill"] == pytest.approx(1 / (1 - table.loc["own", "skill"]))
    assert other.loc["base", "p"] == pytest.approx(table.loc["own", "p"])


def test_skill_and_p_do_not_depend_on_the_units_of_a_series():
    good, bad = example(origins=40), example(origins=40, bias=0.5)
    expected = backtesting.skill({"good": good, "bad": bad}, "bad")
    values = [name for name in good if name.startswith(("y", "nhits"))]
    in_other_units = {}
    for name, frame in {"good": good, "bad": bad}.items():
        changed = frame.copy()
        changed.loc[frame["unique_id"] == "a", values] *= 1e5
        in_other_units[name] = changed
    table = backtesting.skill(in_other_units, "bad")
    columns = ["skill", "p", "crps skill"]
    pd.testing.assert_frame_equal(table[columns], expected[columns])
    assert 0 < expected.loc["good", "p"] < 0.05
    assert list(table)[:4] == [*columns, "mae"]


def test_p_value_tests_the_reported_skill():
    """The mean of the differences is the logarithm of the geometric mean that skill reports."""
    errors, reference = np.array([1.0, 3.0, 0.0, 2.0, 0.0]), np.array([2.0, 1.0, 0.0, 2.0, 1.0])
    ratios = relative_errors(errors, reference)
    logs = (errors - reference) / log_mean(errors, reference)
    assert np.exp(logs.mean()) == pytest.approx(geometric_mean(ratios))
    assert ratios.tolist() == [0.5, 3.0, 1.0, 1.0, 0.01]
    rng = np.random.default_rng(0)
    own, base = rng.uniform(0, 1, (2, 3, 40)) * np.array([1, 10, 100])[:, None]
    names = ("a", "b", "c")
    table = backtesting.skill(
        {
            "own": panel(dict(zip(names, own, strict=True)), horizon=2),
            "base": panel(dict(zip(names, base, strict=True)), horizon=2),
        },
        "base",
    )
    scale = log_mean(own.mean(axis=1), base.mean(axis=1))[:, None]
    differences = ((own - base) / scale).mean(axis=0)
    assert 1 - np.exp(differences.mean()) == pytest.approx(table.loc["own", "skill"])
    blocks = time_blocks(np.arange(40), np.arange(40) + 2)
    assert table.loc["own", "p"] == pytest.approx(diebold_mariano(differences, *blocks)[1])


def test_copies_of_a_series_do_not_change_the_p_value():
    rng = np.random.default_rng(0)
    own, base = rng.uniform(1, 2, (2, 30))
    once = backtesting.skill({"own": panel({"a": own}), "base": panel({"a": base})}, "base")
    names = [f"s{i}" for i in range(20)]
    many = backtesting.skill(
        {"own": panel(dict.fromkeys(names, own)), "base": panel(dict.fromkeys(names, base))}, "base"
    )
    assert many.loc["own", "p"] == pytest.approx(once.loc["own", "p"])


def test_blocks_are_blocks_of_time_over_all_series():
    """Two series, one after the other: eight blocks, of which the first series has half."""
    rng = np.random.default_rng(0)
    frames = {}
    for name in ("own", "base"):
        early = panel({"a": rng.uniform(1, 2, 4)}, step=2, horizon=2)
        late = panel({"b": rng.uniform(1, 2, 4)}, "2024-06-01", step=2, horizon=2)
        frames[name] = pd.concat([early, late])
    table = backtesting.skill(frames, "base")
    means = {name: frame.groupby("unique_id")["m"].mean() for name, frame in frames.items()}
    scale = pd.Series(log_mean(means["own"], means["base"]), means["own"].index)
    change = frames["own"]["m"] - frames["base"]["m"]
    differences = change / frames["own"]["unique_id"].map(scale)
    by_origin = differences.groupby(frames["own"]["cutoff"]).mean()
    assert len(by_origin) == 8
    expected = diebold_mariano(by_origin, np.arange(8), np.arange(8))[1]
    assert table.loc["own", "p"] == pytest.approx(expected)
    first = {name: rows[rows["cutoff"] == rows["cutoff"].min()] for name, rows in frames.items()}
    with pytest.warns(UserWarning, match="no p-values: the origins form 1 block of time whose"):
        table = backtesting.skill(first, "base")
    assert np.isnan(table.loc["own", "p"])


def test_p_is_adjusted_for_the_number_of_forecasts():
    rng = np.random.default_rng(1)
    errors = {name: rng.uniform(1, 2, 30) for name in ("base", "b", "c", "d")}
    frames = {name: panel({"a": values}) for name, values in errors.items()}
    alone = [
        backtesting.skill({"base": frames["base"], k: frames[k]}, "base").loc[k, "p"] for k in "bcd"
    ]
    table = backtesting.skill(frames, "base")
    np.testing.assert_allclose(table["p"], [np.nan, *holm(alone)])
    assert (table["p"][1:] >= alone).all()


def test_intervals_are_compared_at_the_levels_that_models_share():
    frame = example()
    fewer = frame.drop(columns=["nhits-lo-95", "nhits-hi-95"])
    table = backtesting.skill({"all": frame, "few": fewer}, "all")
    assert table.loc["all", "crps skill"] == table.loc["few", "crps skill"] == 0
    scores = backtesting.score_all({"all": frame, "few": fewer})
    pd.testing.assert_series_equal(*(scores.loc[x] for x in ("all", "few")), check_names=False)
    fewer = frame.drop(columns=["nhits-lo-80", "nhits-hi-80"])
    frame = frame.drop(columns=["nhits-lo-95", "nhits-hi-95"])
    message = r"'all' has intervals of \[80\] percent and 'few' of \[95\]: compare forecasts of"
    with pytest.raises(ValueError, match=message):
        backtesting.skill({"all": frame, "few": fewer}, "all")
    with pytest.raises(ValueError, match=message):
        backtesting.score_all({"all": frame, "few": fewer})
    point = frame[["unique_id", "ds", "cutoff", "y", "nhits"]]
    table = backtesting.skill({"all": frame, "point": point}, "all")
    assert table["crps skill"].isna().tolist() == [False, True]


def test_series_with_zero_baseline_error_are_named():
    base = {"a": np.zeros(9), "b": np.ones(9)}
    own = {"a": np.ones(9), "b": np.ones(9)}
    with pytest.warns(UserWarning, match=r"no error of 'base': 1 series \('a': relative errors"):
        table = backtesting.skill({"own": panel(own), "base": panel(base)}, "base")
    assert table.loc["own", "skill"] == pytest.approx(1 - 10)  # the root of 100 times 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = backtesting.skill({"own": panel(base), "base": panel(base)}, "base").loc["own"]
    assert (same["skill"], same["p"]) == (0.0, 1.0)


def test_backtests_with_different_rows_or_values_are_refused():
    good, bad = example(), example(bias=2.0)
    with pytest.raises(ValueError, match="baseline must be one of 'good', 'bad', got 'naive'"):
        backtesting.skill({"good": good, "bad": bad}, "naive")
    with pytest.raises(ValueError, match="baseline must be the name of one of the backtests"):
        backtesting.skill(good, bad)
    with pytest.raises(ValueError, match="'good' and 'bad' are backtests of different rows"):
        backtesting.skill({"good": good[:-1], "bad": bad}, "bad")
    with pytest.raises(ValueError, match="'good' and 'bad' have different true values"):
        backtesting.skill({"good": good.assign(y=good["y"] + 1), "bad": bad}, "bad")
    shuffled = good.sample(frac=1, random_state=0)
    shuffled["ds"] = shuffled["ds"].astype("datetime64[s]")
    expected = backtesting.skill({"good": good, "bad": bad}, "bad")
    table = backtesting.skill({"good": shuffled, "bad": bad}, "bad")
    pd.testing.assert_frame_equal(table, expected)


def test_models_in_one_frame_equal_models_in_separate_frames():
    good, bad = example(origins=12), example(origins=12, bias=2.0, alias="tide")
    pd.testing.assert_frame_equal(
        backtesting.skill(good.merge(bad), "tide", training_rows()),
        backtesting.skill({"nhits": good, "tide": bad}, "tide", training_rows()),
    )
