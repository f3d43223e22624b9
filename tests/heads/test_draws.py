"""Draws, in the graph and in NumPy, have the distribution of their parameters, as SciPy has it."""

import functools

import numpy as np
import pytest
from keras import ops
from scipy import stats

from kerastrans import heads
from kerastrans.decoding.samplers import AncestralSampler
from kerastrans.heads import (
    MixtureHead,
    NegativeBinomialHead,
    NormalHead,
    QuantileHead,
    StudentTHead,
)
from kerastrans.utils.compilation import compile_function
from tests.conftest import to_numpy
from tests.heads.conftest import scipy_of

DRAWS = 100_000
LEVELS = (0.01, 0.1, 0.5, 0.9, 0.99)
QUICK = [(mean, alpha) for mean in (1e-2, 20.0, 1e6) for alpha in (1e-4, 1.0, 10.0)]
SLOW = [
    (mean, alpha)
    for mean in (1e-4, 1e-2, 0.3, 4.0, 20.0, 100.0, 1e3, 3e4, 1e6)
    for alpha in (1e-4, 0.1, 1.0, 5.0, 10.0)
    if (mean, alpha) not in QUICK
]
FREEDOMS = (4.5, 30.0, 1e4)
PEAKS = [
    (0.0, 1.0, 2.0, 1.0, 1.0, 1.0, *np.log([0.2, 0.3, 0.5])),
    (-50.0, 0.0, 1e3, 0.1, 5.0, 200.0, *np.log([0.05, 0.9, 0.05])),
]
CASES = [
    *[(NegativeBinomialHead(), case) for case in QUICK],
    *[pytest.param(NegativeBinomialHead(), case, marks=pytest.mark.slow) for case in SLOW],
    *[(NormalHead(), case) for case in ((0.0, 1.0), (1e4, 0.1), (-3.0, 1e5))],
    *[(StudentTHead(), (7.0, 2.0, freedom)) for freedom in FREEDOMS],
    *[(MixtureHead(3), case) for case in PEAKS],
    *[(heads.PoissonHead(), (mean,)) for mean in (0.01, 4.0, 900.0)],
    *[(heads.HurdleNegativeBinomialHead(), case) for case in ((899.0, 1e-3, 0.1), (3.0, 2.0, 0.6))],
    *[(heads.TweedieHead(), case) for case in ((90.0, 0.1), (1e4, 5.0), (1e-2, 40.0))],
]


@functools.cache
def compiled(kind):
    return compile_function(kind().draw, [])


@functools.cache
def normal_numbers(kind):
    """Those that ancestral sampling takes, for one step."""
    sampler = AncestralSampler(kind(), 1, 0, np.zeros((1, 1)))
    return sampler.draws(DRAWS, 1)[0][:, 0, 0]


def drawn_in_the_loop(head, parameters):
    each = np.broadcast_to(np.float32(parameters), (DRAWS, head.size))
    tensors = [ops.convert_to_tensor(x) for x in (each, normal_numbers(type(head)))]
    return to_numpy(compiled(type(head))(*tensors)).astype("float64")


def drawn_in_numpy(head, parameters):
    return head.sample(np.float32(parameters)[None], DRAWS, seed=0)[:, 0]


def name_of(value):
    return type(value).__name__ if isinstance(value, heads.Head) else None


def assert_expected(values, expectation):
    """Assert that the mean of independent values is as expected, within five standard errors."""
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - expectation) <= 5 * error + 1e-5 * abs(expectation)


@pytest.mark.parametrize("draw", [drawn_in_the_loop, drawn_in_numpy])
@pytest.mark.parametrize(("head", "parameters"), CASES, ids=name_of)
def test_draws_have_the_mean_variance_and_quantiles_of_scipy(draw, head, parameters):
    exact, drawn = scipy_of(head, np.float32(parameters)), draw(head, parameters)
    assert_expected(drawn, exact.mean())
    assert_expected((drawn - exact.mean()) ** 2, exact.var())
    for level in LEVELS:
        quantile = exact.ppf(level)
        share = exact.cdf(quantile)  # of counts, more than the level
        tolerance = 4.5 * np.sqrt(share * (1 - share) / DRAWS) + 1e-4
        assert abs((drawn <= quantile).mean() - share) <= tolerance
    if head.is_discrete:
        np.testing.assert_array_equal(drawn, np.floor(drawn))
        zero = exact.pmf(0)
        tolerance = 4.5 * np.sqrt(zero * (1 - zero) / DRAWS) + 1e-4
        assert abs((drawn == 0).mean() - zero) <= tolerance


