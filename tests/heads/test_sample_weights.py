"""Sample weights and implicit masks mean the same to the losses of heads as to those of Keras."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from kerastrans import heads, zoo
from kerastrans.heads import KnownTargets, PointError, QuantileHead
from kerastrans.utils.keras_internals import set_mask
from tests.conftest import XLA, to_numpy

STEPS = 6
REDUCTIONS = ("sum_over_batch_size", "mean", "sum", "none", "mean_with_sample_weight")


def windows(head, channels, batch=4, seed=0):
    """Counts as targets `(batch, STEPS, channels)`, parameters, and a generator."""
    rng = np.random.default_rng(seed)
    targets = rng.poisson(3, size=(batch, STEPS, channels)).astype("float32")
    raw = rng.normal(size=(batch, STEPS, channels, head.size)).astype("float32")
    parameters = to_numpy(head(raw) if head.has_parameter_axis else raw[..., 0])
    return targets, parameters, rng


def masked(forecasts, mask):
    """Forecasts with an implicit mask."""
    forecasts = ops.convert_to_tensor(forecasts)
    set_mask(forecasts, ops.convert_to_tensor(mask))
    return forecasts


def check_weights(head, batch, channels):
    """Compare the loss with weights of windows, steps and values to weighted errors."""
    loss = head.loss()
    targets, parameters, rng = windows(head, channels, batch)
    errors = to_numpy(loss.call(*map(ops.convert_to_tensor, (targets, parameters))))
    assert errors.shape == targets.shape
    for axes in (1, 2, 3):
        weights = rng.uniform(size=targets.shape[:axes]).astype("float32")
        spread = weights.reshape(weights.shape + (1,) * (3 - axes))
        expected = np.mean(spread * errors, dtype="float64")
        assert float(loss(targets, parameters, weights)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "quantiles",
        "normal",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in heads.names()
            if name not in ("quantiles", "normal")
        ),
    ],
)
def test_weight_is_a_factor_of_the_errors_of_its_window_step_or_value(name):
    check_weights(heads.get(name), batch=STEPS, channels=STEPS)


@pytest.mark.parametrize("channels", [1, 2, STEPS])
@pytest.mark.parametrize("batch", [1, 4])
def test_weights_fit_all_numbers_of_windows_and_channels(batch, channels):
    check_weights(heads.PointHead(), batch, channels)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda **kwargs: PointError("mse", **kwargs), keras.losses.MeanSquaredError),
        (lambda **kwargs: KnownTargets(keras.losses.LogCosh(**kwargs)), keras.losses.LogCosh),
    ],
)
def test_loss_without_missing_targets_is_that_of_keras(ours, theirs, reduction):
    ours, theirs = ours(reduction=reduction), theirs(reduction=reduction)
    targets, forecasts = np.random.default_rng(0).normal(size=(2, 4, STEPS, 2)).astype("float32")
    weights, negative = np.random.default_rng(1).normal(size=(2, 4, STEPS)).astype("float32")
    masks = (None, negative < 0.3, np.zeros_like(negative, "bool"))
    for weight, mask in itertools.product((None, np.abs(weights), negative), masks):
        given = forecasts if mask is None else masked(forecasts, mask)
        expected = to_numpy(theirs(targets, given, weight))
        np.testing.assert_allclose(to_numpy(ours(targets, given, weight)), expected, 1e-5, 1e-6)


@pytest.mark.parametrize("shape", [(4,), (4, STEPS), (4, STEPS, 2), (4, 1, 2)])
def test_weighted_mean_is_over_the_targets_that_are_neither_missing_nor_hidden(shape):
    rng = np.random.default_rng(0)
    targets, forecasts = rng.normal(size=(2, 4, STEPS, 2)).astype("float32")
    weights, visible = rng.uniform(size=shape), rng.uniform(size=(4, STEPS)) < 0.7
    known = rng.uniform(size=targets.shape) < 0.6
    spread = weights.reshape(shape + (1,) * (3 - len(shape))) * np.ones_like(targets)
    counts = visible[..., None] & known
    mean = np.average((targets - forecasts) ** 2, weights=spread * counts)
    mean_weight = spread[visible].mean()
    missing, given = np.where(known, targets, np.nan), masked(forecasts, visible)
    loss = PointError("mse")(missing, given, weights)
    assert float(loss) == pytest.approx(mean * mean_weight, rel=1e-5)
    loss = PointError("mse", reduction="mean_with_sample_weight")(missing, given, weights)
    assert float(loss) == pytest.approx(mean, rel=1e-5)
    # A target without a weight may as well be missing.
    none = np.where(spread * counts > 0, targets, np.nan)
    assert float(PointError("mse")(none, given, weights)) == pytest.approx(mean * mean_weight)
    total = PointError("mse", reduction="sum")(missing, given, weights)
    errors = np.where(counts, (targets - forecasts) ** 2, 0)
    assert float(total) == pytest.approx((spread * errors).mean(axis=-1).sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", ["float16", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_loss_in_half_precision_adds_many_errors_up(dtype):
    targets = np.where(np.arange(1200 * 96).reshape(1200, 96, 1) % 3, 1.0, np.nan)
    weights = np.full(1200, 0.5)
    loss = PointError("mse", dtype=dtype)(targets, np.zeros((1200, 96, 1)), weights)
    assert keras.backend.standardize_dtype(loss.dtype) == dtype
    assert float(loss) == 0.5


def test_axis_of_a_single_channel_may_be_left_out():
    head = QuantileHead()
    targets, parameters, _ = windows(head, 1, batch=STEPS)
    expected = float(head.loss()(targets, parameters))
    assert float(head.loss()(targets[..., 0], parameters)) == expected
    assert float(PointError()(targets, targets[..., 0] + 1)) == 1.0


def test_forecast_of_weight_zero_may_be_anything():
    forecasts = np.array([[[1.0]], [[np.nan]], [[np.inf]], [[3.0]]])
    weights = np.array([1.0, 0.0, 0.0, 1.0])
    assert float(PointError()(np.zeros((4, 1, 1)), forecasts, weights)) == 1.0


@pytest.mark.parametrize(
    ("loss", "shapes", "message"),
    [
        (
            PointError(),
            {"weights": (STEPS,)},
            r"sample_weight must have the shape \(4,\) or \(4, 6\) or \(4, 6, 2\), got \(6,\)",
        ),
        (PointError(), {"weights": (4, STEPS, 3)}, r"got \(4, 6, 3\)"),
        (PointError(), {"weights": (4, STEPS, 2, 2)}, r"got \(4, 6, 2, 2\)"),
        (
            PointError(),
            {"mask": (4, 5)},
            r"the mask of forecasts must have the shape .*, got \(4, 5\)",
        ),
        (PointError(), {"targets": (4, STEPS, 1)}, r"targets must have the shape \(4, 6, 2\), got"),
        (KnownTargets("mse"), {"weights": (4, STEPS, 2)}, r"shape \(4,\) or \(4, 6\), got"),
        (
            KnownTargets(lambda y, f: ops.mean(ops.abs(y - f))),
            {"weights": (4,)},
            "sample_weight requires a loss of each window or step, got one of a batch",
        ),
    ],
)
def test_other_shapes_are_refused(loss, shapes, message):
    forecasts = np.ones((4, STEPS, 2))
    if "mask" in shapes:
        forecasts = masked(forecasts, np.ones(shapes["mask"], "bool"))
    weights = np.ones(shapes["weights"]) if "weights" in shapes else None
    with pytest.raises(ValueError, match=message) as error:
        loss(np.ones(shapes.get("targets", (4, STEPS, 2))), forecasts, weights)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("axis", [-1, (1, 2)])
def test_own_loss_of_windows_or_steps_is_weighted(axis):
    rng = np.random.default_rng(0)
    targets, forecasts = rng.normal(size=(2, 4, STEPS, 2)).astype("float32")
    loss = KnownTargets(lambda y, f: ops.mean(ops.abs(y - f), axis=axis, keepdims=axis == -1))
    weights = np.array([1.0, 0.0, 2.0, 0.5])
    expected = (np.abs(targets - forecasts).mean(axis=(1, 2)) * weights).mean()
    assert float(loss(targets, forecasts, weights)) == pytest.approx(expected, rel=1e-5)


def test_windows_of_weight_zero_have_no_part_in_a_fit():
    history = np.random.default_rng(0).normal(size=(64, 12, 1)).astype("float32")
    targets = np.random.default_rng(1).normal(0, 0.1, size=(64, 4, 1)).astype("float32")
    kept = np.arange(64) % 2 == 0
    targets[~kept] = 5
    model = zoo.build("nlinear", 12, 4, 1, head="quantiles")
    model.compile(keras.optimizers.SGD(0.5), heads.of(model).loss(), **XLA)
    start = model.get_weights()

    def forecast(rows, weights):
        model.set_weights(start)
        data = history[rows], targets[rows]
        model.fit(*data, sample_weight=weights, batch_size=64, epochs=30, verbose=0)
        return heads.of(model).median(to_numpy(model(history)))

    weighted = forecast(np.arange(64), 2.0 * kept)
    without = forecast(np.repeat(np.flatnonzero(kept), 2), np.ones(64))
    np.testing.assert_allclose(weighted, without, atol=1e-3)
    assert abs(weighted.mean()) < 0.2


@pytest.mark.parametrize("name", ["point", pytest.param("quantiles", marks=pytest.mark.slow)])
def test_evaluation_does_not_depend_on_the_size_of_the_batches(name):
    model = zoo.build("nlinear", STEPS, STEPS, 2, head=name)
    model.compile(loss=heads.of(model).loss(), **XLA)
    history, targets = np.random.default_rng(0).normal(size=(2, 5, STEPS, 2)).astype("float32")
    weights = np.arange(5.0)
    losses = [
        model.evaluate(history, targets, size, sample_weight=weights, verbose=0) for size in (2, 5)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("name", ["quantiles", pytest.param("point", marks=pytest.mark.slow)])
def test_head_passes_the_mask_of_its_inputs_to_the_loss(name):
    head = heads.get(name)
    history = np.random.default_rng(0).normal(size=(4, STEPS, 3)).astype("float32")
    history[:, 4:] = 0
    raw = keras.layers.Masking()(ops.convert_to_tensor(history))
    raw = keras.layers.Dense(2 * head.size)(raw)
    options = {"prediction_length": STEPS} if head.has_parameter_axis else {}
    forecasts = head(raw, **options)
    targets = np.ones((4, STEPS, 2), "float32")
    expected = float(head.loss()(targets[:, :4], to_numpy(forecasts)[:, :4]))
    targets[:, 4:] = 9
    loss = float(to_numpy(head.loss()(targets, forecasts)))
    assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("length", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_class_weight_is_refused(length):
    model = zoo.build("nlinear", 12, length, 1, head="quantiles")
    model.compile("sgd", heads.of(model).loss(), **XLA)
    history, targets = np.zeros((8, 12, 1)), np.zeros((8, length, 1))
    with pytest.raises(ValueError, match=r"class_weight requires .* give sample_weight") as error:
        model.fit(history, targets, class_weight={0: 1.0, 1: 2.0}, verbose=0)
    assert "\n" not in str(error.value)
