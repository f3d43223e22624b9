"""Steps after early stopping: correct the spread, then train briefly on the hold-out set."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.forecasting.inference.error_dependence import learn_dependence
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.training.defaults import MAX_VALIDATION_WINDOWS, HeldOut
from kerastrans.forecasting.training.early_stopping import DECAY
from kerastrans.forecasting.training.loop import (
    MAX_STEPS_PER_EPOCH,
    DivergedError,
    fit_model,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.spread import SpreadCorrection
from kerastrans.forecasting.training.windows import TrainingWindows

EXTRA_STEPS_SHARE = 0.1  # of the training steps before
MIN_SAMPLES = 100  # of each window, to measure the spread of an autoregressive model
MAX_EXTRA_STEPS = 2 * MAX_STEPS_PER_EPOCH


def finish(windows, steps, batch_size, is_verbose=False):
    """Correct the spread of the model's head on the hold-out set, then train on that set too.

    Args:
        windows: `TrainingWindows` of the training.
        steps: int, number of training steps before; 0 if the hold-out set is not to be trained on.
        batch_size: int, number of windows in a batch.
        is_verbose: bool, whether to print the number of extra steps.

    Returns:
        `TrainingWindows` of all rows that the model was trained on; the `Dependence` of the errors
        on the hold-out set, or None; and the number of independent forecasts that the spread was
        measured on, 0 if it was not measured.
    """
    model, reader = windows.model, windows.data.reader
    parts = reader.clock, reader.covariates, reader.channels
    # A spread is that of the model, however few samples a forecast has.
    num_samples = max(windows.config.num_samples, MIN_SAMPLES)
    state = FittedState(windows.config.changed(num_samples=num_samples), model, *parts)
    has_spread = heads.of(model).num_spreads > 0
    correction = dependence = all_rows = None
    if windows.has_validation and (has_spread or not state.decodes):
        validation = windows.windows(0, most=MAX_VALIDATION_WINDOWS)[1]  # the first file's
        if len(validation):
            forecasts = forecast_windows(state, validation)
            # The draws of an autoregressive model depend on each other as they are.
            dependence = None if state.decodes else learn_dependence(forecasts)
            correction = SpreadCorrection(state, forecasts) if has_spread else None
    steps = num_extra_steps(steps) if windows.has_validation else 0
    if steps:
        if is_verbose:
            print(f"{steps} extra steps on all rows")
        data = replace(windows.data, held_out=HeldOut(), validation=None)
        all_rows = TrainingWindows(model, data, windows.sampling)
        all_rows = all_rows if train_further(all_rows, steps, batch_size) else None
    if correction is not None:
        correction.apply(state, is_trained_on=all_rows is not None)
    num_forecasts = correction.num_forecasts if correction is not None else 0.0
    return all_rows or windows, dependence, num_forecasts


def num_extra_steps(steps):
    """Return the number of extra steps after these training steps: a tenth, at most 500."""
    return max(0, min(MAX_EXTRA_STEPS, int(EXTRA_STEPS_SHARE * steps)))


def train_further(windows, steps, batch_size=32):
    """Train a model for some steps at the learning rate that early stopping ends with.

    Args:
        windows: `TrainingWindows` of data without a hold-out set.
        steps: int, at least 1.
        batch_size: int, number of windows in a batch.

    Returns:
        bool: False if the training diverged; the weights are then unchanged.
    """
    optimizer = windows.model.optimizer
    rate = float(optimizer.learning_rate)
    optimizer.learning_rate = rate * DECAY**2
    try:
        with unchanged_on_failure(windows.model):
            fit_model(windows, batch_size, 1, None, steps_per_epoch=steps, verbose=0)
    except DivergedError:
        return False
    finally:
        optimizer.learning_rate = rate
    return True
