import numpy as np
import pytest
from scipy import stats

from kerastrans import heads
from kerastrans.heads.bounded import Bounded, check_bounds

PARAMETERS = {
    "normal": [[1.0, 2.0], [-3.0, 0.5], [30.0, 1.0]],
    "student_t": [[1.0, 2.0, 5.0], [-3.0, 0.5, 4.0], [30.0, 1.0, 6.0]],
    "negative_binomial": [[4.0, 0.5], [0.2, 2.0], [30.0, 0.1]],
    "tweedie": [[4.0, 2.0], [0.3, 0.5], [30.0, 1.0]],
}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("bounds", [(0.0, None), (None, 5.0), (0.5, 4.0)])
def test_a_mean_is_that_of_the_bounded_distribution(name, bounds):
    bounded = Bounded(heads.get(name), *bounds)
    parameters = np.array(PARAMETERS[name])
    drawn = bounded.sample(parameters, 200_000, seed=0)
    assert drawn.min() >= (-np.inf if bounds[0] is None else bounds[0])
    assert drawn.max() <= (np.inf if bounds[1] is None else bounds[1])
    error = 4 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-6
    assert (np.abs(bounded.point(parameters) - drawn.mean(axis=0)) < error).all()


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_bound_that_is_not_known_is_none(name):
    head, parameters = heads.get(name), np.array(PARAMETERS[name])
    bounded = Bounded(head, np.array([np.nan, 1.0, np.nan]), np.array([np.nan, np.nan, 25.0]))
    expected = [
        Bounded(head, low, high).point(parameters[[i]])[0]
        for i, (low, high) in enumerate([(None, None), (1.0, None), (None, 25.0)])
    ]
    np.testing.assert_allclose(bounded.point(parameters), expected)


def test_the_bounded_mean_of_a_normal_is_its_closed_form():
    parameters = np.array([[m, s] for m in (-2.0, 0.0, 3.0) for s in (0.1, 1.0, 10.0)])
    mean, deviation = parameters.T
    z = mean / deviation
    expected = mean * stats.norm.cdf(z) + deviation * stats.norm.pdf(z)
    found = Bounded(heads.get("normal"), 0.0, None).point(parameters)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("head", "parameters", "bounds", "mean"),
    [
        (heads.MixtureHead(3), [0, 5, 9, 1, 2, 0.3, *np.log([0.2, 0.5, 0.3])], (None, 4), 3.002202),
        (
            heads.MixtureHead(3),
            [0, 5, 9, 1, 2, 0.3, *np.log([0.2, 0.5, 0.3])],
            (2.5, 6.5),
            4.869821,
        ),
        (heads.TweedieHead(), [4, 0.5], (2.5, 6.5), 3.524015),  # the integral of 1 - cdf
    ],
)
def test_steps_of_quantile_functions_cost_no_accuracy(head, parameters, bounds, mean):
    low, high = (None if x is None else np.array(float(x)) for x in bounds)
    point = Bounded(head, low, high).point(np.array([parameters], "float64"))
    assert point.item() == pytest.approx(mean, abs=1e-6)


def test_what_is_inside_stays_and_what_is_outside_lies_at_the_bound():
    head = heads.QuantileHead((0.1, 0.5, 0.9))
    bounded = Bounded(head, 0.0, 10.0)
    parameters = np.array([[-4.0, 2.0, 12.0], [-5.0, -4.0, -1.0]])
    np.testing.assert_array_equal(
        bounded.quantile(parameters, [0.1, 0.5, 0.9]), [[0, 2, 10], [0, 0, 0]]
    )
    np.testing.assert_array_equal(bounded.point(parameters), [2, 0])
    np.testing.assert_array_equal(bounded.outputs(parameters)["quantiles"][0], [0, 2, 10])
    assert bounded.cdf(parameters, np.array([-1.0, 10.0])).tolist() == [0.0, 1.0]
    assert bounded.cdf(parameters, np.array([2.0, -1e-9])).tolist() == [0.5, 0.0]
    samples = Bounded(heads.Samples(), 0.0, None)
    assert samples.point(np.array([[-3.0, 1.0, 2.0]])).item() == 1.0  # of 0, 1 and 2


@pytest.mark.parametrize(
    "bounds",
    [0, (0,), (1, 0), (0, 0), (0, np.inf), ("", None), ("low", "low"), (True, None), (np.nan, 1)],
)
def test_other_bounds_are_refused(bounds):
    with pytest.raises(ValueError, match="bounds must be"):
        check_bounds(bounds)
    assert check_bounds((None, None)) is None
