import numpy as np
import pandas as pd
import pytest

from kerastrans.forecasting.conformal.groups import groups_of, residual_sizes, sizes_of
from kerastrans.forecasting.conformal.offsets import split_offsets

NAMES = np.array(["a", "b", "c"], object)


def statics(values):
    return pd.DataFrame({"unique_id": ["a", "b"], "kind": values})


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        (["x", "y"], ["x", "y", None]),
        ([1, 2], ["1", "2", None]),
        ([1.0, np.nan], ["1", None, None]),  # a float, as pandas reads integers with a gap
        ([1.5, 2.0], ["1.5", "2", None]),
        ([True, False], ["True", "False", None]),
        (pd.Categorical(["x", None]), ["x", None, None]),
    ],
)
def test_static_columns_of_all_data_types_define_groups(values, groups):
    assert groups_of("kind", NAMES, statics(values)).tolist() == groups


def test_no_groups_and_one_group_per_series():
    assert groups_of(None, NAMES).tolist() == [None] * 3
    assert groups_of("unique_id", NAMES).tolist() == ["a", "b", "c"]
    numbers = pd.DataFrame({"unique_id": [7, 8], "kind": ["x", "y"]})
    assert groups_of("kind", np.array(["8", "7"]), numbers).tolist() == ["y", "x"]


def test_series_of_uncalibrated_groups_are_warned_about():
    with pytest.warns(UserWarning, match=r"1 of 3 series have no intervals by 'unique_id', 'c'"):
        groups_of("unique_id", NAMES[[0, 1, 2, 2]], calibrated={"a": 1, "b": 1})


def test_missing_columns_and_repeated_series_are_refused():
    with pytest.raises(ValueError, match=r"by='kind' requires static with the columns .* got \[\]"):
        groups_of("kind", NAMES)
    with pytest.raises(ValueError, match=r"requires static .* got \['unique_id', 'kind'\]"):
        groups_of("zone", NAMES, statics(["x", "y"]))
    twice = pd.concat([statics(["x", "y"])] * 2)
    with pytest.raises(ValueError, match="one row per series, 'a' has several"):
        groups_of("kind", NAMES, twice)


def test_residual_sizes_by_series_and_channel_are_above_zero():
    names = np.array(["a", "a", "b", "none"], object)
    nan, times = np.nan, [0, 2, 0, 0]
    windows = [[1, 0], [3, 0]], [[nan, 0], [5, 0]], [[0, 0], [0, 0]], [[nan, nan], [nan, nan]]
    sizes, others = residual_sizes(names, np.array(windows), times)
    assert list(sizes) == ["a", "b"]
    np.testing.assert_allclose(sizes["a"], [3.0, 1.0])  # all residuals are 0: any size is right
    np.testing.assert_allclose(sizes["b"], [1.5e-3, 1.0])
    np.testing.assert_allclose(
        others[:, 0, 0], [5.0, 2.0, 1.5, 1.5]
    )  # the other windows, or the mean
    np.testing.assert_allclose(others[:, 0, 1], 1.0)
    with pytest.raises(ValueError, match="no true value is known"):
        residual_sizes(names, np.full((4, 2, 2), nan), times)


@pytest.mark.parametrize("level", [80, 95])
def test_intervals_scaled_by_residuals_have_their_coverage_with_overlapping_windows(level):
    """Forecasts of 6 steps from each of 30 origins, and from later ones, of unlike series."""
    rng, covered, horizon = np.random.default_rng(1), [], 6
    for _ in range(10):
        noise = np.exp(rng.normal(size=(100, 1))) * np.abs(rng.normal(size=(100, 55)))
        windows = np.lib.stride_tricks.sliding_window_view(noise[:, :35], horizon, axis=1)
        names = np.arange(100).astype(str).astype(object).repeat(30)
        past = windows.reshape(-1, horizon, 1)
        sizes, others = residual_sizes(names, past, np.tile(np.arange(30), 100))
        offset = split_offsets(past / others, level)[None, :, 0].mean()
        widths = offset * np.stack([sizes[str(i)] for i in range(100)])
        covered.append((noise[:, 35:] <= widths).mean())
    assert np.mean(covered) == pytest.approx(level / 100, abs=0.01)


def test_sizes_leave_out_exactly_the_overlapping_windows_of_a_series():
    rng = np.random.default_rng(0)
    names, times = rng.choice(["a", "b"], 40).astype(object), rng.integers(100, 160, 40)
    residuals = rng.uniform(1, 2, (40, 5, 1))
    _, others = residual_sizes(names, residuals, times)
    for i in range(40):
        apart = (names == names[i]) & (np.abs(times - times[i]) >= 5)
        assert others[i, 0, 0] == pytest.approx(residuals[apart].mean())


def test_a_series_without_residuals_has_the_mean_size():
    names, sizes = np.array(["a", "new"], object), {"a": np.ones(2), "b": 3 * np.ones(2)}
    with pytest.warns(UserWarning, match="1 of 2 series have no residuals, 'new' is the first"):
        found = sizes_of(names, sizes)
    np.testing.assert_allclose(found, [[[1.0, 1.0]], [[2.0, 2.0]]])


@pytest.mark.parametrize("num_windows", [4, 10])
@pytest.mark.parametrize("level", [80, 95])
def test_intervals_scaled_by_residuals_have_their_coverage_with_few_windows(num_windows, level):
    rng, covered = np.random.default_rng(0), []
    for _ in range(20):
        scales = np.exp(rng.normal(size=(200, 1)))
        past, future = (np.abs(scales * rng.normal(size=(200, n))) for n in (num_windows, 20))
        names = np.arange(200).astype(str).astype(object).repeat(num_windows)
        sizes, others = residual_sizes(
            names, past.reshape(-1, 1, 1), np.tile(np.arange(num_windows), 200)
        )
        offset = split_offsets(past.reshape(-1, 1, 1) / others, level)
        widths = offset * np.stack([sizes[str(i)] for i in range(200)])
        covered.append((future <= widths).mean())
    assert np.mean(covered) == pytest.approx(level / 100, abs=0.025)
