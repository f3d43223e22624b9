import keras
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import WindowScaler, fill_gaps
from kerastrans.data.covariates import Covariates
from kerastrans.data.missing import FILLS
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.data.window_index import training_cuts
from tests.conftest import to_numpy
from tests.helpers.frames import long_frame, series_of


def windows(panel, context=6, steps=3, **options):
    (series, cuts), _ = training_cuts(panel, context, steps, pad=False)
    return Windows(panel, context, steps, series, cuts, **options)


@pytest.mark.parametrize("kind", [None, "standard", "mean_abs", "mase"])
def test_window_and_targets_are_scaled_by_the_context(kind):
    panel = read_panel(long_frame([20, 15]))
    chosen = windows(panel, scaler=WindowScaler(kind, 2))
    inputs, (center, scale) = chosen.arrays()
    batch = next(iter(chosen.batches(len(chosen))))
    for i, (series, cut) in enumerate(zip(chosen.series, chosen.cuts, strict=True)):
        context = panel.values[cut - 6 : cut, 0]
        wanted = {
            None: (0.0, 1.0),
            "standard": (context.mean(), context.std()),
            "mean_abs": (0.0, np.abs(context).mean()),
            "mase": (context.mean(), np.abs(context[2:] - context[:-2]).mean()),
        }[kind]
        np.testing.assert_allclose([center[i].item(), scale[i].item()], wanted, rtol=1e-9)
        np.testing.assert_allclose(inputs[i, :, 0], (context - wanted[0]) / wanted[1], atol=1e-4)
        targets = (panel.values[cut : cut + 3, 0] - wanted[0]) / wanted[1]
        np.testing.assert_allclose(to_numpy(batch[1])[i, :, 0], targets, rtol=1e-4, atol=1e-4)
        assert series in (0, 1)


@pytest.mark.parametrize("size", [1e12, 1e-12])
def test_large_and_small_series_are_scaled_equally(size):
    frame = long_frame([30])
    plain, _ = windows(read_panel(frame)).arrays()
    scaled, _ = windows(read_panel(frame.assign(y=frame["y"] * size))).arrays()
    np.testing.assert_allclose(plain, scaled, atol=1e-5)


def test_missing_values_are_excluded_from_scaling_and_targets():
    frame = long_frame([12])
    frame.loc[[2, 4, 7], "y"] = np.nan
    panel = read_panel(frame)
    chosen = Windows(panel, 6, 3, np.array([0]), panel.begins + 6)
    inputs, (center, scale) = chosen.arrays()
    context = frame["y"].to_numpy()[:6]
    np.testing.assert_allclose(center.item(), np.nanmean(context))
    np.testing.assert_allclose(scale.item(), np.nanstd(context))
    np.testing.assert_array_equal(inputs[0, [2, 4], 0], 0.0)
    targets = to_numpy(next(iter(chosen.batches(1)))[1])
    np.testing.assert_array_equal(np.isnan(targets[0, :, 0]), [False, True, False])
    last = Windows(panel, 6, 3, np.array([0]), panel.begins + 6, fill="last").arrays()[0]
    expected = (np.array([context[1], context[3]]) - center.item()) / scale.item()
    np.testing.assert_allclose(last[0, [2, 4], 0], expected, rtol=1e-5)


def test_context_before_the_start_of_a_series_is_padded():
    panel = read_panel(long_frame([12, 12]))
    chosen = Windows(panel, 6, 3, np.array([1]), panel.begins[1:] + 2)
    inputs, (center, _) = chosen.arrays()
    np.testing.assert_array_equal(inputs[0, :4, 0], 0.0)
    np.testing.assert_allclose(center.item(), series_of(panel, 1)[:2].mean())


