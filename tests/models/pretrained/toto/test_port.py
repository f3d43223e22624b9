"""What parity does not show of Toto 2.0."""

import keras
import numpy as np
import pytest

from kerastrans.models.pretrained.toto import port as toto
from kerastrans.models.pretrained.toto.scaling import filled_to_the_end, patch_scales
from tests.helpers.checkpoints import TOTO as CONFIG
from tests.helpers.checkpoints import random_toto

pytestmark = pytest.mark.slow  # what all ports share is tested with the others


@pytest.fixture
def model():
    return random_toto()


@pytest.fixture
def series():
    values = np.random.default_rng(0).normal(size=(3, 34)).cumsum(axis=1)
    values += np.array([[0], [20], [-3]])
    values[1, 20:25] = np.nan
    return values.astype("float32")


def forecast(model, series, steps, **options):
    return [result["quantiles"] for result in model.forecast(series, steps, **options)]


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_the_functional_model_forecasts_the_same_and_reloads(model, series, tmp_path):
    """As it is long, 9 patches, and filled up to 11: xPos measures from a middle that moves."""
    model = model.with_options(block_length=4)
    built = model.build(34, 6, num_channels=2, covariates={"future": (0,)})
    ahead = np.arange(6, dtype="float32")
    inputs = {
        "history": series[None, :2].transpose(0, 2, 1),
        "future_covariates": np.concatenate([series[2], ahead])[None, :, None],
    }
    outputs = keras.ops.convert_to_numpy(built(inputs))[0]
    covariates = {"past_covariates": [{"a": series[2]}], "future_covariates": [{"a": ahead}]}
    close(outputs, forecast(model, [series[:2]], 6, **covariates)[0].transpose(1, 0, 2))
    built.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loaded(inputs))[0], outputs, rtol=1e-6)


def test_neighbours_change_nothing(model, series):
    together = forecast(model, [series[0], series[2], series[1, :9]], 4)
    close(together[0], forecast(model, [series[0]], 4)[0])


def test_variates_inform_each_other_and_series_do_not(model, series):
    alone = forecast(model, [*series[[0, 2]]], 4)
    joint = forecast(model, [series[[0, 2]]], 4)[0]
    assert np.abs(joint - np.concatenate(alone)).max() > 1e-3
    close(np.concatenate(forecast(model, [*series[[0, 2]]], 4, cross_learning=True)), joint)


def test_quantiles_increase_and_are_bounded(model, series):
    quantiles = forecast(model.with_options(limit=1e-6), [series[0]], 12)[0]
    assert (np.diff(quantiles) >= 0).all()
    assert quantiles.min() > series[0].min() - 1e-3
    assert quantiles.max() < series[0].max() + 1e-3


def test_a_level_far_off_changes_little(model, series):
    """In float32 too, which holds no square of such a level."""
    row = np.round(series[2] * 16) / 16
    shifted = forecast(model, [row + 4096], 4)[0] - 4096
    np.testing.assert_allclose(shifted, forecast(model, [row], 4)[0], atol=1e-3)


def test_scales_are_those_of_each_prefix():
    values = np.random.default_rng(0).normal(size=(1, 2, 12)) * [[1], [100]] + 7
    observed = np.ones((1, 2, 12))
    observed[0, 0, 3:6] = observed[0, 1, :5] = 0
    found = [keras.ops.convert_to_numpy(x) for x in patch_scales(values, observed, 4)]
    for variate in range(2):
        for patch in range(3):
            seen = values[0, variate, : 4 * patch + 4][observed[0, variate, : 4 * patch + 4] > 0]
            wanted = (seen.mean(), max(seen.std(ddof=1), 1e-6)) if len(seen) else (0, 1e-6)
            close([x[0, variate, patch] for x in found], wanted)
    mean, _ = patch_scales(values, observed, 4, min_observed=6)
    first = values[0, 1, 5:11].mean()
    close(keras.ops.convert_to_numpy(mean)[0, 1], [first, first, values[0, 1, 5:].mean()])


def test_the_end_is_filled_with_the_last_value():
    values = np.array([[[0, 5, 0, 0, 6, 0.0]], [[0, 0, 0, 0, 6, 0]]])
    found = filled_to_the_end(values, (values > 0).astype("float64"), 3)
    wanted = [[[0, 5, 0, 5, 6, 6]], [[0, 0, 0, 0, 6, 6]]]
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(found), wanted)


@pytest.mark.parametrize(
    ("switch", "value"),
    [
        ("qk_norm", True),
        ("num_output_patches", 2),
        ("num_layers", 3),
        ("num_heads", 0),
        ("qk_dim", 6),
        ("num_groups", 3),
    ],
)
def test_a_configuration_that_is_not_built_is_named(switch, value):
    with pytest.raises(ValueError, match=switch):
        toto.read({**CONFIG, switch: value})


def test_what_does_not_fit_is_named(model, series):
    with pytest.raises(ValueError, match=r"lacks 'output_head\.param_projection"):
        toto.load(CONFIG, {})
    with pytest.raises(ValueError, match="patch_size must divide block_length=6"):
        model.with_options(block_length=6)
    for option in ("limit", "min_observed"):
        with pytest.raises(ValueError, match=f"{option} must be a number of at least 0, got -1"):
            model.with_options(**{option: -1})
    with pytest.raises(ValueError, match="positions=8192"):
        model.build(32_768, 4)
    with pytest.raises(ValueError, match="past_covariates lack the past of 'a'"):
        model.forecast([series[0]], 2, future_covariates=[{"a": [1, 2]}])
