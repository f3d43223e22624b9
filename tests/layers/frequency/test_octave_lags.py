import numpy as np
import pytest
from keras import ops

from kerastrans.layers import LagChanges, OctaveLags, SamePhase
from kerastrans.layers.frequency import octave_lags
from tests.conftest import to_numpy

RNG = np.random.default_rng(0)


def correlation(values, observed, lag, paired):
    """The closed form: less its line, over the pairs that are there, by the mean square."""
    time = np.arange(len(values))
    seen = observed > 0
    line = np.polyfit(time[seen], values[seen], 1)
    x = (values - np.polyval(line, time)) * observed
    both = seen[lag:] & seen[:-lag]
    later, earlier = x[lag:][both], x[:-lag][both]
    power = np.square(x[seen]).mean()
    if paired:
        power = np.square([later, earlier]).mean() + 0.001 * power
    return (later * earlier).mean() / power


@pytest.mark.parametrize("paired", [False, True])
def test_autocorrelation_equals_its_formula(paired):
    observed = (RNG.random((3, 50)) > 0.2).astype("float32")
    values = RNG.normal(size=(3, 50)).astype("float32").cumsum(axis=1) * observed
    lags, correlations, usable = (
        to_numpy(x) for x in OctaveLags(4, paired=paired)(values, observed)
    )
    assert usable.all()
    for row, series in enumerate(zip(values, observed, strict=True)):
        expected = [correlation(*series, int(lag), paired) for lag in lags[row]]
        np.testing.assert_allclose(correlations[row], np.clip(expected, -1, 1), atol=1e-4)


@pytest.mark.parametrize(("length", "max_lag"), [(1, 1), (7, 16), (100, 64), (1024, 512)])
def test_sums_of_lagged_products_are_those_of_every_pair(length, max_lag):
    series, factors = RNG.normal(size=(2, 2, length)).astype("float32"), [(0, 0), (0, 1)]
    tensor = ops.convert_to_tensor(series)
    found = to_numpy(octave_lags._sum_lagged_products(tensor, factors, max_lag))
    long = np.pad(series.astype("float64"), [(0, 0), (0, 0), (0, max_lag)]).swapaxes(0, 1)
    size, lags = length + max_lag, np.arange(max_lag + 1)
    for number, (x, y) in enumerate((long[i], long[j]) for i, j in factors):
        expected = [
            (x[:, lag:] * y[:, : size - lag] + y[:, lag:] * x[:, : size - lag]).sum(axis=1) / 2
            for lag in lags
        ]
        np.testing.assert_allclose(found[:, number], np.transpose(expected), atol=1e-6 * length)


def test_tables_of_waves_are_small(monkeypatch):
    sizes, waves = [], octave_lags._waves

    def counted(rows, columns, period, dtype):
        sizes.append(2 * rows * columns)
        return waves(rows, columns, period, dtype)

    monkeypatch.setattr(octave_lags, "_waves", counted)
    OctaveLags(9)(np.ones((1, 1024), "float32"), np.ones((1, 1024), "float32"))
    assert 4 * max(sizes) <= 16_384  # bytes, which an exported file repeats in each of four calls


@pytest.mark.parametrize("period", [3, 7, 12, 24, 50])
def test_season_is_found_despite_trend_and_noise(period):
    random, time = np.random.default_rng(0), np.arange(200)
    values = np.sin(2 * np.pi * time / period) + 0.1 * random.normal(size=200) + 0.02 * time
    lags = to_numpy(OctaveLags(6)(values[None].astype("float32"), np.ones((1, 200)))[0])
    assert period in lags[0]


def test_a_season_of_few_cycles_with_gaps_is_found_by_the_power_of_its_pairs():
    random, count, time = np.random.default_rng(1), 200, np.arange(100)
    periods = random.integers(33, 50, size=count)
    phases = random.uniform(0, 2 * np.pi, size=(count, 1))
    values = np.sin(2 * np.pi * time / periods[:, None] + phases)
    values = values + 0.2 * random.normal(size=values.shape)
    starts = random.integers(0, 91, size=(count, 2, 1))
    observed = 1.0 - ((time >= starts) & (time < starts + 10)).any(axis=1)
    series = [x.astype("float32") for x in (values * observed, observed)]
    shares = {}
    for paired in (False, True):
        lags = to_numpy(OctaveLags(6, paired=paired)(*series)[0])[:, 5]
        shares[paired] = np.mean(np.abs(lags - periods) <= 1)
    assert shares[True] > 0.8 > 0.7 > shares[False]


