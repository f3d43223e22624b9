import numpy as np
import pandas as pd
import pytest

from kerastrans.data import WindowScaler
from kerastrans.data.panel import read_panel
from kerastrans.data.series_scales import series_scales
from tests.helpers.frames import long_frame


@pytest.mark.parametrize("chunk", [2**22, 60], ids=["at once", "in parts"])
@pytest.mark.parametrize("kind", ["standard", "mean_abs", "mase"])
def test_series_scales_use_all_rows_before_the_end(kind, chunk, monkeypatch):
    monkeypatch.setattr("kerastrans.data.series_scales._CHUNK", chunk)
    lengths = [3, 400, 40, 41, 7, 90]
    frame = long_frame(lengths)
    frame.loc[frame.sample(frac=0.2, random_state=0).index, "y"] = np.nan
    panel = read_panel(frame)
    series = np.array([1, 0, 1, 2, 3, 4, 5, 1])
    ends = panel.begins[series] + np.array([400, 3, 17, 40, 2, 7, 50, 17])
    scales, places = series_scales(panel, WindowScaler(kind, 2), series, ends)
    assert len(scales) == 7  # two windows share theirs
    for i, (number, end) in enumerate(zip(series, ends, strict=True)):
        values = panel.values[panel.begins[number] : end, 0]
        steps = np.abs(values[2:] - values[:-2])
        wanted = {
            "standard": lambda x: np.nanstd(x),
            "mean_abs": lambda x: np.nanmean(np.abs(x)),
            "mase": lambda x, steps=steps: np.nanmean(steps) if np.isfinite(steps).any() else 0,
        }[kind](values)
        assert scales[places[i], 0] == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["standard", "mean_abs", "mase"])
def test_the_scales_of_many_ends_are_those_of_the_window_up_to_each(kind):
    rng, length = np.random.default_rng(0), 300
    level = np.repeat([1e9, 0.0, 3e9], 100)
    columns = {
        "a large level": 1e9 + rng.normal(0, 1e-3, length),
        "jumps": level,
        "large": 1e150 * rng.normal(size=length),
        "gaps": np.where(rng.random(length) < 0.4, np.nan, rng.normal(size=length)),
        "late": np.where(np.arange(length) < 200, np.nan, rng.normal(size=length)),
    }
    panel = read_panel(pd.DataFrame(columns, pd.date_range("2024-01-01", periods=length)))
    scaler, ends = WindowScaler(kind, 7), panel.begins[0] + np.arange(length + 1)
    scales, places = series_scales(panel, scaler, np.zeros(length + 1, int), ends)
    assert (scales[places[:100], 1] == (1e9 if kind == "mean_abs" else 0))[1:].all()
    for cut in (0, 1, 2, 9, 150, 201, 300):
        seen = panel.values[panel.begins[0] : panel.begins[0] + cut][None]
        wanted = scaler.statistics(seen)[1][0, 0] if cut else np.zeros(5)
        found = scales[places[cut]]
        np.testing.assert_allclose(found[found > 0], wanted[found > 0], rtol=1e-12)
    assert (found > 0).all()


def test_constant_or_empty_series_has_no_scale():
    frame = long_frame([30, 30])
    frame.loc[frame["unique_id"] == "s1", "y"] = 4.0
    panel = read_panel(frame)
    ends = np.array([panel.begins[0], panel.cuts[1]])
    scales, places = series_scales(panel, WindowScaler("standard"), np.array([0, 1]), ends)
    np.testing.assert_array_equal(scales[places], [[0.0], [0.0]])


def test_nearly_constant_context_uses_the_scale_of_the_series():
    scaler = WindowScaler("standard")
    still = np.full((1, 24, 1), 5.0)
    center, scale = scaler.statistics(still, typical=10.0)
    assert (center.item(), scale.item()) == (5.0, pytest.approx(10 / 5))
    still[0, :21] = np.nan
    assert scaler.statistics(still, typical=10.0)[1].item() == pytest.approx(10 / 2)
    assert scaler.statistics(still)[1].item() == 5.0  # by its magnitude where nothing is known
    moving = np.random.default_rng(0).normal(size=(1, 24, 1))
    assert scaler.statistics(moving, typical=1.0)[1].item() == pytest.approx(moving.std())
