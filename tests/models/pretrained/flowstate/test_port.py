"""What parity does not show of FlowState."""

import keras
import numpy as np
import pytest

from kerastrans.layers.recurrent.state_space import recurrence
from kerastrans.models import pretrained
from kerastrans.models.pretrained.flowstate import port as flowstate
from kerastrans.models.pretrained.keyed import KeyedLayers
from tests.helpers import cases
from tests.helpers.checkpoints import FLOWSTATE as CONFIG
from tests.helpers.checkpoints import random_flowstate

pytestmark = pytest.mark.slow  # what all ports share is tested with the others

LEVELS = CONFIG["quantiles"]


@pytest.fixture
def model():
    return random_flowstate()


@pytest.fixture
def series():
    values = np.random.default_rng(0).normal(size=(3, 35)).cumsum(axis=1)
    values += np.array([[0], [20], [-3]])
    values[1, 20:25] = np.nan
    return values.astype("float32")


def forecast(model, series, steps):
    return [result["quantiles"] for result in model.forecast(series, steps, LEVELS)]


@pytest.mark.slow
def test_the_functional_model_forecasts_the_same_and_reloads(model, series, tmp_path):
    built = model.build(35, 6, num_channels=3)
    outputs = keras.ops.convert_to_numpy(built(series.T[None]))[0]
    wanted = forecast(model, [series], 6)[0].transpose(1, 0, 2)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-4, atol=1e-5)
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    reloaded = keras.ops.convert_to_numpy(loaded(series.T[None]))[0]
    np.testing.assert_allclose(reloaded, outputs, rtol=1e-6)


def test_version_1_1_has_its_published_size_and_reloads(series, tmp_path):
    sizes = {"embedding_feature_dim": 512, "encoder_num_layers": 6, "encoder_state_dim": 512}
    sizes |= {"decoder_dim": 256, "quantiles": [k / 10 for k in range(1, 10)]}
    config = {**CONFIG, **sizes, "mlp_type": "transformer", "out_gating": True}
    stack = flowstate.FlowStateStack(KeyedLayers(flowstate.KINDS), config)
    model = flowstate.FlowState(stack, config, 1.0)
    assert round(model.network.count_params() / 1e6, 1) == 18.5
    small = pretrained.load(cases.ROOT / "flowstate-r1.1").build(35, 6, num_channels=3)
    small.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    outputs, expected = (keras.ops.convert_to_numpy(x(series.T[None])) for x in (loaded, small))
    np.testing.assert_allclose(outputs, expected, rtol=1e-6)


def test_a_short_neighbour_changes_nothing(model, series):
    """What a short history is filled up with leaves no trace; what is missing is read as such."""
    together = forecast(model, [series[0], series[1, 15:]], 4)
    alone = forecast(model, [series[1, 15:]], 4)[0]
    np.testing.assert_allclose(together[1], alone, rtol=1e-4, atol=1e-5)
    missing = np.concatenate([np.full(15, np.nan), series[1, 15:]])
    assert np.abs(forecast(model, [missing], 4)[0] - alone).max() > 1e-3


def test_of_a_long_series_the_last_part_counts(model, series):
    values = np.concatenate([series[0], series[2]])
    wanted = forecast(model, [values[-40:]], 4)[0]
    np.testing.assert_allclose(forecast(model, [values], 4)[0], wanted, rtol=1e-5)


def test_a_horizon_one_short_of_whole_patches_is_whole(model, series):
    """The reference returns a patch less."""
    found, longer = (forecast(model, [series[0]], steps)[0] for steps in (7, 8))
    assert found.shape == (1, 7, 3)
    np.testing.assert_allclose(found[:, :4], longer[:, :4], rtol=1e-4, atol=1e-5)


def test_a_smaller_scale_looks_further_with_the_same_weights(model):
    slower = model.with_options(scale_factor=0.5)
    assert (slower.patch_length, slower.max_context) == (8, 80)
    assert slower.network.layers[1].kernel is model.network.layers[1].kernel


def test_the_point_forecast_is_what_the_configuration_says(model, series):
    quantiles = np.array([[1.0, 2.0, 6.0]])
    np.testing.assert_allclose(model.point(quantiles), [(0.1 + 1.0 + 0.6) / 0.7])
    median = flowstate.FlowState(model.stack, {**CONFIG, "prediction_type": "median"}, 1.0)
    np.testing.assert_allclose(median.point(quantiles), [2])


def test_the_recurrence_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(2, 75, 3, 2)).astype("float32")  # three chunks
    decay, angle = np.array([-0.01, -0.2, -1]), np.array([0.3, -2, 0])
    found = recurrence(
        inputs[..., 0], inputs[..., 1], *(x.astype("float32") for x in (decay, angle))
    )
    found = keras.ops.convert_to_numpy(found[0]) + 1j * keras.ops.convert_to_numpy(found[1])
    state = np.zeros((2, 3))
    for step in range(75):
        state = np.exp(decay + 1j * angle) * state + inputs[:, step] @ [1, 1j]
        np.testing.assert_allclose(found[:, step], state, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("switch", "value"),
    [("mlp_type", "linear"), ("out_gating", "yes"), ("decoder_type", "four")],
)
def test_a_switch_that_is_not_built_is_named(switch, value):
    with pytest.raises(ValueError, match=switch):
        flowstate.load({**CONFIG, switch: value}, {})


def test_what_does_not_fit_is_named(model):
    with pytest.raises(ValueError, match="'decoder_dim'"):
        flowstate.load({key: CONFIG[key] for key in CONFIG.keys() - {"decoder_dim"}}, {})
    with pytest.raises(ValueError, match=r"lacks 'model\.decoder\.lin\.bias'"):
        flowstate.load(CONFIG, {})
    with pytest.raises(ValueError, match="scale_factor must be at most decoder_patch_len=4, got 5"):
        model.with_options(scale_factor=5)
    for value in ("daily", float("nan"), 0):
        with pytest.raises(ValueError, match="scale_factor must be"):
            model.with_options(scale_factor=value)
    with pytest.raises(ValueError, match="prediction_length must be at most patch and context=43"):
        model.build(10, 44)
