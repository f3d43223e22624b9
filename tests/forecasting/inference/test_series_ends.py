"""Forecasts begin after the last known value of each series."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster

CONTEXT, STEPS = 14, 6
DAYS = pd.date_range("2024-01-01", periods=90)
AHEAD = pd.date_range("2024-03-31", periods=STEPS)
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(series end with|of every series|ends before|past covariates|holds out no rows)"
)


def long_frame(seed=0, names="abc"):
    random = np.random.default_rng(seed)
    parts = [
        pd.DataFrame({"unique_id": name, "ds": DAYS, "y": random.normal(size=len(DAYS)).cumsum()})
        for name in names
    ]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(p=random.normal(size=len(rows)), x=random.normal(size=len(rows)))


FRAME = long_frame()
FUTURE = pd.DataFrame({"unique_id": np.repeat(list("abc"), STEPS), "ds": np.tile(AHEAD, 3)})
FUTURE["x"] = np.random.default_rng(1).normal(size=len(FUTURE))


def late(name, count, frame=FRAME):
    """Return which of the last rows of a series are `count` or fewer steps before its end."""
    return (frame["unique_id"] == name) & (frame["ds"] > DAYS[-1 - count])


def without_values(**counts):
    frame = FRAME.copy()
    for name, count in counts.items():
        frame.loc[late(name, count), "y"] = np.nan
    return frame


def numbers(rows, name):
    return rows[rows["unique_id"] == name].drop(columns=["unique_id", "ds"]).to_numpy("float64")


@pytest.fixture(scope="module")
def nlinear():
    return Forecaster("nlinear", CONTEXT, STEPS).fit(FRAME, epochs=0, verbose=0)


@pytest.mark.parametrize("head", [None, "student_t", "point"])
def test_steps_within_the_horizon_are_those_of_the_model(head):
    forecaster = Forecaster("nlinear", CONTEXT, STEPS, head=head).fit(FRAME, epochs=0, verbose=0)
    whole = forecaster.predict(FRAME)
    rows = forecaster.predict(without_values(b=2, c=9))
    pd.testing.assert_frame_equal(rows[["unique_id", "ds"]], whole[["unique_id", "ds"]])
    assert rows.notna().all(axis=None)
    np.testing.assert_allclose(numbers(rows, "a"), numbers(whole, "a"), rtol=1e-6)
    earlier = forecaster.predict(FRAME[~late("b", 2)])
    expected = numbers(earlier, "b")[2:]
    np.testing.assert_allclose(numbers(rows, "b")[: STEPS - 2], expected, rtol=1e-6)
    alone = forecaster.predict(without_values(c=9).query("unique_id == 'c'"))
    np.testing.assert_allclose(numbers(rows, "c"), numbers(alone, "c"), rtol=1e-5, atol=1e-5)
    fewer = forecaster.predict(without_values(b=2, c=9), prediction_length=3)
    np.testing.assert_allclose(numbers(fewer, "b"), numbers(rows, "b")[:3], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("linear_regression", {"future": ["x"]}),
        pytest.param("tide", {"future": ["x"]}, marks=pytest.mark.slow),
        pytest.param("tide", {"past": ["p"], "calendar": True}, marks=pytest.mark.slow),
        pytest.param("deepar", {"future": ["x"]}, marks=pytest.mark.slow),
    ],
)
def test_covariates_of_a_missing_end_are_those_of_its_rows(name, options):
    forecaster = Forecaster(name, CONTEXT, STEPS, **options).fit(FRAME, epochs=0, verbose=0)
    known = {"future": FUTURE} if "future" in options else {}
    rows = forecaster.predict(without_values(b=2), **known)
    shorter, gap = FRAME[~late("b", 2)], FRAME[late("b", 2)]
    known = {"future": pd.concat([gap[["unique_id", "ds", "x"]], FUTURE])} if known else {}
    expected = numbers(forecaster.predict(shorter, **known), "b")[2:]
    np.testing.assert_allclose(numbers(rows, "b")[: STEPS - 2], expected, atol=2e-5)
    if known:
        unknown = without_values(b=2)
        unknown.loc[late("b", 2), "x"] = np.nan
        with pytest.warns(UserWarning, match="'b' has no future covariates for 2024-03-29"):
            forecaster.predict(unknown, future=FUTURE)


def test_past_covariates_after_the_last_known_value_are_not_used():
    forecaster = Forecaster("tide", CONTEXT, STEPS, past=["p"]).fit(FRAME, epochs=0, verbose=0)
    missing = without_values(b=2)
    with pytest.warns(UserWarning, match=r"past covariates \['p'\] after the last known value"):
        rows = forecaster.predict(missing)
    missing.loc[late("b", 2), "p"] = 1e3
    pd.testing.assert_frame_equal(rows, forecaster.predict(missing))


def wide_frame(*counts):
    frame = FRAME.pivot(index="ds", columns="unique_id", values="y")
    for name, count in zip("abc", counts, strict=True):
        frame.loc[frame.index > DAYS[-1 - count], name] = np.nan
    return frame


def test_channels_that_are_not_mixed_end_each_for_itself():
    forecaster = Forecaster("nlinear", CONTEXT, STEPS).fit(wide_frame(0, 0, 0), epochs=0, verbose=0)
    whole, rows = (forecaster.predict(wide_frame(*x)) for x in ((0, 0, 0), (2, 0, 1)))
    np.testing.assert_allclose(numbers(rows, "b"), numbers(whole, "b"), rtol=1e-6)
    expected = forecaster.predict(wide_frame(0, 0, 0)[:-2])
    np.testing.assert_allclose(numbers(rows, "a")[:-2], numbers(expected, "a")[2:], rtol=1e-6)
    history = wide_frame(2, 0, 1).to_numpy()[None, -CONTEXT:].copy()
    found = forecaster.forecast_histories({"history": history})["forecast"][0]
    assert np.isnan(found).sum(axis=0).tolist() == [2, 0, 1]
    np.testing.assert_allclose(found[:, 1], numbers(rows, "b")[:, 0], rtol=1e-5)
    history[0, 2:, 0] = history[0, :-2, 0]  # what is left of it, without its missing end
    history[0, :2, 0] = np.nan
    moved = forecaster.forecast_histories({"history": history})["forecast"][0]
    np.testing.assert_array_equal(found[:-2, 0], moved[2:, 0])
    assert forecaster.simulate(wide_frame(2, 0, 1), num_paths=5)["nlinear"].notna().all()


def test_channels_that_are_mixed_have_one_end():
    forecaster = Forecaster("tsmixer", CONTEXT, STEPS).fit(wide_frame(0, 0, 0), epochs=0, verbose=0)
    with pytest.warns(UserWarning, match="'a' ends before other channels"):
        rows = forecaster.predict(wide_frame(2, 1, 1))
    expected = forecaster.predict(wide_frame(2, 0, 0)[:-1])
    for name in "abc":
        np.testing.assert_allclose(numbers(rows, name)[:-1], numbers(expected, name)[1:], rtol=1e-6)


def test_lines_say_which_series_end_with_missing_values(nlinear):
    with pytest.warns(UserWarning, match="1 of 3 series end with missing values, 'b' with 2"):
        nlinear.predict(without_values(b=2))
    with pytest.warns(UserWarning, match="1 series end with more .* prediction_length=6, 'b' with"):
        nlinear.predict(without_values(b=9))
    with pytest.warns(UserWarning, match="the last 3 rows of every series have no value"):
        nlinear.predict(without_values(a=3, b=4, c=3))
    with pytest.warns(UserWarning, match="'b' has no value in its last 14 steps"):
        assert set(nlinear.predict(without_values(b=14))["unique_id"]) == {"a", "c"}


def test_a_missing_value_that_is_zero_is_a_value(recwarn):
    forecaster = Forecaster("nlinear", CONTEXT, STEPS, fill="zero").fit(FRAME, epochs=0, verbose=0)
    recwarn.clear()
    rows = forecaster.predict(without_values(b=2))
    expected = forecaster.predict(without_values(b=2).fillna({"y": 0.0}))
    assert not [x for x in recwarn if "missing values" in str(x.message)]
    middle = [numbers(x, "b").mean() for x in (rows, expected)]  # another scale, the same history
    assert abs(middle[0] - middle[1]) < 1


@pytest.mark.filterwarnings("ignore:.*rows that the model was trained on")
def test_an_origin_inside_an_outage_forecasts_from_the_value_before_it(nlinear):
    outage = FRAME.copy()
    cutoff = DAYS[-STEPS - 1]
    gap = (outage["unique_id"] == "b") & outage["ds"].between(DAYS[-STEPS - 2], cutoff)
    outage.loc[gap, "y"] = np.nan
    rows = nlinear.backtest(outage, windows=1)
    assert rows["cutoff"].eq(cutoff).all()
    columns = rows.columns.difference(["cutoff", "y"])
    known = outage[outage["ds"] <= cutoff]
    expected = nlinear.predict(known)
    pd.testing.assert_frame_equal(rows[columns], expected[columns], rtol=1e-5)
    refitted = Forecaster("last_value", CONTEXT, STEPS).backtest(outage, windows=1, refit=True)
    last = known.dropna(subset="y").groupby("unique_id")["y"].last()
    np.testing.assert_allclose(refitted["last_value"], last.repeat(STEPS), rtol=1e-6)


def test_an_outage_at_the_origins_does_not_change_a_calibration():
    """The scores of origins inside an outage are those of the origin before it."""
    naive = Forecaster("last_value", 4, 1).fit(FRAME[["unique_id", "ds", "y"]])
    steps = FRAME.groupby("unique_id")["y"].diff().abs()
    frame = FRAME.copy()
    frame.loc[frame["ds"].isin(DAYS[-40:-20]), "y"] = np.nan
    widths = []
    for rows in (FRAME, frame):
        naive.calibrate(rows, windows=80, step=1, levels=[80], symmetric=True)
        made = naive.predict(FRAME)
        widths.append((made["last_value-hi-80"] - made["last_value-lo-80"]).mean() / 2)
    assert abs(widths[1] / widths[0] - 1) < 0.25
    assert widths[0] < 2 * steps.quantile(0.8)


@pytest.mark.filterwarnings("ignore:.*rows that the model was trained on")
@pytest.mark.parametrize("options", [{}, {"by": "unique_id"}, {"prediction_length": 9}])
def test_conformal_intervals_reach_beyond_an_outage(nlinear, options):
    forecaster = nlinear.clone().fit(FRAME, epochs=0, verbose=0)
    forecaster.calibrate(FRAME, windows=30, step=1, levels=[80], **options)
    steps = {name: x for name, x in options.items() if name == "prediction_length"}
    whole = forecaster.predict(FRAME[~late("b", 2)], **steps)
    rows = forecaster.predict(without_values(b=2), **steps)
    assert rows.notna().all(axis=None)
    if not steps:
        np.testing.assert_allclose(numbers(rows, "b")[:-2], numbers(whole, "b")[2:], rtol=1e-6)
    paths = forecaster.simulate(without_values(b=2), num_paths=200, **steps)
    drawn = paths[paths["unique_id"] == "b"].groupby("ds")["nlinear"].quantile(0.9)
    high = rows.loc[rows["unique_id"] == "b", "nlinear-hi-80"].to_numpy()
    assert np.abs(drawn - high).max() < 0.4 * np.ptp(numbers(rows, "b"), axis=1).max()


@pytest.mark.slow
def test_published_weights_keep_their_coverage_in_an_outage():
    """Random walks: 80 % at 0, 1, 5 and 20 missing values (81, 71, 31 and 17 % before)."""
    random = np.random.default_rng(1)
    times = pd.date_range("2024-01-01", periods=200)
    walks = random.normal(size=(400, 200)).cumsum(axis=1)
    zero = kerastrans.from_pretrained("kerastrans_zero_2", 3, verbose=False, alias="zero")
    inside = []
    for count in (0, 1, 5, 20):
        known = walks[:, :-3].copy()
        known[:, len(times) - 3 - count :] = np.nan
        names = np.repeat([f"s{i:03}" for i in range(400)], 197)
        frame = pd.DataFrame({"unique_id": names, "ds": np.tile(times[:-3], 400)})
        rows = zero.predict(frame.assign(y=known.ravel()), levels=[80])
        low, high = (rows[f"zero-{x}-80"].to_numpy().reshape(400, 3) for x in ("lo", "hi"))
        inside.append(((walks[:, -3:] >= low) & (walks[:, -3:] <= high)).mean())
    assert min(inside) > inside[0] - 0.08, inside
