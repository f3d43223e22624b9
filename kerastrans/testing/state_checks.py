"""Checks of a forecaster's state and copies: saving, cloning, seeds, training that fails."""

import contextlib
import random
import tempfile
from pathlib import Path

import keras
import numpy as np

from kerastrans import heads
from kerastrans.testing import frames
from kerastrans.testing.frames import assert_rows_close
from kerastrans.testing.reports import NotApplicable

LOOSE = 1e-5  # of a copy that is trained again

TOLERANCE = 1e-6


def check_save_and_load(case):
    """Check that `predict`, `backtest` and `calibrate` do not change after `save` and `load`."""
    loaded = case.reload(case.trained)
    assert_rows_close(case.predict(loaded), case.forecast, TOLERANCE, "the loaded forecast")
    assert_rows_close(case.backtest(loaded), case.backtested, TOLERANCE, "the loaded backtest")
    calibrated = _calibrate(case, case.reload(case.trained))
    expected = case.predict(_calibrate(case, case.fit()))
    actual = case.predict(calibrated)
    assert_rows_close(actual, expected, TOLERANCE, "the forecast calibrated after loading")
    actual = case.predict(case.reload(calibrated))
    assert_rows_close(actual, expected, TOLERANCE, "the forecast loaded after calibrating")


def check_training_after_load(case):
    """Check that a loaded forecaster, and its clone, train like the original."""
    loaded = case.reload(case.trained)
    again = case.predict(case.fit(loaded.clone()))
    assert_rows_close(again, case.forecast, 1e-5, "the forecast of a loaded forecaster's clone")
    expected = case.predict(case.fit(case.fit()))
    actual = case.predict(case.fit(loaded))
    assert_rows_close(actual, expected, 1e-5, "the forecast of more training after loading")


def check_seed(case):
    """Check that two trainings with one seed, and two forecasts, give the same result."""
    again = case.predict(case.trained)
    assert_rows_close(again, case.forecast, 0.0, "a second forecast")
    again = case.predict(case.fit())
    assert_rows_close(again, case.forecast, TOLERANCE, "the forecast of a second training")


def check_generators(case):
    """Check that training and forecasting do not use Python's and NumPy's global generators."""

    def states():
        _, keys, position, *_ = np.random.get_state()
        return random.getstate(), tuple(keys), position

    random.random(), np.random.random()  # advance to states that seeding does not produce
    before = states()
    forecaster = case.fit()
    if states() != before:
        raise AssertionError("fit reseeds or uses a global generator")
    case.predict(forecaster)
    case.backtest(forecaster)
    if states() != before:
        raise AssertionError("predict or backtest reseeds or uses a global generator")


def check_clone(case):
    """Check that a clone is untrained, and that cloning does not change the forecaster."""
    clone = case.trained.clone()
    try:
        case.predict(clone)
    except RuntimeError:
        pass
    else:
        raise AssertionError("a clone forecasts before it is trained")
    assert_rows_close(case.predict(case.trained), case.forecast, 0.0, "the forecast after clone")


def _fail_to_fit(case, forecaster, stride):
    """Train on every `stride`-th row of a beginning that is too short for a window."""
    count = stride * case.untrained.prediction_length
    frame = frames.first_rows(case.frame, count, stride)
    try:
        case.fit(forecaster, frame)
    except ValueError:
        return
    raise NotApplicable("training on so few rows succeeds")


class _Interrupt(keras.callbacks.Callback):
    """Callback that fails at the end of the first epoch."""

    def on_epoch_end(self, epoch, logs=None):
        raise RuntimeError("interrupted by a check")


def check_failed_fit(case):
    """Check that a `fit` that fails, before or during training, does not change the forecaster."""
    forecaster = case.fit()
    _fail_to_fit(case, forecaster, 1)
    actual = case.predict(forecaster)
    assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast after a failed fit")
    with contextlib.suppress(RuntimeError):
        case.fit(forecaster, callbacks=[_Interrupt()])
    actual = case.predict(forecaster)
    assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast after an interrupted fit")


def check_failed_first_fit(case):
    """Check that a first `fit` that fails leaves the forecaster untrained and usable."""
    forecaster = case.untrained.clone()
    _fail_to_fit(case, forecaster, 2)  # with another frequency
    try:
        case.predict(forecaster)
    except RuntimeError:
        actual = case.predict(case.fit(forecaster))
        assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast after a fit that failed")
    else:
        raise AssertionError("a forecaster can forecast after a first fit that failed")


def _calibrate(case, forecaster):
    """Calibrate with the smallest number of windows that suffices for one series at 50 percent."""
    return forecaster.calibrate(case.frame, windows=4, static=case.static, levels=(50,))


