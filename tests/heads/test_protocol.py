"""One protocol for every head and for samples, and how a model's head is found."""

import inspect
import json
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest

from kerastrans import heads
from kerastrans.heads import (
    MixtureHead,
    NegativeBinomialHead,
    NormalHead,
    PointHead,
    QuantileHead,
    Samples,
)
from tests.conftest import to_numpy
from tests.heads.conftest import STEPS, parameters_of

CHANGED = {
    "point": PointHead("huber"),
    "quantiles": QuantileHead((0.1, 0.3, 0.6)),
    "mixture": MixtureHead(2),
}
MADE = [CHANGED.get(name) or heads.get(name) for name in heads.names()]


def kind(head):
    return type(head).__name__


def forecast_of(head):
    """Parameters as the head reads them, and their shape without the last axis."""
    if isinstance(head, PointHead):
        parameters = np.random.default_rng(0).normal(size=(4, STEPS, 3)).astype("float32")
        return parameters, parameters.shape
    if isinstance(head, Samples):
        parameters = np.random.default_rng(0).gamma(1.0, size=(4, STEPS, 3, 101))
    else:
        parameters = parameters_of(head)
    return parameters, parameters.shape[:-1]


@pytest.mark.parametrize("head", [*MADE, Samples()], ids=kind)
def test_point_forecast_is_equal_inside_and_outside_the_graph(head):
    parameters, shape = forecast_of(head)
    point = head.point(parameters)
    assert point.shape == shape
    exported = head.outputs(parameters)
    np.testing.assert_allclose(to_numpy(exported["forecast"]), point, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("head", [PointHead(), *MADE[1:], Samples()], ids=kind)
def test_point_equals_median_exactly_if_the_head_says_so(head):
    parameters, shape = forecast_of(head)
    median = head.median(parameters)
    assert median.shape == shape
    if head.has_parameter_axis:
        np.testing.assert_allclose(
            median, head.quantile(parameters, 0.5)[..., 0], rtol=1e-6, atol=1e-7
        )
    is_point = np.allclose(median, head.point(parameters), rtol=1e-5, atol=1e-5)
    assert is_point == head.point_is_median


@pytest.mark.parametrize("head", [*MADE[1:], Samples()], ids=kind)
def test_samples_are_seeded_and_have_the_forecasts_shape(head):
    parameters, shape = forecast_of(head)
    drawn = head.sample(parameters, 7, seed=1)
    assert drawn.shape == (7, *shape)
    np.testing.assert_array_equal(drawn, head.sample(parameters, 7, seed=1))
    assert (drawn != head.sample(parameters, 7, seed=2)).any()
    with pytest.raises(ValueError, match="num_samples must be an integer of at least 1, got 0"):
        head.sample(parameters, 0)


@pytest.mark.parametrize("head", [*MADE, Samples()], ids=kind)
def test_shift_and_rescale_transform_the_point_forecast(head):
    parameters, shape = forecast_of(head)
    point = head.point(parameters)
    amount = np.linspace(-1, 1, shape[-1], dtype="float32") * np.ones(shape, "float32")
    dtype = str(parameters.dtype)
    tensors = (keras.ops.convert_to_tensor(x, dtype) for x in (parameters, amount))
    moved = head.point(to_numpy(head.shift(*tensors)))
    if isinstance(head, heads.CountHead):
        first = parameters[..., 0] * np.exp(amount)
        shifted = np.concatenate([first[..., None], parameters[..., 1:]], axis=-1)
        np.testing.assert_allclose(moved, head.point(shifted), rtol=1e-5)
        with pytest.raises(ValueError, match="counts cannot be rescaled"):
            head.rescale(parameters, amount, amount)
    else:
        np.testing.assert_allclose(moved, point + amount, rtol=1e-4, atol=1e-5)
        again = head.point(head.rescale(parameters, amount, 2 + amount))
        np.testing.assert_allclose(again, point * (2 + amount) + amount, rtol=1e-4, atol=1e-5)


def test_samples_define_the_empirical_distribution():
    drawn = np.array([[4.0, 1.0, 2.0, 9.0]])
    samples = Samples()
    np.testing.assert_array_equal(samples.point(drawn), [4.0])
    np.testing.assert_array_equal(samples.median(drawn), [3.0])
    asked = samples.quantile(drawn, [0.01, 0.2, 0.4, 0.5, 0.6, 0.8, 0.99])
    np.testing.assert_allclose(asked, [[1.0, 1.0, 2.0, 3.0, 4.0, 9.0, 9.0]])
    np.testing.assert_array_equal(samples.cdf(drawn, np.array([2.0])), [0.5])
    again = samples.sample(drawn, 4000, seed=0)[:, 0]
    np.testing.assert_allclose([(again == x).mean() for x in drawn[0]], 0.25, atol=0.03)


@pytest.mark.parametrize("percent", [50, 80, 95])
def test_intervals_of_samples_have_nominal_coverage(percent):
    rng = np.random.default_rng(0)
    outcomes, drawn = rng.normal(size=40_000), rng.normal(size=(40_000, 100))
    tails = (1 - percent / 100) / 2
    low, high = Samples().quantile(drawn, (tails, 1 - tails)).T
    covered = ((low <= outcomes) & (outcomes <= high)).mean()
    assert 100 * covered == pytest.approx(percent, abs=0.5)  # 93.4 for 95 by other definitions


def test_only_count_heads_have_a_lower_bound_and_require_unscaled_windows():
    readers = [*MADE, Samples(), Samples(NegativeBinomialHead()), Samples(NormalHead())]
    for reader in readers:
        is_count = isinstance(reader, heads.CountHead) or reader is readers[-2]
        assert reader.lower_bound == (0.0 if is_count else None)
        assert reader.takes_scaled_windows == (not is_count)


def test_interval_levels_of_each_head():
    assert PointHead().interval_levels == ()
    assert {head.interval_levels for head in (*MADE[2:], Samples())} == {None}


@pytest.mark.parametrize("loss", ["mae", "mse", "huber"])
def test_point_is_a_median_if_the_loss_is_the_absolute_error(loss):
    head = PointHead(loss)
    parameters = np.ones((2, 3))
    assert head.point_is_median == (loss == "mae")
    if head.point_is_median:
        np.testing.assert_array_equal(head.median(parameters), parameters)
    else:
        with pytest.raises(ValueError, match=f'a point trained with "{loss}" is not a median'):
            head.median(parameters)
    for method in (head.quantile, head.cdf, head.sample):
        with pytest.raises(ValueError, match="a point forecast has no quantiles"):
            method(parameters, 0.5)


@pytest.mark.parametrize("head", MADE, ids=kind)
def test_head_and_loss_reload_unchanged(head):
    as_json = json.loads(json.dumps(keras.saving.serialize_keras_object(head)))
    again = keras.saving.deserialize_keras_object(as_json)
    copy = heads.get(head)  # one of its own for every model
    assert copy is not head
    for other in (again, copy):
        assert type(other) is type(head)
        assert other.size == head.size
        assert other.get_config() == head.get_config()
    loss = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(head.loss()))
    assert type(loss) is type(head.loss())
    head.check_loss(loss)