@pytest.mark.parametrize(
    ("mean", "alpha", "zeros"), [(1000.0, 3.0, 0.07), (100.0, 5.0, 0.29), (20.0, 4.0, 0.33)]
)
def test_overdispersed_counts_keep_their_mean_and_share_of_zeros(mean, alpha, zeros):
    drawn = drawn_in_the_loop(NegativeBinomialHead(), (mean, alpha))
    assert drawn.mean() == pytest.approx(mean, rel=0.04)
    assert (drawn == 0).mean() == pytest.approx(zeros, abs=0.01)


@pytest.mark.parametrize("mean", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 100.0])
def test_extreme_normal_numbers_give_finite_counts(mean, alpha):
    head = NegativeBinomialHead()
    normals = np.stack([np.full(head.num_normals, x, "float32") for x in (-9, 9)])
    each = np.float32([[mean, alpha]] * 2)
    low, high = to_numpy(head.draw(*(ops.convert_to_tensor(x) for x in (each, normals))))
    assert 0 <= low <= high < np.inf


def test_moments_of_a_mixture_follow_from_its_components():
    exact = scipy_of(MixtureHead(3), PEAKS[0])
    parts = [stats.norm(mean, 1.0) for mean in (0.0, 1.0, 2.0)]
    second = sum(w * part.moment(2) for w, part in zip((0.2, 0.3, 0.5), parts, strict=True))
    assert exact.var() == pytest.approx(second - exact.mean() ** 2)
    assert exact.cdf(exact.ppf(0.3)) == pytest.approx(0.3)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.6])
@pytest.mark.parametrize("name", [x for x in heads.names() if x != "point"])
def test_correlated_numbers_give_draws_that_depend_as_those_of_a_gaussian_copula(name, correlation):
    head = heads.get(name)
    raw = ops.convert_to_tensor(np.linspace(2, 4, head.size, dtype="float32")[None, None, None])
    normals = np.random.default_rng(0).standard_normal((20_000, head.num_normals, 2))
    normals = normals @ np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]]).T
    parameters = np.broadcast_to(to_numpy(head(raw))[0, 0, 0], (len(normals), head.size))
    exact = head.inverse_cdf(parameters[:, None].astype("float64"), stats.norm.cdf(normals[:, 0]))
    tensors = [ops.convert_to_tensor(x.astype("float32")) for x in (parameters, *normals.T)]
    drawn = [to_numpy(head.draw(tensors[0], ops.transpose(x))) for x in tensors[1:]]
    found, expected = (stats.spearmanr(*x).statistic for x in (drawn, exact.T))
    assert found == pytest.approx(expected, abs=0.03 + 0.12 * abs(expected))


def test_draws_of_quantiles_are_interpolated_on_the_scale_of_a_normal_distribution():
    head, normal = QuantileHead([0.1, 0.5, 0.9]), stats.norm(3, 2)
    levels = np.array([[0.01], [0.1], [0.25], [0.5], [0.9], [0.99]])
    parameters = np.broadcast_to(normal.ppf([0.1, 0.5, 0.9]).astype("float32"), (6, 3))
    normals = stats.norm.ppf(levels).astype("float32")
    drawn = to_numpy(head.draw(*(ops.convert_to_tensor(x) for x in (parameters, normals))))
    np.testing.assert_allclose(drawn, normal.ppf(levels[:, 0]), rtol=1e-4)
    one = ops.ones((1, 1))
    with pytest.raises(ValueError, match="two"):
        QuantileHead([0.5]).draw(one, one)
