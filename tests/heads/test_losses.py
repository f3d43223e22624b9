"""Losses: missing targets have no error, and each loss reads the head it was made for."""

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import heads
from kerastrans.heads import (
    CRPS,
    MixtureHead,
    NegativeLogLikelihood,
    NormalHead,
    Pinball,
    PointError,
    PointHead,
    QuantileHead,
    StudentTHead,
)
from tests.conftest import to_numpy
from tests.heads.conftest import DISTRIBUTIONS, evaluate


def test_twice_the_mean_pinball_loss_approximates_the_crps():
    normal = NormalHead()
    parameters = np.array([[[[0.5, 2.0]]]], "float32")
    levels = (np.arange(400) + 0.5) / 400
    quantiles = normal.quantile(parameters, levels).astype("float32")
    target = np.array([[[1.7]]], "float32")
    crps = evaluate(normal.crps, parameters, target).item()
    assert 2 * float(to_numpy(Pinball(levels)(target, quantiles))) == pytest.approx(crps, rel=1e-3)


@pytest.mark.parametrize("error", ["mae", "mse", "huber"])
def test_missing_targets_are_excluded_from_the_loss(error):
    rng = np.random.default_rng(0)
    targets, forecasts = rng.normal(size=(2, 3, 4, 2)).astype("float32")
    known = rng.uniform(size=targets.shape) < 0.6
    loss = PointError(error)
    with_gaps = float(to_numpy(loss(np.where(known, targets, np.nan), forecasts)))
    difference = (targets - forecasts)[known].astype("float64")
    exact = {
        "mae": np.abs(difference),
        "mse": difference**2,
        "huber": np.where(np.abs(difference) < 1, difference**2 / 2, np.abs(difference) - 0.5),
    }[error].mean()
    assert with_gaps == pytest.approx(exact, rel=1e-5)
    assert float(to_numpy(loss(np.full_like(targets, np.nan), forecasts))) == 0.0


@pytest.mark.parametrize("name", ["quantiles", *DISTRIBUTIONS])
def test_missing_targets_give_finite_gradients(name):
    head = heads.get(name)
    inputs = keras.Input((6, 1))
    x = keras.layers.Dense(2 * head.size)(keras.layers.Flatten()(inputs))
    model = keras.Model(inputs, head(ops.reshape(x, (-1, 2 * head.size, 1)), prediction_length=2))
    model.compile("sgd", head.loss())
    targets = np.array([[[1.0], [np.nan]], [[np.nan], [np.nan]]], "float32")
    model.train_on_batch(np.ones((2, 6, 1), "float32"), targets)
    assert all(np.isfinite(w).all() for w in model.get_weights())


def one_s_own(y_true, y_pred):
    """A loss that knows the axis of the parameters."""
    return ops.mean(ops.abs(ops.expand_dims(y_true, -1) - y_pred), axis=-1)


@pytest.mark.parametrize(
    ("head", "loss"),
    [
        *[(name, None) for name in heads.names()],
        *[(name, heads.get(name).loss()) for name in heads.names()],
        ("point", "mse"),
        ("point", keras.losses.LogCosh()),
        ("point", one_s_own),
        ("quantiles", one_s_own),
        (MixtureHead(2), CRPS(MixtureHead(2))),
        (QuantileHead([0.1, 0.9]), Pinball([0.1, 0.9])),
    ],
)
def test_loss_for_the_head_is_accepted(head, loss):
    heads.get(head).check_loss(loss)


@pytest.mark.parametrize(
    ("head", "loss", "message"),
    [
        (
            "quantiles",
            "mae",
            "loss 'mae' does not fit a QuantileHead, which is trained by Pinball: leave",
        ),
        ("quantiles", keras.losses.MeanSquaredError(), "loss mean_squared_error does not fit"),
        ("normal", keras.losses.mean_squared_error, "is trained by NegativeLogLikelihood"),
        ("student_t", PointError("mse"), "loss point_error does not fit a StudentTHead"),
        (
            "point",
            Pinball([0.5]),
            "loss pinball does not fit a PointHead, which is trained by PointError",
        ),
        ("quantiles", Pinball([0.1, 0.9]), "loss pinball does not fit a QuantileHead"),
        ("quantiles", NegativeLogLikelihood(NormalHead()), "loss nll does not fit a QuantileHead"),
        ("mixture", NegativeLogLikelihood(MixtureHead(2)), "loss nll does not fit a MixtureHead"),
    ],
)
def test_loss_for_another_head_is_refused(head, loss, message):
    with pytest.raises(ValueError, match=message) as error:
        heads.get(head).check_loss(loss)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CRPS(StudentTHead()),
            "StudentTHead has no closed form of the CRPS: this loss requires",
        ),
        (
            lambda: NegativeLogLikelihood(QuantileHead()),
            "QuantileHead has no likelihood: this loss",
        ),
        (lambda: NegativeLogLikelihood(PointHead()), "PointHead has no likelihood"),
        (lambda: PointError("mea"), "error must be one of 'mae', .*, 'mase', got 'mea'"),
    ],
)
def test_invalid_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "loss", ["log_cosh", keras.losses.LogCosh(), keras.losses.mean_squared_error]
)
def test_keras_loss_uses_only_known_targets(loss):
    rng = np.random.default_rng(0)
    targets, forecasts = rng.normal(size=(2, 4, 6, 1)).astype("float32")
    missing = targets.copy()
    missing[:, 3:] = np.nan
    masked = heads.KnownTargets(loss)
    whole = keras.losses.get(loss)
    expected = np.mean(keras.ops.convert_to_numpy(whole(targets[:, :3], forecasts[:, :3])))
    assert float(masked(missing, forecasts)) == pytest.approx(expected, rel=1e-5)
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(masked))
    assert float(restored(missing, forecasts)) == pytest.approx(expected, rel=1e-5)
