"""Conformal intervals: coverage of both bounds, groups, updates and files."""

import json

import numpy as np
import pytest

from kerastrans.forecasting.conformal import ConformalIntervals, conformity_scores


def of_errors(errors, levels=(80,)):
    """Return the scores of a point forecast with these errors `(windows, steps, channels)`."""
    scores = conformity_scores(errors, 0.0, 0.0, 1.0)
    return dict.fromkeys(levels, scores)


def tails(errors, widths):
    """Return the shares of errors below and above an interval with these offsets."""
    return (errors < -widths[..., 0]).mean(), (errors > widths[..., 1]).mean()


@pytest.mark.parametrize("method", ["split", "adaptive"])
@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_of_skewed_errors_are_quantiles_of_their_level(method, sign):
    errors = sign * (np.random.default_rng(0).exponential(size=(6000, 3, 1)) - np.log(2))
    past, future = errors[:2000], errors[2000:]
    intervals = ConformalIntervals.fit(of_errors(past), np.arange(2000), method)
    assert intervals.symmetric == {80: False}
    widths, _ = intervals.follow(of_errors(future), np.arange(2000, 6000))
    below, above = tails(future, widths[80])
    assert 0.08 <= below <= 0.12
    assert 0.08 <= above <= 0.12
    alike = ConformalIntervals.fit(of_errors(past), np.arange(2000), method, symmetric=True)
    shares = tails(future, alike.follow(of_errors(future), np.arange(2000, 6000))[0][80])
    assert sum(shares) == pytest.approx(0.2, abs=0.02)
    assert max(shares) > 0.15  # nearly all on one side
    np.testing.assert_array_equal(alike.offsets[80][..., 0], alike.offsets[80][..., 1])


def test_each_bound_has_its_coverage_with_few_exchangeable_errors():
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        past, future = rng.exponential(size=(2, 39, 40, 1))
        intervals = ConformalIntervals.fit(of_errors(past), np.arange(39), symmetric=False)
        found.append(tails(future, intervals.offsets[80]))
    np.testing.assert_allclose(np.mean(found, axis=0), 1 - np.ceil(40 * 0.9) / 40, atol=0.002)


def test_symmetry_is_chosen_for_each_level_by_skew_and_number_of_windows():
    errors = np.random.default_rng(0).exponential(size=(38, 20, 1))
    times = 20 * np.arange(38)  # forecasts of 20 steps do not overlap
    intervals = ConformalIntervals.fit(of_errors(errors, (80, 95)), times)
    assert intervals.symmetric == {
        80: False,
        95: True,
    }  # 95 % requires 39 windows, or 19 if symmetric
    overlapping = ConformalIntervals.fit(of_errors(errors, (80,)), np.arange(38))
    assert overlapping.symmetric == {80: True}  # two origins do not overlap, and 9 are required
    with pytest.raises(ValueError, match=r"asymmetric interval of 95 % requires .* 39 .* got 38"):
        ConformalIntervals.fit(of_errors(errors, (95,)), np.arange(38), symmetric=False)
    with pytest.raises(ValueError, match=r"interval of 95 % requires at least 19 .* got 18"):
        ConformalIntervals.fit(of_errors(errors[:18], (95,)), np.arange(18))
    fair = np.random.default_rng(0).normal(size=(100, 20, 1))
    assert ConformalIntervals.fit(of_errors(fair), np.arange(100)).symmetric == {80: True}


