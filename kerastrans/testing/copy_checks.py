"""Checks of copies of a forecaster, of the other form of a frame, and of checkpoints."""

import tempfile
from pathlib import Path

from kerastrans import heads
from kerastrans.testing import frames
from kerastrans.testing.frames import assert_rows_close
from kerastrans.testing.reports import NotApplicable

TOLERANCE = 1e-5


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
    assert_rows_close(rows, case.refitted, TOLERANCE, "the loaded and refitted backtest")


def check_spread(case):
    """Check that copies keep the spread of the head, which `fit` measures and does not train."""
    forecaster = case.reload(case.trained)
    head = heads.of(forecaster.model)
    if not head.num_spreads:
        raise NotApplicable("the head has no spread")
    head.spread.assign(2 * head.spread)
    expected = case.predict(forecaster)
    actual = case.predict(case.reload(forecaster))
    assert_rows_close(actual, expected, TOLERANCE, "the forecast of twice the spread after loading")
    forecaster.fit(case.frame, static=case.static, epochs=0)
    actual = case.predict(forecaster)
    assert_rows_close(actual, expected, TOLERANCE, "the forecast of twice the spread after fit")


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
        assert_rows_close(actual, expected, TOLERANCE, f"{name} of the other form of frame")


def check_checkpoint(case):
    """Check that a checkpoint is resumed only by a training that begins with the same weights."""
    forecaster = case.fit()
    if not forecaster.model.trainable_weights:
        raise NotApplicable("the model has no weights to train")
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint"
        for _ in range(2):  # the second training resumes the first
            actual = case.predict(case.fit(checkpoint=checkpoint))
            assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast with a checkpoint")
        try:
            case.fit(forecaster, checkpoint=checkpoint)
        except ValueError:
            actual = case.predict(forecaster)
            assert_rows_close(actual, case.forecast, TOLERANCE, "the forecast after the refusal")
        else:
            raise AssertionError("a training that begins with other weights resumes a checkpoint")