def check_calibration(case):
    """Check that bounds of intervals are ordered, and that new training removes them."""
    forecaster = _calibrate(case, case.fit())
    rows = frames.values(case.predict(forecaster))
    (low,) = (column for column in rows.columns if column.endswith("lo-50"))
    if not (rows[low] <= rows[low.replace("lo-", "hi-")]).all():
        raise AssertionError(f"{low} is above its upper bound")
    columns = list(case.predict(case.fit(forecaster)).columns)
    if columns != list(case.forecast.columns):
        raise AssertionError(f"after another fit the intervals still exist: {columns}")


def check_arguments(case):
    """Check that `get_config` does not change after `fit`, `save`, `load` and `clone`.

    A clone has the recipe of the training, to be trained in the same way.
    """
    given, loaded = case.untrained.get_config(), case.reload(case.trained)
    copies = {"fit": case.trained, "load": loaded, "load and clone": loaded.clone()}
    recipe = {"training": copies["load and clone"].get_config()["training"]}
    for name, copy in copies.items():
        expected = given | recipe if name == "load and clone" else given
        config = copy.get_config()
        differing = sorted(x for x in expected | config if expected.get(x) != config.get(x))
        if differing:
            raise AssertionError(f"after {name}, get_config has another {', '.join(differing)}")


def check_refit_after_load(case):
    """Check that `backtest(refit=True)` of a loaded forecaster does not change."""
    rows = case.backtest(case.reload(case.trained), refit=True)
    assert_rows_close(rows, case.refitted, LOOSE, "the loaded and refitted backtest")


def check_spread(case):
    """Check that copies keep the spread of the head, which `fit` measures and does not train."""
    forecaster = case.reload(case.trained)
    head = heads.of(forecaster.model)
    if not head.num_spreads:
        raise NotApplicable("the head has no spread")
    head.spread.assign(2 * head.spread)
    expected = case.predict(forecaster)
    actual = case.predict(case.reload(forecaster))
    assert_rows_close(actual, expected, LOOSE, "the forecast of twice the spread after loading")
    forecaster.fit(case.frame, static=case.static, epochs=0)
    actual = case.predict(forecaster)
    assert_rows_close(actual, expected, LOOSE, "the forecast of twice the spread after fit")


def check_other_form(case):
    """Check that a wide frame has the forecast of its columns as a long frame, and vice versa."""
    covariates = [*case.option("past"), *case.option("future")]
    if case.is_long and (covariates or case.static is not None):
        raise NotApplicable("a wide frame has no covariates for each series")
    one, other = frames.both_forms(case.frame, covariates)
    future = case.future
    if future is not None:
        _, future = frames.both_forms(future, covariates, case.targets)
    for name, forecast in {
        "the forecast": lambda frame, future: case.predict(case.trained, frame, future),
        "the backtest": lambda frame, _: case.backtest(case.trained, frame),
    }.items():
        try:
            expected, actual = forecast(one, case.future), forecast(other, future)
        except ValueError as refusal:
            raise NotApplicable(str(refusal)) from None
        assert_rows_close(actual, expected, LOOSE, f"{name} of the other form of frame")


def check_checkpoint(case):
    """Check that a checkpoint is resumed only by a training that begins with the same weights."""
    forecaster = case.fit()
    if not forecaster.model.trainable_weights:
        raise NotApplicable("the model has no weights to train")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint"
        for _ in range(2):  # the second training resumes the first
            actual = case.predict(case.fit(checkpoint=checkpoint))
            assert_rows_close(actual, case.forecast, LOOSE, "the forecast with a checkpoint")
        try:
            case.fit(forecaster, checkpoint=checkpoint)
        except ValueError:
            actual = case.predict(forecaster)
            assert_rows_close(actual, case.forecast, LOOSE, "the forecast after the refusal")
        else:
            raise AssertionError("a training that begins with other weights resumes a checkpoint")


def check_export(case):
    """Check that a SavedModel, which does not need kerastrans, returns the same forecast."""
    if keras.backend.backend() != "tensorflow":
        raise NotApplicable("export needs Keras to run on TensorFlow")
    import tensorflow as tf

    trained = case.trained
    if [tensor.name for tensor in trained.model.inputs] != ["history"]:
        raise NotApplicable("the model has other inputs than a history")
    windows = frames.last_windows(case.frame, case.targets, trained.model.inputs[0].shape[1])
    history = np.stack(list(windows.values()))
    expected = trained.forecast_histories({"history": history})["forecast"]
    with tempfile.TemporaryDirectory() as folder:
        trained.export(Path(folder) / "model")
        loaded = tf.saved_model.load(str(Path(folder) / "model"))
        serve = loaded.signatures["serving_default"]
        actual = serve(history=tf.constant(history, "float32"))["forecast"].numpy()
    difference = np.abs(actual - expected).max() / np.abs(expected).max()
    if not difference <= 1e-5:
        raise AssertionError(f"the export differs from the forecaster by {difference:.1e}")


def check_inputs(case):
    """Check that no check before this one has changed the given frames."""
    if not all(map(lambda one, other: one.equals(other), case.given, case.originals)):
        raise AssertionError("a given frame has changed")
