import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.forecasting.conformal import (
    ConformalIntervals,
    adaptive_offsets,
    conformity_scores,
    split_offsets,
)


def test_scores_say_how_far_outside():
    scores = conformity_scores(np.array([0.0, 2.0, 5.0]), 1.0, 3.0, 2.0)
    np.testing.assert_allclose(scores, [0.5, -0.5, 1.0])


@given(count=st.integers(4, 60), level=st.integers(1, 79), seed=st.integers(0, 50))
def test_split_offset_is_the_rank_that_covers_one_more_as_often_as_promised(count, level, seed):
    scores = np.random.default_rng(seed).normal(size=(count, 2, 1))
    found = split_offsets(scores, level)
    rank = int(np.ceil((count + 1) * level / 100))
    np.testing.assert_array_equal(found, np.sort(scores, axis=0)[rank - 1])
    assert (scores <= found).mean() >= level / 100


def test_split_leaves_out_what_is_missing_and_refuses_too_few():
    scores = np.arange(40.0).reshape(40, 1, 1)
    scores[::2] = np.nan
    assert split_offsets(scores, 80).item() == np.arange(1, 40, 2)[16]  # rank 17 of 20
    with pytest.raises(ValueError, match=r"95 % needs at least 19 calibration windows .* got 10"):
        split_offsets(scores[:20], 95)


def test_split_covers_what_it_promises_on_exchangeable_scores():
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


def test_adaptive_coverage_tends_to_the_level_though_the_series_drifts():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 4, 2)) + np.linspace(0, 30, 3000)[:, None, None]
    offsets, end = adapt(scores)
    np.testing.assert_allclose((scores <= offsets).mean(axis=0), 0.8, atol=0.035)
    fixed = split_offsets(scores[:500], 80)
    assert (scores[500:] <= fixed).mean() < 0.2
    assert end.shape == (4, 2)


@given(seed=st.integers(0, 1000), changed=st.integers(0, 29), step=st.integers(0, 3))
def test_no_width_knows_an_outcome_before_its_time(seed, changed, step):
    scores = np.random.default_rng(seed).normal(size=(30, 4, 1))
    other = scores.copy()
    other[changed, step] += 100.0
    before, after = adapt(scores)[0], adapt(other)[0]
    known_from = changed + step + 1  # the origin at which the outcome lies in the past
    np.testing.assert_array_equal(before[:known_from], after[:known_from])
    rest = [s for s in range(4) if s != step]
    np.testing.assert_array_equal(before[:, rest], after[:, rest])


def test_intervals_follow_and_are_kept():
    rng = np.random.default_rng(0)
    scores = {80: rng.normal(size=(60, 3, 1)), 95: rng.normal(size=(60, 3, 1))}
    split = ConformalIntervals.fit(scores, np.arange(60))
    widths, same = split.follow(scores, np.arange(60, 120))
    np.testing.assert_array_equal(widths[80][7], split.offsets[80])
    assert same is split
    adaptive = ConformalIntervals.fit(scores, np.arange(60), "adaptive")
    new = {level: score + 5.0 for level, score in scores.items()}
    widths, later = adaptive.follow(new, np.arange(60, 120))
    assert (widths[80][-1] > adaptive.offsets[80]).all()
    again = ConformalIntervals.from_dict(later.to_dict())
    assert again.method == "adaptive"
    for level in (80, 95):
        np.testing.assert_array_equal(again.offsets[level], later.offsets[level])
        np.testing.assert_array_equal(again.step_size[level], later.step_size[level])
    with pytest.raises(ValueError, match="method must be one of 'split', 'adaptive', got 'online'"):
        ConformalIntervals.fit(scores, np.arange(60), "online")