@pytest.mark.parametrize("method", ["split", "adaptive"])
def test_groups_have_separate_offsets_and_unknown_groups_those_of_all_series(method):
    rng = np.random.default_rng(0)
    times, groups = np.arange(4000).repeat(2), np.tile(np.array(["quiet", "noisy"], object), 4000)
    errors = rng.normal(size=(8000, 2, 1)) * np.where(groups == "quiet", 1, 10)[:, None, None]
    past, future = errors[:4000], errors[4000:]
    arguments = {"by": "kind", "groups": groups[:4000]}
    intervals = ConformalIntervals.fit(of_errors(past), times[:4000], method, **arguments)
    assert list(intervals.groups) == ["noisy", "quiet"]
    unknown = np.where(np.arange(4000) < 4, None, groups[4000:])
    widths, later = intervals.follow(of_errors(future), times[4000:], unknown)
    inside = (future >= -widths[80][..., 0]) & (future <= widths[80][..., 1])
    for name in ("quiet", "noisy"):
        assert inside[unknown == name].mean() == pytest.approx(0.8, abs=0.04)
    np.testing.assert_array_equal(widths[80][0], intervals.offsets[80])
    moved = later.groups["quiet"].offsets[80] != intervals.groups["quiet"].offsets[80]
    assert moved.any() == (method == "adaptive")
    now = intervals.widths([80], np.array(["quiet", None, "new"], object))[80]
    np.testing.assert_array_equal(now[0], intervals.groups["quiet"].offsets[80])
    np.testing.assert_array_equal(now[1:], np.stack([intervals.offsets[80]] * 2))


def test_a_group_with_too_few_windows_is_refused_by_name():
    groups = np.array(["a"] * 30 + ["b"] * 3, object)
    scores = of_errors(np.random.default_rng(0).normal(size=(33, 1, 1)))
    with pytest.raises(ValueError, match=r"group 'b' of by='region': .* 80 % .* at least 4 .* 3"):
        ConformalIntervals.fit(scores, np.arange(33), by="region", groups=groups)


@pytest.mark.parametrize("method", ["split", "adaptive"])
def test_intervals_with_groups_survive_a_json_round_trip(method):
    rng = np.random.default_rng(0)
    errors, groups = rng.exponential(size=(60, 3, 1)), np.tile(np.array(["a", "b"], object), 30)
    scores = of_errors(errors, (80, 92.5))
    arguments = {"by": "unique_id", "groups": groups}
    intervals = ConformalIntervals.fit(scores, np.arange(60) // 2, method, **arguments)
    again = ConformalIntervals.from_dict(json.loads(json.dumps(intervals.to_dict())))
    assert again.to_dict() == intervals.to_dict()
    assert (again.by, again.symmetric) == (intervals.by, intervals.symmetric)
    assert again.effective_origins == intervals.effective_origins == 10
    then = np.arange(60) // 2 + 30
    one, other = (x.follow(scores, then, groups) for x in (intervals, again))
    for level in (80, 92.5):
        np.testing.assert_array_equal(one[0][level], other[0][level])
        np.testing.assert_array_equal(again.offsets[level], intervals.offsets[level])
    assert one[1].to_dict() == other[1].to_dict()
    moved = one[1].groups["a"].offsets[80] != intervals.groups["a"].offsets[80]
    assert moved.any() == (method == "adaptive")


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'split', 'adaptive', got 'online'"):
        ConformalIntervals.fit(of_errors(np.zeros((60, 3, 1))), np.arange(60), "online")


def test_overlapping_origins_are_counted_once_and_too_few_are_warned_about():
    errors = np.random.default_rng(0).normal(size=(76, 24, 1))  # four series, 19 origins
    times = np.arange(19).repeat(4)
    few = ConformalIntervals.fit(of_errors(errors, (80, 95)), times)
    with pytest.warns(UserWarning, match=r"95 % requires 19 .* that do not overlap, got 1:"):
        few.warn_if_few_origins()
    enough = ConformalIntervals.fit(of_errors(errors, (80, 95)), 24 * times)
    assert enough.effective_origins == 19
    enough.warn_if_few_origins()
    groups = np.tile(np.array(["a", "b", "b", "b"], object), 19)
    errors[(groups == "a") & (times > 9)] = np.nan  # its outcomes are unknown
    parts = ConformalIntervals.fit(of_errors(errors), 12 * times, by="x", groups=groups)
    assert parts.groups["a"].effective_origins == 5
    assert parts.groups["b"].effective_origins == parts.effective_origins == 10