def test_every_public_head_has_a_name_unless_it_is_a_base_or_wraps_given_quantiles():
    found = [getattr(heads, name) for name in heads.__all__]
    public = {x for x in found if inspect.isclass(x) and issubclass(x, heads.Head)}
    public -= {heads.Head, heads.CountHead, heads.GivenQuantiles}
    assert {type(heads.get(name)) for name in heads.names()} == public == {type(x) for x in MADE}


@pytest.mark.parametrize("name", heads.names())
def test_the_head_of_a_nested_model_is_found(name):
    head = heads.get(name)
    inputs = keras.Input((STEPS, 2))
    x = keras.layers.Dense(2 * head.size)(inputs)
    inner = keras.Model(inputs, head.forecast(x, STEPS))
    features = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    outer = keras.Model(inputs, inner(features(inputs)))
    assert heads.of(keras.Sequential([outer])) is head
    assert heads.of(features).loss().error == "mae"  # no head: points


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: heads.get("normale"), "unknown head 'normale': did you mean 'normal'"),
        (lambda: heads.get(3), "unknown head 3: known are point, quantiles"),
        (lambda: MixtureHead(0), "components must be an integer of at least 1"),
        (lambda: PointHead("mea"), "loss must be one of 'mae', .*, 'mase', got 'mea'"),
    ],
)
def test_invalid_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_scipy_is_imported_on_first_use():
    # Keras imports scikit-learn where it is installed, and that SciPy: it is hidden here.
    code = """
        import sys
        sys.modules["sklearn"] = None
        import kerastrans.heads
        print([name in sys.modules for name in ("scipy.special", "scipy.stats")])
    """
    shown = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "[False, False]"
