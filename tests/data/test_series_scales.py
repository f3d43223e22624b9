import numpy as np
import pandas as pd
import pytest

from kerastrans.data import WindowScaler
from kerastrans.data.panel import read_panel
from kerastrans.data.series_scales import learn_scales, series_scales
from tests.helpers.frames import long_frame

MEASURES = {
    "deviation": lambda x: np.nanstd(x, axis=0),
    "change": lambda x: np.nanmean(np.abs(np.diff(x, axis=0)), axis=0),
    "level": lambda x: np.nanmean(np.abs(x), axis=0),
}


@pytest.mark.parametrize("kind", MEASURES)
@pytest.mark.parametrize("most", [8, 0])  # the rows before each end, or each series once
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_series_scales_use_all_rows_before_the_end(kind, most, monkeypatch):
    monkeypatch.setattr("kerastrans.data.series_scales.MAX_READS", most)
    lengths = [3, 400, 40, 41, 7, 90]
    frame = long_frame(lengths)
    frame.loc[frame.sample(frac=0.2, random_state=0).index, "y"] = np.nan
    panel = read_panel(frame)
    series = np.array([1, 0, 1, 2, 3, 4, 5, 1])
    ends = panel.begins[series] + np.array([400, 3, 17, 40, 2, 7, 50, 17])
    scales, places = series_scales(panel, series, ends, kind)
    assert len(scales) == 7  # two windows share theirs
    for i, (number, end) in enumerate(zip(series, ends, strict=True)):
        values = panel.values[panel.begins[number] : end]
        wanted = np.nan_to_num(MEASURES[kind](values)).item()
        assert scales[places[i], 0] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", MEASURES)
@pytest.mark.filterwarnings("ignore:.* empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
def test_the_scales_of_many_ends_are_those_of_the_rows_up_to_each(kind):
    rng, length = np.random.default_rng(0), 300
    columns = {
        "a large level": 1e9 + rng.normal(0, 1e-3, length),
        "jumps": np.repeat([1e9, 0.0, 3e9], 100),
        "large": 1e150 * rng.normal(size=length),
        "gaps": np.where(rng.random(length) < 0.4, np.nan, rng.normal(size=length)),
        "late": np.where(np.arange(length) < 200, np.nan, rng.normal(size=length)),
    }
    panel = read_panel(pd.DataFrame(columns, pd.date_range("2024-01-01", periods=length)))
    ends = panel.begins[0] + np.arange(length + 1)
    scales, places = series_scales(panel, np.zeros(length + 1, int), ends, kind)
    assert kind == "level" or (scales[places[:100], 1] == 0).all()
    for cut in (0, 1, 2, 9, 150, 202, 300):
        seen = panel.values[panel.begins[0] : panel.begins[0] + cut]
        wanted = np.nan_to_num(MEASURES[kind](seen)) if cut else np.zeros(5)
        # Relative to the level, as `np.nanstd` takes no first value off.
        tolerance = 1e-15 * np.nan_to_num(np.abs(seen)).max(axis=0, initial=0.0)
        assert (np.abs(scales[places[cut]] - wanted) <= 1e-10 * wanted + tolerance).all()


def test_constant_or_empty_series_has_no_scale():
    frame = long_frame([30, 30])
    frame.loc[frame["unique_id"] == "s1", "y"] = 4.0
    panel = read_panel(frame)
    ends = np.array([panel.begins[0], panel.cuts[1]])
    scales, places = series_scales(panel, np.array([0, 1]), ends)
    np.testing.assert_array_equal(scales[places], [[0.0], [0.0]])


def least(values, typical=None, **learnt):
    values = np.asarray(values, float)[None, :, None]
    return WindowScaler(**learnt).least_scale(values, typical).item()


def test_context_whose_values_are_nearly_all_equal_has_the_scale_of_the_series():
    still = [5.0] * 24
    assert least(still, 10.0) == pytest.approx(10 / 5)
    assert least([np.nan] * 21 + still[:3], 10.0) == pytest.approx(10 / 2)
    assert least([*still, 6.0], 10.0) == pytest.approx((1 - 2 / 24) * 10 / 26**0.5)
    assert least(still) == 0.0  # without a series
    walk = np.random.default_rng(0).normal(size=24).cumsum()
    assert least(walk, 1e9) == 0.0  # a series that wanders never has it


def test_few_values_have_a_scale_learnt_from_others_without_a_jump():
    learnt = {"share": 0.1, "size": 3.0}
    equal = [least([1200.0] * n + [np.nan] * (40 - n), **learnt) for n in range(1, 25)]
    assert equal[0] == pytest.approx(120 * (1 - 1 / 20))
    assert (np.diff(equal) <= 0).all()
    assert equal[19:] == [0.0] * 5
    nearly = least([1200.0, 1210.0] + [np.nan] * 38, **learnt)
    assert nearly == pytest.approx(equal[1], rel=0.01)
    assert least([0.0] + [np.nan] * 39, **learnt) == pytest.approx(3 * (1 - 1 / 20))


@pytest.mark.parametrize("kind", ["standard", "mean_abs", "mase"])
def test_forecast_of_a_constant_is_the_constant(kind):
    scaler = WindowScaler(kind)
    seen = np.full((4, 24, 1), 1200.0)
    seen[1, 4:], seen[2], seen[3, 5] = np.nan, 0.0, 1201.0
    center, scale = scaler.settled(seen, *scaler.statistics(seen))
    assert (center[0, 0, 0], scale[0, 0, 0], center[2, 0, 0], scale[2, 0, 0]) == (1200, 0, 0, 0)
    assert (scale[[1, 3]] > 0).all()  # four values are too few, and the last one is no constant
    assert (scaler.settled(seen, center, scale + 1, least=np.ones((4, 1, 1)))[1] >= 1).all()


def test_scales_of_few_values_and_of_constants_are_learnt_from_the_panel():
    rng, length = np.random.default_rng(0), 120
    moving = 100 + 10 * rng.normal(size=length)
    jump = np.where(np.arange(length) < 60, 40.0, 50.0)
    launch = np.where(np.arange(length) < 60, 0.0, 7 * (np.arange(length) % 2))
    names = np.repeat(["constant", "jump", "launch", "moving"], length)
    frame = pd.DataFrame(
        {
            "unique_id": names,
            "ds": np.tile(pd.date_range("2024-01-01", periods=length), 4),
            "y": np.concatenate([np.full(length, 5.0), jump, launch, moving]),
        }
    )
    panel = read_panel(frame)
    found = learn_scales(WindowScaler(), panel, panel.cuts, 30)
    assert found.enough == 20
    assert 0.05 < found.share < 1
    assert 1 < found.size < 10
    # The windows of the constant, and those of the jump that see one level only.
    count = (120 - 19) + (60 - 19) + (60 - 29)
    known = np.minimum(np.arange(20, 61), 30)
    after = np.full(60 - 29, 30)
    scales = 5 / np.sqrt(np.append(known, after) + 1)
    levels = np.append(np.full(len(known), 40), np.full(len(after), 50))
    wanted = (scales / levels).sum() / count
    assert found.still == pytest.approx(wanted)
    zeros = launch.std() / np.sqrt(np.append(known, 30) + 1)  # the first step is 0 too
    assert found.zero == pytest.approx(zeros.mean())
    calm = learn_scales(WindowScaler(), read_panel(frame[names == "constant"]), panel.cuts[:1], 30)
    assert (calm.still, calm.zero, calm.share) == (0.0, 0.0, 0.0)
