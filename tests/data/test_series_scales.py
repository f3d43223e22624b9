import numpy as np
import pytest

from kerastrans.data import WindowScaler
from kerastrans.data.panel import read_panel
from kerastrans.data.series_scales import series_scales
from tests.helpers.frames import long_frame


@pytest.mark.parametrize("kind", ["standard", "mean_abs", "mase"])
def test_series_scales_use_all_rows_before_the_end(kind):
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