def test_covariates_and_calendar_match_their_steps():
    frame = long_frame([20])
    frame["price"] = np.arange(20.0)
    frame["seen"] = -np.arange(20.0)
    covariates = Covariates.of(frame, past=["seen"], future=["price"])
    panel = read_panel(frame, covariates=covariates)
    chosen = Windows(
        panel, 6, 3, np.array([0]), panel.begins + 10, calendar=True, position=True, decoder_patch=1
    )
    inputs, targets = keras.tree.map_structure(to_numpy, next(iter(chosen.batches(1))))
    mean, std = np.arange(20.0).mean(), np.arange(20.0).std()
    np.testing.assert_allclose(
        inputs["future_covariates"][0, :, 0], (np.arange(4, 13) - mean) / std, rtol=1e-5
    )
    np.testing.assert_allclose(
        inputs["past_covariates"][0, :, 0], -(np.arange(4, 10) - mean) / std, rtol=1e-5
    )
    days = pd.date_range("2024-01-05", periods=9).day_of_week
    np.testing.assert_allclose(
        inputs["future_covariates"][0, :, 1], np.sin(2 * np.pi * days / 7), atol=1e-5
    )
    assert inputs["position"].tolist() == [(pd.Timestamp("2024-01-05") - pd.Timestamp(0)).days]
    before = np.concatenate([inputs["history"][:, -1:], targets[:, :-1]], axis=1)
    np.testing.assert_allclose(inputs["decoder_inputs"], before)


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize(
    "view",
    [
        lambda panel: panel,
        lambda panel: panel.without({0: "left out"}),
        lambda panel: panel.until(panel.cuts - 2),
        lambda panel: panel.until(panel.cuts - 2, rows=10),
    ],
)
def test_removing_or_shortening_a_series_does_not_change_other_windows(view, fill):
    """With "last" such panels raised an IndexError."""
    frame = long_frame([20, 15, 12])
    frame.loc[[3, 7, 18, 37, 38], "y"] = np.nan
    frame.loc[25, "y"] = np.inf
    panel = read_panel(frame)
    assert list(panel.faults) == ["s1"]
    seen = view(panel)
    place = seen.names[:, 0].tolist().index("s2")
    rows = slice(seen.begins[place] - panel.begins[1], seen.ends[place] - panel.begins[1])
    alone = windows(read_panel(frame[frame["unique_id"] == "s2"][rows]), fill=fill)
    among = windows(seen, fill=fill)
    np.testing.assert_array_equal(among.arrays(among.series == place)[0], alone.arrays()[0])
    assert len(alone) == {12: 4, 10: 2}[rows.stop - rows.start]


@given(seed=st.integers(0, 50), fill=st.sampled_from(FILLS), position=st.booleans())
def test_windows_do_not_depend_on_other_series_or_the_order_of_rows(seed, fill, position):
    rng = np.random.default_rng(seed)
    frame = long_frame(rng.integers(9, 20, size=4), seed)
    frame.loc[rng.uniform(size=len(frame)) < 0.2, "y"] = np.nan
    frame.loc[frame.groupby("unique_id").tail(1).index, "y"] = 1.0
    together = read_panel(frame.sample(frac=1, random_state=seed), freq="D")
    for i, name in enumerate(together.names[:, 0]):
        alone = read_panel(frame[frame["unique_id"] == name], freq="D")
        options = {"fill": fill, "position": position, "calendar": True}
        parts = [
            Windows(panel, 6, 3, np.array([place]), panel.cuts[[place]], **options).arrays()
            for panel, place in ((together, i), (alone, 0))
        ]
        for a, b in zip(*map(keras.tree.flatten, parts), strict=True):
            np.testing.assert_array_equal(a, b)


