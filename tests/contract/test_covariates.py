"""Every architecture that has a place for covariates itself."""

import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.testing import check_model
from tests.conftest import to_numpy
from tests.helpers.architectures import (
    CHANNELS,
    CONTEXT,
    HORIZON,
    SMALL,
    all_in_slow_tier,
    build,
)

# TFT and DeepAR are the slow ones, and have tests of their own.
NATIVE = [name for name in zoo.names("future covariates") if name not in ("tft", "deepar")]
# Which have one on request.
OPTIONAL = {name: {"covariate_tokens": True} for name in ("itransformer", "patchtst")}
PATCHES = {"patch_length": 2, "stride": 2}
ALL = {"past": (0, 3), "future": (0, 2), "static": (4, 0)}


def inputs_for(sizes, num_channels=CHANNELS, batch=3):
    rng = np.random.default_rng(0)
    steps = {"past": (CONTEXT,), "future": (CONTEXT + HORIZON,), "static": ()}
    history = rng.normal(size=(batch, CONTEXT, num_channels)).astype("float32")
    covariates = {
        f"{kind}_covariates": rng.integers(0, 2, (batch, *steps[kind], len(sizes[kind])))
        for kind in sizes
    }
    return {"history": history, **{k: x.astype("float32") for k, x in covariates.items()}}


@pytest.mark.parametrize("name", [*NATIVE, *OPTIONAL])
def test_all_kinds_change_the_forecast_and_no_regression_is_around_it(name):
    model = build(name, covariates=ALL, **OPTIONAL.get(name, {}))
    assert "future_effect" not in [layer.name for layer in model.layers]
    inputs = {key: np.repeat(x[:1], 4, axis=0) for key, x in inputs_for(ALL).items()}
    assert {tensor.name for tensor in model.inputs} == inputs.keys()
    inputs["past_covariates"][1, 0] += 1  # the oldest step
    inputs["future_covariates"][2, -1] -= 1  # the last to come
    inputs["static_covariates"][3] += 1
    forecasts = to_numpy(model(inputs))
    assert (np.abs(forecasts[1:] - forecasts[0]).max(axis=(1, 2)) > 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", NATIVE)
def test_each_kind_alone_for_one_series(name, kind):
    sizes = {kind: ALL[kind]}
    forecast = to_numpy(build(name, num_channels=1, covariates=sizes)(inputs_for(sizes, 1)))
    assert forecast.shape == (3, HORIZON, 1)
    assert np.isfinite(forecast).all()


@pytest.mark.parametrize("name", all_in_slow_tier(NATIVE))
def test_the_contract_of_a_model_with_covariates(name):
    check_model(name, CONTEXT, HORIZON, CHANNELS, covariates=ALL, **SMALL[name], skip=("training",))


def promoted(count, seed):
    """Windows of two channels: a promotion adds 3 to one, and 30 % to the other."""
    rng = np.random.default_rng(seed)
    promotion = (rng.uniform(size=(count, 20, 1)) < 0.3).astype("float32")
    level = rng.uniform(5, 15, (count, 1, 2))
    effect = np.concatenate([np.full((count, 1, 1), 3), 0.3 * level[..., 1:]], axis=-1)
    values = level + effect * promotion
    values = (values + 0.1 * rng.normal(size=values.shape)).astype("float32")
    return {"history": values[:, :16], "future_covariates": promotion}, values[:, 16:]


@pytest.mark.parametrize("name", all_in_slow_tier([*NATIVE, *OPTIONAL]))
def test_a_promotion_is_forecast_in_units_and_as_a_share(name):
    """Who knows the promotions' past alone has a mean absolute error of at least .9 in both."""
    options = SMALL[name] | OPTIONAL.get(name, {})
    options |= {"timexer": {"patch_length": 4}, "patchtst": PATCHES}.get(name, {})
    keras.utils.set_random_seed(0)
    model = zoo.build(name, 16, 4, 2, covariates={"future": (0,)}, **options)
    model.compile(keras.optimizers.Adam(0.005), "mae")
    model.fit(*promoted(1024, 0), epochs=15, batch_size=32, verbose=0)
    inputs, targets = promoted(256, 1)
    errors = np.abs(model.predict(inputs, verbose=0) - targets).mean(axis=(0, 1))
    assert (errors < 0.4).all(), errors
