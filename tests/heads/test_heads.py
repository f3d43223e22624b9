"""Heads against SciPy's distributions, the CRPS against its integral, quantiles in order."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops
from scipy import integrate, special, stats

from kerastrans import heads
from kerastrans.heads import (
    CRPS,
    MixtureHead,
    NegativeBinomialHead,
    NegativeLogLikelihood,
    NormalHead,
    Pinball,
    PointError,
    PointHead,
    QuantileHead,
    StudentTHead,
)
from tests.conftest import to_numpy

DISTRIBUTIONS = ["normal", "student_t", "negative_binomial", "mixture"]
LEVELS = (0.05, 0.3, 0.5, 0.9)


def raw(size, seed=0, batch=4, steps=5, channels=3):
    return (
        np.random.default_rng(seed).normal(size=(batch, steps * size, channels)).astype("float32")
    )


def parameters_of(head, seed=0):
    return to_numpy(head(raw(head.size, seed), prediction_length=5))


def evaluate(function, *arrays):
    """A function of tensors on arrays."""
    return to_numpy(function(*(ops.convert_to_tensor(x, dtype="float32") for x in arrays)))


def scipy_of(head, parameters):
    """The same distribution in SciPy."""
    p = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
    if isinstance(head, NormalHead):
        return stats.norm(p[0], p[1])
    if isinstance(head, StudentTHead):
        return stats.t(p[2], p[0], p[1])
    return stats.nbinom(1 / p[1], 1 / (1 + p[0] * p[1]))


def targets_for(head, shape, seed=1):
    values = np.random.default_rng(seed).normal(size=shape) * 2
    return np.round(np.abs(values)) if isinstance(head, NegativeBinomialHead) else values


@pytest.mark.parametrize("name", ["normal", "student_t", "negative_binomial"])
def test_log_likelihood_quantiles_and_cdf_are_scipys(name):
    head = heads.get(name)
    parameters = parameters_of(head)
    targets = targets_for(head, parameters.shape[:-1])
    known = scipy_of(head, parameters)
    log = known.logpmf if name == "negative_binomial" else known.logpdf
    ours = evaluate(head.log_prob, parameters, targets)
    np.testing.assert_allclose(ours, log(targets), rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(head.cdf(parameters, targets), known.cdf(targets), atol=1e-5)
    np.testing.assert_allclose(head.point(parameters), known.mean(), rtol=1e-4)
    quantiles = head.quantile(parameters, LEVELS)
    for i, level in enumerate(LEVELS):
        np.testing.assert_allclose(quantiles[..., i], known.ppf(level), rtol=1e-3, atol=1e-4)


def log_density(head, parameters, targets):
    """SciPy's, in float64."""
    if not isinstance(head, MixtureHead):
        known = scipy_of(head, parameters)
        return (known.logpmf if isinstance(head, NegativeBinomialHead) else known.logpdf)(targets)
    means, stds, log_weights = np.split(parameters, 3, axis=-1)
    each = log_weights + stats.norm(means, stds).logpdf(targets[..., None])
    return special.logsumexp(each, axis=-1)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_gradient_of_the_likelihood_is_the_difference_quotient_of_scipys(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :2, :2].astype("float64")
    targets = targets_for(head, parameters.shape[:-1])
    # The parameters are the weights of a layer: one step of SGD shows their gradient.
    layer = keras.layers.Dense(parameters.size, use_bias=False)
    inputs = keras.Input((1,))
    model = keras.Model(inputs, ops.reshape(layer(inputs), (-1, *parameters.shape[1:])))
    before = parameters.reshape(1, -1)
    layer.set_weights([before])
    rate = 1e-2
    model.compile(keras.optimizers.SGD(rate), head.loss())
    model.train_on_batch(np.ones((1, 1), "float32"), targets.astype("float32"))
    gradient = (before - layer.get_weights()[0])[0] / rate
    for i in range(parameters.size):
        step = np.zeros_like(before)
        step[0, i] = 1e-5
        up, down = ((before + s).reshape(parameters.shape) for s in (step, -step))
        difference = log_density(head, up, targets) - log_density(head, down, targets)
        wanted = -difference.mean() / 2e-5
        np.testing.assert_allclose(gradient[i], wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["normal", "mixture"])
