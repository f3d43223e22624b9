"""Offsets from scores: ranks, skew, and adaptive offsets for one and for many series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.forecasting.conformal.offsets import (
    adaptive_offsets,
    are_skewed,
    conformity_scores,
    count_effective,
    split_offsets,
    windows_needed,
)


def test_scores_are_the_distances_outside_each_bound():
    scores = conformity_scores(np.array([0.0, 2.0, 5.0]), 1.0, 3.0, 2.0)
    np.testing.assert_allclose(scores, [[0.5, -1.5], [-0.5, -0.5], [-2.0, 1.0]])


@given(count=st.integers(4, 60), level=st.integers(1, 79), seed=st.integers(0, 50))
def test_split_offsets_are_the_score_of_the_finite_sample_rank(count, level, seed):
    scores = np.random.default_rng(seed).normal(size=(count, 2, 1))
    found = split_offsets(scores, level)
    rank = int(np.ceil((count + 1) * level / 100))
    np.testing.assert_array_equal(found, np.sort(scores, axis=0)[rank - 1])
    assert (scores <= found).mean() >= level / 100


@pytest.mark.parametrize(("level", "needed"), [(50, 1), (80, 4), (95, 19), (97.5, 39), (99.9, 999)])
def test_split_offsets_require_exactly_windows_needed(level, needed):
    scores = np.arange(float(needed)).reshape(needed, 1, 1)
    assert windows_needed(level) == needed
    assert split_offsets(scores, level).item() == needed - 1
    with pytest.raises(ValueError, match=f"at least {needed} calibration windows .* got"):
        split_offsets(scores[1:], level)


def test_split_offsets_ignore_unknown_scores_and_refuse_too_few():
    scores = np.arange(40.0).reshape(40, 1, 1)
    scores[::2] = np.nan
    assert split_offsets(scores, 80).item() == np.arange(1, 40, 2)[16]  # rank 17 of 20
    with pytest.raises(ValueError, match=r"requires at least 19 calibration windows .* got 10"):
        split_offsets(scores[:20], 95)


def test_split_offsets_have_their_coverage_on_exchangeable_scores():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(200):
        offset = split_offsets(rng.standard_exponential((50, 1, 1)), 80)
        covered.append((rng.standard_exponential(200) <= offset.item()).mean())
    assert np.mean(covered) == pytest.approx(np.ceil(51 * 0.8) / 51, abs=0.01)


def adapt(scores, level=80, rate=0.3):
    start = np.zeros(scores.shape[1:])
    times = np.arange(len(scores))
    return adaptive_offsets(scores, times, level, start, np.full(scores.shape[1:], rate))


def test_adaptive_coverage_converges_to_the_level_of_drifting_series():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 4, 2)) + np.linspace(0, 12, 3000)[:, None, None]
    offsets, end = adapt(scores)
    np.testing.assert_allclose((scores <= offsets).mean(axis=0), 0.8, atol=0.035)
    fixed = split_offsets(scores[:500], 80)
    assert (scores[500:] <= fixed).mean() < 0.2
    assert end.shape == (4, 2)


@given(seed=st.integers(0, 1000), changed=st.integers(0, 29), step=st.integers(0, 3))
def test_adaptive_offsets_use_no_outcome_before_it_is_known(seed, changed, step):
    scores = np.random.default_rng(seed).normal(size=(30, 4, 1))
    other = scores.copy()
    other[changed, step] += 100.0
    before, after = adapt(scores)[0], adapt(other)[0]
    known_from = changed + step + 1  # the first origin after the outcome
    np.testing.assert_array_equal(before[:known_from], after[:known_from])
    rest = [s for s in range(4) if s != step]
    np.testing.assert_array_equal(before[:, rest], after[:, rest])


@pytest.mark.parametrize("spacing", [1, 3, 24])
def test_adaptive_offsets_have_one_update_per_origin(spacing):
    times = 100 + spacing * np.arange(20)
    one = np.random.default_rng(0).normal(size=(20, 6, 1))
    start, size = np.ones((6, 1)), np.full((6, 1), 0.4)
    offsets, last = adaptive_offsets(one, times, 80, start, size)
    repeated, repeated_last = adaptive_offsets(
        one.repeat(50, axis=0), times.repeat(50), 80, start, size
    )
    np.testing.assert_allclose(repeated, offsets.repeat(50, axis=0))
    np.testing.assert_allclose(repeated_last, last)
    assert not np.allclose(offsets, start)


def test_unknown_outcomes_do_not_update_adaptive_offsets():
    scores = np.array([[2.0], [np.nan], [0.0], [np.nan], [np.nan], [0.0]])
    times = np.array([0, 0, 1, 2, 2, 3])
    offsets, end = adaptive_offsets(scores, times, 80, np.array([1.0]), np.array([1.0]))
    np.testing.assert_allclose(offsets[:, 0], [1.0, 1.0, 1.8, 1.6, 1.6, 1.6])
    assert end == pytest.approx(1.4)


def simulate(num_series, correlation, *, steps=1, drift=0.0, origins=60, later=400, seed=0):
    """Compare split and adaptive offsets on errors of series with common shocks.

    Returns:
        Shares covered, and the offsets by origin and step, of both.
    """
    rng = np.random.default_rng(seed)
    count = origins + later
    common = rng.normal(size=(count + steps, 1))
    errors = np.sqrt(correlation) * common
    errors = errors + np.sqrt(1 - correlation) * rng.normal(size=(count + steps, num_series))
    scores = np.abs(np.stack([errors[step : count + step] for step in range(steps)], axis=-1))
    scores *= 1 + drift * np.maximum(0, np.arange(count) - origins)[:, None, None] / later
    flat = scores.reshape(-1, steps)
    times, edge = np.arange(count).repeat(num_series), origins * num_series
    split = split_offsets(flat[:edge], 80)
    size = 2 / np.sqrt(origins) * np.quantile(flat[:edge], 0.9, axis=0)
    _, start = adaptive_offsets(flat[:edge], times[:edge], 80, split, size)
    widths, _ = adaptive_offsets(flat[edge:], times[edge:], 80, start, size)
    covered = (flat[edge:] <= split).mean(), (flat[edge:] <= widths).mean()
    return *covered, split, widths.reshape(later, num_series, steps)[:, 0]


@pytest.mark.parametrize("num_series", [1, 100, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("steps", [1, 24])
def test_adaptive_offsets_stay_close_to_split_offsets_for_any_number_of_series(
    num_series, correlation, steps
):
    runs = [simulate(num_series, correlation, steps=steps, seed=seed) for seed in range(3)]
    for _, covered, _, widths in runs:
        assert covered == pytest.approx(0.80, abs=0.015)
        assert widths.min() > 0.2  # never empty, and never far above 1.28
        assert widths.max() < 3.0
    mean, std = (np.mean([f(run[3]) for run in runs]) for f in (np.mean, np.std))
    assert mean == pytest.approx(1.28, abs=0.12)  # 0.8 quantile of |x|, x normal
    alike = num_series == 1 or correlation > 0  # one common shock per origin
    assert std < (0.35 if alike else 0.05)


@pytest.mark.parametrize("num_series", [1, 100, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_adaptive_offsets_keep_their_coverage_when_errors_grow(num_series, correlation):
    split, adaptive, _, _ = simulate(num_series, correlation, steps=3, drift=2.0)
    assert adaptive == pytest.approx(0.80, abs=0.04)
    assert split < 0.65


def test_the_step_size_is_smaller_for_outcomes_known_later():
    scores = np.ones((30, 9, 1))
    start, size = np.zeros((9, 1)), np.ones((9, 1))
    for spacing, delays in ((1, np.arange(1, 10)), (3, np.maximum(1, np.arange(1, 10) / 3))):
        _, end = adaptive_offsets(scores[:1], np.array([0]), 80, start, size)
        np.testing.assert_allclose(end, 0.8)  # one origin: its offset uses no outcome
        times = spacing * np.arange(2)
        _, end = adaptive_offsets(scores[:2], times, 80, start, size)
        first = 0.8 / np.sqrt(delays)
        known = np.arange(9) < spacing  # known at the second origin
        second = np.where(known & (first >= 1), -0.2, 0.8) / np.sqrt(delays)
        np.testing.assert_allclose(end[:, 0], first + second)


@pytest.mark.parametrize(
    ("times", "count"),
    [
        (np.arange(19), 1),
        (24 * np.arange(19), 19),
        (12 * np.arange(19), 10),
        (np.repeat([0, 24, 48, 72, 96], 4), 5),  # four series
        (np.array([0, 1, 23, 24, 47, 48]), 3),
        (np.array([], int), 0),
    ],
)
def test_count_effective_counts_overlapping_origins_once(times, count):
    assert count_effective(times, 24) == count


@pytest.mark.parametrize("level", [50, 80, 95])
def test_are_skewed_detects_skewed_errors_only(level):
    rng = np.random.default_rng(0)
    normal, skewed = rng.normal(size=(200, 400, 1)), rng.exponential(size=(200, 400, 1)) - 0.7

    def scores(errors):
        return conformity_scores(errors, 0.0, 0.0, 1.0)

    times = np.arange(200) * 400
    found = [are_skewed(scores(normal[:, [step]]), level, times) for step in range(400)]
    assert np.mean(found) < 0.08  # a t-test at 5 %, less often a large skew
    assert not are_skewed(scores(normal), level, times)
    assert are_skewed(scores(skewed), level, times)
    assert are_skewed(scores(-skewed), level, times)
    both = np.concatenate([skewed, -skewed], axis=-1)  # two channels, skewed in opposite directions
    assert are_skewed(scores(both), level, times)


@pytest.mark.parametrize(("series", "correlation", "origins"), [(1, 0.0, 60), (50, 0.9, 10)])
def test_dependent_symmetric_errors_are_seldom_skewed(series, correlation, origins):
    """Origins one step apart of one series, and common shocks of many series."""
    rng, horizon, found = np.random.default_rng(0), 6, 0
    step = 1 if series == 1 else horizon
    for _ in range(300):
        length = origins * step + horizon
        common, own = rng.normal(size=(1, length)), rng.normal(size=(series, length))
        noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
        times = np.tile(np.arange(origins) * step, series)
        errors = np.stack([noise[:, t : t + horizon] for t in range(0, origins * step, step)], 1)
        scores = conformity_scores(errors.reshape(-1, horizon, 1), 0.0, 0.0, 1.0)
        found += are_skewed(scores, 80, times)
    assert found / 300 < 0.15  # half of the runs, if each miss counts as independent