def test_each_octave_has_one_lag_and_too_long_lags_are_unusable():
    values = RNG.normal(size=(1, 12)).astype("float32")
    lags, correlations, usable = (to_numpy(x)[0] for x in OctaveLags(5)(values, np.ones((1, 12))))
    assert ((lags >= 2 ** np.arange(5)) & (lags < 2 ** np.arange(1, 6))).all()
    np.testing.assert_array_equal(usable[[0, 1, 2, 4]], [1, 1, 1, 0])
    assert correlations[4] == 0


@pytest.mark.parametrize("length", [2, 4, 10, 40, 64])
def test_the_end_of_a_series_has_its_lags_if_all_before_is_missing(length):
    values = np.random.default_rng(0).normal(size=(20, length)).astype("float32").cumsum(axis=1)
    padding = [(0, 0), (200 - length, 0)]
    long = OctaveLags(6)(np.pad(values, padding), np.pad(np.ones_like(values), padding))
    short = OctaveLags(6, trend_length=200)(values, np.ones_like(values))
    usable = to_numpy(long[2])
    np.testing.assert_array_equal(to_numpy(short[2]), usable)
    np.testing.assert_array_equal(to_numpy(short[0]) * usable, to_numpy(long[0]) * usable)
    np.testing.assert_allclose(to_numpy(short[1]), to_numpy(long[1]), atol=1e-4)


@pytest.mark.parametrize(("length", "longest"), [(4, 2), (5, 3), (10, 6), (11, 7)])
def test_a_lag_has_at_least_half_as_many_pairs(length, longest):
    values = RNG.normal(size=(200, length)).astype("float32")  # also lags with one pair too few
    lags, _, usable = (to_numpy(x) for x in OctaveLags(3)(values, np.ones_like(values)))
    assert (lags * usable).max() == longest


def test_change_requires_both_values():
    values = np.array([[5.0, 0.0, 7.0, 4.0]], "float32")
    observed = np.array([[1.0, 0.0, 1.0, 1.0]], "float32")
    lags = np.array([[1.0, 2.0]])
    changes, paired = (to_numpy(x)[0] for x in LagChanges(3)(values, observed, lags))
    np.testing.assert_array_equal(changes, [[0, 0, -3], [0, 2, 0]])
    np.testing.assert_array_equal(paired, [[0, 0, 1], [0, 1, 0]])


def test_same_phase_returns_the_values_at_multiples_of_the_lag():
    length, lag = 30, 7
    values = np.arange(length, dtype="float32")[None]
    steps = np.array([[1, 7, 8, 20]], "float32")
    found = SamePhase(5)(values, np.ones((1, length)), np.array([[lag]]), steps)
    past, seen = (to_numpy(x)[0, :, 0] for x in found)
    for row, step in enumerate(steps[0].astype(int)):
        expected = [x for x in range(length)[::-1] if (length - 1 + step - x) % lag == 0][:5]
        np.testing.assert_array_equal(past[row][: len(expected)], expected)
        np.testing.assert_array_equal(seen[row], np.arange(5) < len(expected))


def test_as_many_steps_as_cycles_have_the_places_of_single_steps():
    layer, lags, steps = SamePhase(3), np.array([[1.0, 2.0]]), np.array([[1.0, 2.0, 3.0]])
    each = [to_numpy(layer.places(lags, steps[:, [i]])) for i in range(3)]
    np.testing.assert_array_equal(to_numpy(layer.places(lags, steps)), np.concatenate(each, axis=1))


@pytest.mark.parametrize(
    "layer", [OctaveLags(4), OctaveLags(4, 9, True), LagChanges(5), SamePhase(2)]
)
def test_layers_reload_from_their_configs(layer):
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


@pytest.mark.parametrize("kind", [OctaveLags, LagChanges, SamePhase])
def test_sizes_below_one_are_refused(kind):
    with pytest.raises(ValueError, match="0"):
        kind(0)