def test_crps_is_its_integral_and_the_estimate_from_samples(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :1]  # (1, 1, 3, size)
    targets = np.array([[[-1.0, 0.3, 2.0]]])
    ours = evaluate(head.crps, parameters, targets)
    samples = head.sample(parameters, 20_000, seed=0)
    for c in range(3):
        one, y = parameters[0, 0, c].astype("float64"), targets[0, 0, c]
        left = integrate.quad(lambda x, p=one: head.cdf(p, x) ** 2, -60, y, limit=200)[0]
        right = integrate.quad(lambda x, p=one: (1 - head.cdf(p, x)) ** 2, y, 60, limit=200)[0]
        np.testing.assert_allclose(ours[0, 0, c], left + right, rtol=1e-3)
        drawn = samples[:, 0, 0, c]
        estimate = np.abs(drawn - y).mean() - 0.5 * np.abs(drawn - np.roll(drawn, 1)).mean()
        np.testing.assert_allclose(ours[0, 0, c], estimate, rtol=0.05)
    loss = float(to_numpy(CRPS(head)(targets.astype("float32"), parameters)))
    np.testing.assert_allclose(loss, ours.mean(), rtol=1e-5)


def test_twice_the_pinball_loss_of_many_quantiles_is_the_crps():
    normal = NormalHead()
    parameters = np.array([[[[0.5, 2.0]]]], "float32")
    levels = (np.arange(400) + 0.5) / 400
    quantiles = normal.quantile(parameters, levels).astype("float32")
    target = np.array([[[1.7]]], "float32")
    crps = evaluate(normal.crps, parameters, target).item()
    assert 2 * float(to_numpy(Pinball(levels)(target, quantiles))) == pytest.approx(crps, rel=1e-3)


@given(
    levels=st.lists(st.integers(1, 99), min_size=1, max_size=9, unique=True),
    seed=st.integers(0, 1000),
    size=st.floats(0.0, 30.0),
)
def test_quantiles_never_cross(levels, seed, size):
    head = QuantileHead(sorted(level / 100 for level in levels))
    statistics = np.array([[[5.0, -5.0, 0.0], [1e-3, 1.0, 1e3]]], "float32")
    values = to_numpy(
        head(raw(head.size, seed, 1) * size, prediction_length=5, statistics=statistics)
    )
    assert (np.diff(values, axis=-1) >= 0).all()
    if 0.5 in head.levels:
        np.testing.assert_array_equal(head.point(values), values[..., head.middle])


def test_quantile_head_reads_between_its_levels_and_refuses_beyond():
    head = QuantileHead((0.1, 0.5, 0.9))
    parameters = np.array([[0.0, 2.0, 3.0]])
    np.testing.assert_allclose(head.quantile(parameters, (0.1, 0.3, 0.7)), [[0.0, 1.0, 2.5]])
    np.testing.assert_allclose(head.cdf(parameters, np.array([1.0])), [0.3])
    np.testing.assert_allclose(head.cdf(parameters, np.array([-1.0])), [0.0])
    np.testing.assert_allclose(head.cdf(parameters, np.array([9.0])), [1.0])
    with pytest.raises(ValueError, match=r"quantiles from 0\.1 to 0\.9, asked for 0\.95"):
        head.quantile(parameters, 0.95)


