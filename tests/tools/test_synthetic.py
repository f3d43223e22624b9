import numpy as np
import pytest

from tools.presets import synthetic
from tools.presets.synthetic import GENERATORS, synthetic_series


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_decides_and_nothing_is_infinite(name):
    make = GENERATORS[name]
    one, again, other = (
        make(np.random.default_rng(seed), 6, 80, np.full(6, 40)) for seed in (0, 0, 1)
    )
    assert one.shape == (6, 80)
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert (one.std(axis=1) > 0).any()


def test_all_generators_have_equal_shares(monkeypatch):
    makers = {
        name: lambda rng, count, length, spans, number=number: np.full((count, length), number)
        for number, name in enumerate(GENERATORS)
    }
    monkeypatch.setattr(synthetic, "GENERATORS", makers)
    kinds = synthetic_series(60, 4, seed=0)[:, 0].astype(int)
    np.testing.assert_array_equal(np.bincount(kinds), [10] * 6)
    assert (np.diff(kinds) < 0).any()  # in a random order


def test_counts_are_whole_and_not_negative():
    made = synthetic.counts_and_spikes(np.random.default_rng(0), 60, 50, np.full(60, 50))
    is_count = (made == np.round(made)).all(axis=1)
    assert 30 <= is_count.sum() < 60
    assert made[is_count].min() >= 0


def test_a_trend_is_seen_in_its_span():
    """The same share of a short span and of a long one is above the remainder."""
    rng = np.random.default_rng(0)
    from tools.presets.synthetic import line

    short, long = line(rng, 400, 20, np.full(400, 20)), line(rng, 400, 500, np.full(400, 500))
    ranges = [np.median(np.ptp(x, axis=1)) for x in (short, long)]
    assert ranges[0] == pytest.approx(ranges[1], rel=0.25)


def test_sizes_below_one_are_refused():
    with pytest.raises(ValueError, match="count"):
        synthetic_series(0, 10)
