import keras
import numpy as np
import pytest

from kerastrans.layers import Dropout


def kept(rate, shape, calls=1, seed=0):
    """Which elements of ones stay, call after call of one layer: `(calls, *shape)` of bools."""
    layer = Dropout(rate, seed=seed)
    ones = np.ones(shape, "float32")
    masks = [keras.ops.convert_to_numpy(layer(ones, training=True)) for _ in range(calls)]
    np.testing.assert_allclose(np.unique(masks), [0, 1 / (1 - rate)], rtol=1e-6)
    return np.array(masks) > 0


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_dropout_keeps_the_given_share_and_the_mean(rate):
    mask = kept(rate, (64, 50, 40))
    deviation = np.sqrt(rate * (1 - rate) / mask.size)
    assert abs(mask.mean() - (1 - rate)) < 4 * deviation


def test_elements_calls_and_seeds_are_independent():
    masks = kept(0.3, (128, 96), calls=40)
    other = kept(0.3, (128, 96), seed=1)[0]
    centred = (masks - 0.7) / np.sqrt(0.21)
    pairs = {
        "next call": (centred[1:], centred[:-1]),
        "next but one": (centred[2:], centred[:-2]),
        "next element": (centred[..., 1:], centred[..., :-1]),
        "next row": (centred[:, 1:], centred[:, :-1]),
        "half the tensor away": (centred[:, 64:], centred[:, :64]),
        "another seed": (centred[0], (other - 0.7) / np.sqrt(0.21)),
    }
    for name, (one, two) in pairs.items():
        assert abs(np.mean(one * two)) < 4 / np.sqrt(one.size), name
    # Elements are kept as often as coins fall: the counts vary as the binomial distribution's.
    variance = masks.sum(axis=0).var() / (40 * 0.21)
    assert abs(variance - 1) < 4 * np.sqrt(2 / masks[0].size)


def test_same_seed_repeats_the_masks_and_calls_differ():
    first, second = kept(0.5, (16, 32), calls=2), kept(0.5, (16, 32), calls=2)
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).any()


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_output_has_the_policys_dtype_and_inference_is_the_identity(dtype):
    layer = Dropout(0.4, dtype=dtype)
    x = np.linspace(-1, 1, 60, dtype="float32").reshape(3, 4, 5)
    dropped = layer(x, training=True)
    assert keras.backend.standardize_dtype(dropped.dtype) == layer.compute_dtype
    found = keras.ops.convert_to_numpy(keras.ops.cast(dropped, "float32"))
    np.testing.assert_allclose(found[found != 0], x[found != 0] / 0.6, rtol=1e-2)
    same = keras.ops.cast(layer(x, training=False), "float32")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(same), x, rtol=1e-2)


def test_noise_shape_shares_the_mask_along_its_axes():
    layer = Dropout(0.5, noise_shape=(4, 1, 6))
    mask = keras.ops.convert_to_numpy(layer(np.ones((4, 5, 6), "float32"), training=True)) > 0
    assert (mask == mask[:, :1]).all()


def test_fit_takes_batches_of_any_size():
    model = keras.Sequential([keras.Input((50,)), Dropout(0.5), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(np.ones((10, 50)), np.ones((10, 1)), batch_size=4, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
