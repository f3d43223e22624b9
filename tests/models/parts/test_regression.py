import keras
import numpy as np
import pytest

from kerastrans import heads, zoo
from kerastrans.models.parts.regression import covariate_inputs, regress
from tests.conftest import to_numpy

SIZES = {"past": (0, 3), "future": (0, 4), "static": (5,)}


def example(seed=0, batch=3):
    rng = np.random.default_rng(seed)

    def columns(sizes, *shape):
        each = [rng.integers(0, size, shape) if size else rng.normal(size=shape) for size in sizes]
        return np.stack(each, axis=-1).astype("float32")

    return {
        "history": rng.normal(size=(batch, 16, 2)).astype("float32"),
        "past_covariates": columns(SIZES["past"], batch, 16),
        "future_covariates": columns(SIZES["future"], batch, 20),
        "static_covariates": columns(SIZES["static"], batch),
    }


@pytest.mark.parametrize("head", [None, "quantiles", "normal", "negative_binomial"])
def test_untrained_it_forecasts_as_the_model_without(head):
    model = zoo.build("nlinear", 16, 4, 2, head=head)
    inputs = example()
    with_covariates = regress(model, SIZES)
    np.testing.assert_allclose(
        to_numpy(with_covariates(inputs)), to_numpy(model(inputs["history"])), rtol=1e-4, atol=1e-5
    )
    assert heads.of(with_covariates) is heads.of(model)


@pytest.mark.slow
def test_it_learns_what_a_covariate_does_and_the_rest_stays_with_the_model():
    rng = np.random.default_rng(0)
    promotion = (rng.uniform(size=(512, 20, 1)) < 0.3).astype("float32")
    level = rng.normal(size=(512, 1, 1))
    values = (level + 3 * promotion).astype("float32")
    inputs = {"history": values[:, :16], "future_covariates": promotion}
    keras.utils.set_random_seed(0)
    model = regress(zoo.build("nlinear", 16, 4, 1), {"future": (0,)})
    model.compile(keras.optimizers.Adam(0.02), "mse")
    model.fit(inputs, values[:, 16:], epochs=20, batch_size=64, verbose=0)
    assert model.evaluate(inputs, values[:, 16:], verbose=0) < 0.05  # 1.9 without the promotion


def test_the_effect_on_counts_is_a_factor_in_the_history_too():
    """It was subtracted from the history, and multiplied the forecast."""
    model = zoo.build("nlinear", 16, 4, 2, head="negative_binomial")
    with_covariates = regress(model, {"future": (0,)})
    last = with_covariates.get_layer("future_effect")
    last.kernel.assign(np.random.default_rng(1).normal(size=last.kernel.shape) / 4)
    effect = keras.Model(with_covariates.input["future_covariates"], last.output)
    rng = np.random.default_rng(0)
    covariates = rng.normal(size=(3, 20, 1)).astype("float32")
    factor = np.exp(to_numpy(effect(covariates)))
    base = rng.poisson(9.0, size=(3, 16, 2)).astype("float32")
    inputs = {"history": base * factor[:, :16], "future_covariates": covariates}
    mean, alpha = np.moveaxis(to_numpy(with_covariates(inputs)), -1, 0)
    expected, same = np.moveaxis(to_numpy(model(base)), -1, 0)
    np.testing.assert_allclose(mean, expected * factor[:, 16:], rtol=1e-4)
    np.testing.assert_allclose(alpha, same, rtol=1e-4)


def test_each_step_sees_its_own_future_covariates():
    keras.utils.set_random_seed(0)
    model = regress(zoo.build("nlinear", 16, 4, 2), SIZES)
    weights = model.get_layer("future_effect").kernel
    weights.assign(np.random.default_rng(0).normal(size=weights.shape))
    inputs = example()
    before = to_numpy(model(inputs))
    inputs["future_covariates"][:, 18, 0] += 5.0  # the third step of the horizon
    moved = np.abs(to_numpy(model(inputs)) - before).max(axis=(0, 2)) > 1e-6
    np.testing.assert_array_equal(moved, [False, False, True, False])


def test_it_reloads():
    model = regress(zoo.build("dlinear", 16, 4, 2, head="normal"), SIZES)
    again = type(model).from_config(model.get_config())
    again.set_weights(model.get_weights())
    inputs = example()
    np.testing.assert_allclose(to_numpy(again(inputs)), to_numpy(model(inputs)), rtol=1e-6)


def test_other_kinds_are_refused():
    with pytest.raises(ValueError, match=r"covariates are .*, got \['weather'\]"):
        covariate_inputs(16, 4, {"weather": (0,)})
