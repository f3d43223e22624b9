import keras
import numpy as np
import pytest

from kerastrans import heads
from kerastrans.models import pretrained
from kerastrans.models.pretrained.chronos import bolt_port as chronos_bolt
from tests.helpers.checkpoints import CHRONOS_BOLT, changed, random_tensors, write

LONG, SHORT = 3 * 40, 5  # steps: past the context, and about one patch
HORIZON = 15  # past twice the native one


@pytest.fixture(scope="module")
def model():
    return chronos_bolt.load(CHRONOS_BOLT, weights(CHRONOS_BOLT))


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(1)
    values = [rng.normal(3, 2, length).cumsum() for length in (LONG, 33, SHORT)]
    values[1][[0, 7, 8, 32]] = np.nan
    return values


def weights(config):
    return random_tensors(chronos_bolt.build_network(config)[1])


def assert_close(one, other):
    for x, y in zip(one, other, strict=True):
        for key in x:
            np.testing.assert_allclose(x[key], y[key], rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_functional_model_is_what_forecast_runs(model, series, tmp_path):
    functional = model.build(33, HORIZON, num_channels=2)
    history = np.stack([series[1], series[0][-33:]], axis=-1)[None].astype("float32")
    expected = model.forecast([history[0].T], HORIZON, model.levels)[0]["quantiles"]
    quantiles = keras.ops.convert_to_numpy(functional(history))
    np.testing.assert_allclose(quantiles[0].swapaxes(0, 1), expected, rtol=1e-4, atol=1e-4)
    assert heads.of(functional).levels == model.levels

    functional.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(history), quantiles, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_forecast_does_not_depend_on_its_neighbours(model, series):
    together = model.forecast(series, HORIZON)
    alone = [model.forecast([values], HORIZON)[0] for values in series]
    assert_close(together, alone)


def test_of_a_long_series_the_last_part_counts(model, series):
    last = series[0][-model.max_context :]
    assert_close(model.forecast([series[0]], HORIZON), model.forecast([last], HORIZON))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_variates_are_forecast_one_by_one(model, series):
    both = np.stack([series[0], series[0][::-1]])
    one, other = (model.forecast([row], HORIZON)[0] for row in both)
    joined = {key: np.concatenate([one[key], other[key]]) for key in one}
    assert_close(model.forecast([both], HORIZON), [joined])


def test_the_mean_is_the_median_and_levels_keep_their_order(model, series):
    found = model.forecast(series, 6, [0.9, 0.5])[0]
    np.testing.assert_array_equal(found["mean"], found["quantiles"][..., 1])
    turned = model.forecast(series, 6, [0.5, 0.9])[0]["quantiles"][..., ::-1]
    np.testing.assert_array_equal(turned, found["quantiles"])


def test_quantiles_off_the_trained_grid_are_sorted(model):
    quantiles = np.array([[3.0, 1.0, 2.0]])
    found = model.at_levels(quantiles, (0.05, 0.5, 0.99))
    # The five values 1, 2, 3, 3, 2 in order are 1, 2, 2, 3, 3.
    np.testing.assert_allclose(found, [[1.2, 2.0, 3.0]])
    np.testing.assert_allclose(model.at_levels(quantiles, (0.1, 0.9)), [[3.0, 2.0]])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_without_the_reg_token(series):
    config = changed(CHRONOS_BOLT, use_reg_token=False)
    model = chronos_bolt.load(config, weights(config))
    found = model.forecast([*series, np.full(9, np.nan)], HORIZON)
    assert all(np.isfinite(x["quantiles"]).all() for x in found)


def test_weights_can_be_trained(model, series):
    functional = model.build(8, 6)
    trained = {id(variable) for variable in functional.trainable_variables}
    assert trained == {id(variable) for variable in model.network.trainable_variables}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input_patch_stride", 2),
        ("is_gated_act", True),
        ("feed_forward_proj", "gated-gelu"),
        ("dense_act_fn", "swish"),
        ("decoder_start_token_id", 2),
        ("use_reg_token", "yes"),
        ("dropout_rate", 1.5),
    ],
)
def test_a_switch_that_is_not_built_is_named(tmp_path, name, value):
    folder = write(tmp_path, changed(CHRONOS_BOLT, **{name: value}), weights(CHRONOS_BOLT))
    with pytest.raises(ValueError, match=name):
        pretrained.load(folder)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"series": []}, "at least one series, got none"),
        ({"series": [np.ones(3), np.empty(0)]}, "series 1"),
        ({"series": [[1.0, np.inf]]}, "infinite"),
        ({"series": [np.ones((1, 1, 3))]}, "shape"),
        ({"prediction_length": 0}, "prediction_length"),
        ({"quantile_levels": [0.5, 1.0]}, "levels"),
        ({"past_covariates": [{"a": np.ones(3)}]}, "past_covariates"),
        ({"future_covariates": [{"a": np.ones(6)}]}, "future_covariates"),
        ({"cross_learning": True}, "cross_learning"),
    ],
)
def test_bad_input_is_one_clear_line(model, given, message):
    arguments = {"series": [np.arange(3.0)], "prediction_length": 6, **given}
    with pytest.raises(ValueError, match=message) as caught:
        model.forecast(**arguments)
    assert "\n" not in str(caught.value)
