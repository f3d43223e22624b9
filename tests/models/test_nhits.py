"""Where N-HiTS' forecast begins, and what its pools see."""

import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.heads import NegativeBinomialHead, NormalHead
from tests.conftest import to_numpy

LENGTH, HORIZON = 12, 6
RANDOM = np.random.default_rng(0)
WINDOWS = (10 + RANDOM.standard_normal((4, LENGTH, 2)).cumsum(axis=1)).astype("float32")


def build(length=LENGTH, channels=2, **options):
    keras.utils.set_random_seed(0)
    small = {"hidden_dim": 8, "pool_sizes": (2, 1), "downsampling": (3, 1)}
    return zoo.build("nhits", length, HORIZON, channels, **{**small, **options})


def without_weights(model):
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    return model


def gappy():
    """Windows whose second channel lacks its last three values, and the last known values."""
    windows = WINDOWS.copy()
    windows[:, -3:, 1] = np.nan
    return windows, np.stack([windows[:, -1, 0], windows[:, -4, 1]], axis=-1)


def test_stacks_that_draw_nothing_leave_the_last_known_value():
    windows, last = gappy()
    forecast = to_numpy(without_weights(build())(windows))
    np.testing.assert_allclose(forecast, np.repeat(last[:, None], HORIZON, axis=1), rtol=1e-6)
    nothing = np.full_like(windows, np.nan)
    np.testing.assert_array_equal(to_numpy(without_weights(build())(nothing)), 0)
    from_zero = without_weights(build(from_last_value=False))
    np.testing.assert_array_equal(to_numpy(from_zero(windows)), 0)


def test_it_adds_the_last_value_to_the_same_curves():
    added = to_numpy(build()(WINDOWS)) - to_numpy(build(from_last_value=False)(WINDOWS))
    np.testing.assert_allclose(added, np.repeat(WINDOWS[:, -1:], HORIZON, axis=1), rtol=1e-5)


def test_the_location_of_a_distribution_moves_and_its_spread_does_not():
    windows, last = gappy()
    both = [build(head=NormalHead(), from_last_value=start) for start in (True, False)]
    starting, level = (to_numpy(model(windows)) for model in both)
    np.testing.assert_allclose(
        starting[..., 0] - level[..., 0], np.repeat(last[:, None], HORIZON, axis=1), rtol=1e-5
    )
    np.testing.assert_array_equal(starting[..., 1], level[..., 1])


def test_the_mean_of_counts_starts_at_the_last_one_on_the_scale_of_the_window():
    counts = RANDOM.poisson(30, (4, LENGTH, 2)).astype("float32")
    counts[0, -2:, 0] = np.nan
    forecast = to_numpy(without_weights(build(head=NegativeBinomialHead()))(counts))
    scale = np.nanmean(counts, axis=1)
    last = counts[:, -1].copy()
    last[0, 0] = counts[0, -3, 0]
    mean = scale * np.log1p(np.exp(last / scale)) + 1e-4
    np.testing.assert_allclose(
        forecast[..., 0], np.repeat(mean[:, None], HORIZON, axis=1), rtol=1e-5
    )


@pytest.mark.parametrize("pool_size", [4, 8])
def test_the_oldest_values_that_fill_no_pool_have_a_smaller_one(pool_size):
    windows = WINDOWS[:, :11]
    options = {"pool_sizes": (pool_size,), "downsampling": (1,), "from_last_value": False}
    model = build(11, **options)
    assert model.count_params() == (-(-11 // pool_size) * 8 + 8) + (8 * 8 + 8) + (8 * 6 + 6)
    # The pools, counted from the newest value, as an 11 x pool table of the reference's ceil mode.
    pools = [windows[:, max(0, 11 - i - pool_size) : 11 - i] for i in range(0, 11, pool_size)]
    x = np.stack([pool.max(axis=1) for pool in pools[::-1]], axis=-1)  # (batch, channels, pools)
    first, first_bias, second, second_bias, last, last_bias = model.get_weights()
    x = np.maximum(x @ first + first_bias, 0)
    x = np.maximum(x @ second + second_bias, 0) @ last + last_bias
    np.testing.assert_allclose(to_numpy(model(windows)), x.transpose(0, 2, 1), rtol=1e-4, atol=1e-4)


def test_the_newest_steps_of_a_covariate_that_fill_no_pool_have_a_smaller_one():
    model = build(7, 1, pool_sizes=(3,), downsampling=(1,), covariates={"past": (0,)})
    windows = WINDOWS[:1, :7, :1]

    def forecast(step=0, value=-1):
        covariate = np.where(np.isin(np.arange(7), (0, 6)), -1.0, 0.0).astype("float32")
        covariate[step] = value
        return to_numpy(model({"history": windows, "past_covariates": covariate[None, :, None]}))

    np.testing.assert_array_equal(forecast(step=0, value=-2), forecast())  # pools: 0-2, 3-5, 6
    assert np.abs(forecast(step=6, value=-2) - forecast()).max() > 1e-3