@pytest.mark.parametrize("name", ["quantiles", "normal", "student_t", "mixture"])
def test_statistics_and_rescale_move_and_stretch_the_forecast(name):
    head = heads.get(name)
    statistics = np.tile(np.array([[[7.0], [3.0]]], "float32"), (4, 1, 3))
    plain = parameters_of(head)
    moved = to_numpy(head(raw(head.size), prediction_length=5, statistics=statistics))
    again = head.rescale(plain, np.float64([[[7.0]]]), np.float64([[[3.0]]]))
    np.testing.assert_allclose(moved, again, rtol=1e-4, atol=1e-4)
    levels = (0.1, 0.5, 0.9)
    np.testing.assert_allclose(
        head.quantile(moved, levels), 7 + 3 * head.quantile(plain, levels), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["quantiles", *DISTRIBUTIONS])
def test_samples_have_the_forecasts_quantiles(name):
    head = heads.get(name)
    parameters = parameters_of(head)[:1, :1, :1]
    drawn = head.sample(parameters, 20_000, seed=0)[:, 0, 0, 0]
    assert drawn.shape == (20_000,)
    wanted = head.quantile(parameters, (0.1, 0.5, 0.9))[0, 0, 0]
    spread = wanted[2] - wanted[0]
    tolerance = 1 if name == "negative_binomial" else 0.05 * spread
    np.testing.assert_allclose(np.quantile(drawn, (0.1, 0.5, 0.9)), wanted, atol=tolerance)
    np.testing.assert_array_equal(drawn, head.sample(parameters, 20_000, seed=0)[:, 0, 0, 0])


@pytest.mark.parametrize("error", ["mae", "mse", "huber"])
def test_missing_targets_have_no_error(error):
    rng = np.random.default_rng(0)
    targets, forecasts = rng.normal(size=(2, 3, 4, 2)).astype("float32")
    known = rng.uniform(size=targets.shape) < 0.6
    loss = PointError(error)
    with_gaps = float(to_numpy(loss(np.where(known, targets, np.nan), forecasts)))
    difference = (targets - forecasts)[known].astype("float64")
    wanted = {
        "mae": np.abs(difference),
        "mse": difference**2,
        "huber": np.where(np.abs(difference) < 1, difference**2 / 2, np.abs(difference) - 0.5),
    }[error].mean()
    assert with_gaps == pytest.approx(wanted, rel=1e-5)
    assert float(to_numpy(loss(np.full_like(targets, np.nan), forecasts))) == 0.0


@pytest.mark.parametrize("name", ["quantiles", *DISTRIBUTIONS])
def test_a_gap_leaves_the_gradient_finite(name):
    head = heads.get(name)
    inputs = keras.Input((6, 1))
    x = keras.layers.Dense(2 * head.size)(keras.layers.Flatten()(inputs))
    model = keras.Model(inputs, head(ops.reshape(x, (-1, 2 * head.size, 1)), prediction_length=2))
    model.compile("sgd", head.loss())
    targets = np.array([[[1.0], [np.nan]], [[np.nan], [np.nan]]], "float32")
    model.train_on_batch(np.ones((2, 6, 1), "float32"), targets)
    assert all(np.isfinite(w).all() for w in model.get_weights())


@pytest.mark.parametrize("name", ["point", "quantiles", *DISTRIBUTIONS])
def test_heads_and_losses_reload(name):
    head = heads.get(name)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head))
    assert (type(again), again.size) == (type(head), head.size)
    loss = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head.loss()))
    assert type(loss) is type(head.loss())
    assert heads.get(head) is not head  # one of its own for every model


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: heads.get("normale"), "unknown head 'normale': did you mean 'normal'"),
        (lambda: QuantileHead([0.5, 0.1]), "levels must increase"),
        (lambda: QuantileHead([0.0, 0.5]), "levels must increase and lie in"),
        (lambda: MixtureHead(0), "components must be an integer of at least 1"),
        (lambda: PointHead("mea"), "loss must be one of"),
        (lambda: CRPS(StudentTHead()), "StudentTHead has no closed form"),
        (lambda: NegativeLogLikelihood(QuantileHead()), "QuantileHead has no likelihood"),
        (lambda: PointHead().quantile(np.zeros(3), 0.5), "a point forecast has no quantiles"),
        (lambda: NormalHead().sample(np.ones((1, 2)), 0), "num_samples must be an integer"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
