import keras
import numpy as np
import pytest

from kerastrans.models.simpletm import GeometricAttention
from tests.conftest import to_numpy

QUERY, KEY, VALUE = np.random.default_rng(0).standard_normal((3, 2, 4, 5, 3)).astype("float32")


def scores_of(query, key, share):
    """Scores by the angle between each query and key."""
    lengths = (
        np.linalg.norm(query, axis=-1)[..., :, None] * np.linalg.norm(key, axis=-1)[..., None, :]
    )
    cosine = query @ np.swapaxes(key, -1, -2) / lengths
    mixed = (1 - share) * cosine + share * np.sqrt(1 - np.square(cosine))
    return lengths * mixed / np.sqrt(query.shape[-1])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_scores_mix_the_inner_product_and_the_area(share):
    scores = scores_of(QUERY, KEY, share)
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    found = to_numpy(GeometricAttention(wedge_share=share)(QUERY, VALUE, KEY))
    np.testing.assert_allclose(found, weights @ VALUE, rtol=1e-4, atol=1e-5)


def test_the_area_is_the_length_of_the_cross_product():
    layer = GeometricAttention(wedge_share=1.0, penalty=1.0)
    layer(QUERY, VALUE, KEY, training=True)
    areas = np.linalg.norm(np.cross(QUERY[..., :, None, :], KEY[..., None, :, :]), axis=-1)
    np.testing.assert_allclose(to_numpy(layer.losses[0]), areas.mean() / np.sqrt(3), rtol=1e-5)


def test_single_features_are_parallel():
    # Their areas are 0: all keys have the same weight.
    found = to_numpy(
        GeometricAttention(wedge_share=1.0)(*(x[..., :1] for x in (QUERY, VALUE, KEY)))
    )
    mean = VALUE[..., :1].mean(axis=2, keepdims=True)
    np.testing.assert_allclose(found, np.broadcast_to(mean, found.shape), rtol=1e-5)


def test_the_penalty_is_the_mean_absolute_score_in_training():
    layer = GeometricAttention(wedge_share=0.3, penalty=0.5)
    layer(QUERY, VALUE, KEY, training=True)
    expected = 0.5 * np.abs(scores_of(QUERY, KEY, 0.3)).mean()
    np.testing.assert_allclose(to_numpy(layer.losses[0]), expected, rtol=1e-5)
    layer(QUERY, VALUE, KEY)
    assert not layer.losses
    layer = GeometricAttention(wedge_share=0.3)
    layer(QUERY, VALUE, KEY, training=True)
    assert not layer.losses


def test_parallel_vectors_have_finite_gradients():
    inputs = keras.Input((1, 4, 2))
    x = keras.layers.EinsumDense("bhtf,f->bhtf", output_shape=(None, None, 2))(inputs)
    model = keras.Model(inputs, GeometricAttention(wedge_share=1.0)(x, x, x))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    ones = np.ones((2, 1, 4, 2), "float32")
    model.train_on_batch(ones, 2 * ones)
    assert np.isfinite(model.get_weights()[0]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wedge_share": 1.5}, r"wedge_share must be a number in \[0, 1\], got 1.5"),
        ({"wedge_share": True}, r"wedge_share must be a number in \[0, 1\], got True"),
        ({"dropout": 1.0}, r"dropout must be a number in \[0, 1\), got 1.0"),
        ({"penalty": -1.0}, "penalty must be a number of at least 0, got -1.0"),
    ],
)
def test_values_outside_their_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GeometricAttention(**arguments)