@given(seed=st.integers(0, 50), cut=st.integers(8, 20), fill=st.sampled_from([None, "last"]))
@pytest.mark.filterwarnings("ignore:covariate .* far outside")
def test_values_after_the_cut_do_not_change_the_inputs(seed, cut, fill):
    frame = long_frame([24], seed)
    frame["seen"] = np.arange(24.0)
    frame.loc[np.random.default_rng(seed).uniform(size=24) < 0.2, "y"] = np.nan
    frame.loc[0, "y"] = 1.0
    covariates = Covariates.of(frame, past=["seen"])
    later = frame.copy()
    later.loc[cut:, ["y", "seen"]] = 1e6
    options = {"fill": fill, "calendar": True}
    one, two = (
        Windows(panel, 6, 3, np.array([0]), panel.begins + cut, **options).arrays()
        for panel in (read_panel(f, covariates=covariates, freq="D") for f in (frame, later))
    )
    for a, b in zip(keras.tree.flatten(one), keras.tree.flatten(two), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("future", [(), ("price",)])
def test_targets_after_the_limit_are_unknown(future):
    frame = long_frame([20, 15]).assign(price=lambda x: x.index**2.0)
    panel = read_panel(frame, covariates=Covariates.of(frame, future=future))
    series, cuts = np.array([0, 0, 1]), panel.cuts[[0, 0, 1]] - [3, 1, 2]
    ends = panel.cuts[series]
    whole = Windows(panel, 6, 3, series[:1], cuts[:1], ends=ends[:1])
    limited = Windows(panel, 6, 3, series, cuts, ends=ends, limits=ends)
    inputs, targets = next(iter(limited.batches(3)))
    expected = np.arange(3) >= np.array([3, 1, 2])[:, None]
    np.testing.assert_array_equal(np.isnan(to_numpy(targets))[..., 0], expected)
    inputs_of_whole, targets_of_whole = next(iter(whole.batches(1)))
    np.testing.assert_array_equal(to_numpy(targets)[:1], to_numpy(targets_of_whole))
    for a, b in zip(*map(keras.tree.flatten, (inputs, inputs_of_whole)), strict=True):
        np.testing.assert_array_equal(to_numpy(a)[:1], to_numpy(b))
    if future:  # nor is what would be known ahead of them
        ahead = to_numpy(inputs["future_covariates"])[:, 6:, 0]
        np.testing.assert_array_equal(ahead == 0, expected)


@pytest.mark.parametrize("fill", FILLS)
def test_histories_are_filled_like_windows(fill):
    frame = long_frame([20])
    frame.loc[[8, 9, 12, 13, 17], "y"] = np.nan
    panel = read_panel(frame)
    chosen = Windows(panel, 6, 3, np.zeros(2, int), np.array([15, 17]), fill=fill)
    inputs, (center, scale) = chosen.arrays()
    history = np.stack([frame["y"].to_numpy()[cut - 7 : cut - 1, None] for cut in (15, 17)])
    by_hand = np.nan_to_num((fill_gaps(history, fill) - center) / scale)
    np.testing.assert_allclose(inputs, by_hand, rtol=1e-6)
    batch = next(iter(chosen.batches(2)))
    np.testing.assert_allclose(to_numpy(batch[0]), inputs, rtol=1e-6)


@pytest.mark.parametrize("kind", ["standard", "mean_abs", "mase"])
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_series_of_any_size_in_float64_are_scaled_equally(kind, size):
    frame = long_frame([30])
    plain, scaled = (
        windows(read_panel(f), scaler=WindowScaler(kind)).arrays()
        for f in (frame, frame.assign(y=frame["y"] * size))
    )
    np.testing.assert_allclose(plain[0], scaled[0], atol=1e-6)
    np.testing.assert_allclose(plain[1][1] * size, scaled[1][1], rtol=1e-9)


@pytest.mark.parametrize(("kind", "size"), [(None, 1e39), ("standard", 1.7e308)])
def test_values_outside_the_range_of_float32_are_refused_by_name(kind, size):
    frame = long_frame([20, 20])
    frame.loc[frame["unique_id"] == "s1", "y"] = size * (-1.0) ** np.arange(20)
    chosen = windows(read_panel(frame), scaler=WindowScaler(kind))
    chosen.arrays(slice(0, 5))
    with pytest.raises(ValueError, match="series 's1' has values that float32 cannot hold"):
        chosen.arrays()


def test_a_season_as_long_as_the_context_is_refused():
    panel = read_panel(long_frame([20]))
    with pytest.raises(ValueError, match=r"season=6\) .* context_length must be greater, got 6"):
        windows(panel, scaler=WindowScaler("mase", 6))
    assert len(windows(panel, scaler=WindowScaler("mase", 5))) == 12


@pytest.mark.parametrize("freq", ["D", "MS"])
def test_forecast_beyond_the_range_of_the_clock_is_refused(freq):
    """It wrapped to 1677, or raised IndexError."""
    frame = long_frame([20], freq=freq, start="2261-12-01" if freq == "D" else "2260-03-01")
    panel = read_panel(frame)
    Windows(panel, 6, 2, np.array([0]), panel.cuts, calendar=True).arrays()
    message = "beyond 2261-12-.* have no time stamp: the years 1678 to 2261"
    with pytest.raises(ValueError, match=message):
        Windows(panel, 6, 15, np.array([0]), panel.cuts)
