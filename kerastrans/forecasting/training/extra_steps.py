"""Steps after early stopping: correct the spread, then train briefly on the hold-out set."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.decoding.graph import is_autoregressive
from kerastrans.forecasting.inference.error_dependence import (
    learn_dependence,
    learn_patch_dependence,
)
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.recipe import Training
from kerastrans.forecasting.inference.state import state_of
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import MAX_VALIDATION_WINDOWS, HeldOut, thin_windows
from kerastrans.forecasting.training.early_stopping import DECAY
from kerastrans.forecasting.training.loop import (
    MAX_STEPS_PER_EPOCH,
    DivergedError,
    fit_model,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.spread import SpreadCorrection, UnmeasuredSpreadWarning
from kerastrans.forecasting.training.time_limit import FORWARD_SHARE
from kerastrans.forecasting.training.windows import TrainingWindows
from kerastrans.utils.user_warnings import warn_user

EXTRA_STEPS_SHARE = 0.1  # of the training steps before
MIN_SAMPLES = 100  # of each window, to measure the spread of an autoregressive model
MAX_EXTRA_STEPS = 2 * MAX_STEPS_PER_EPOCH
MIN_VALIDATION_WINDOWS = 64  # hold-out forecasts that measure the spread if time is short
DECODING_SHARE = 0.1  # share of the time limit that is reserved to decode hold-out forecasts
MIN_TIME_SHARE_TO_DECODE_ALL = 0.5  # if a smaller share of the limit is left, decode fewer windows
NUM_DECODED_FORECASTS = 3  # number of forecasts of each window, to measure and apply the spread


def reserve_for_finish(limit, windows, batch_size, trains_on):
    """Return a function from the number of training steps to the seconds needed after the last.

    They are those of the validation and of `finish`.

    Args:
        limit: `TimeLimit` of the training.
        windows: `TrainingWindows`, as the following of `finish`.
        batch_size: int, number of windows in a training step.
        trains_on: bool, whether the hold-out set is finally trained on.
    """
    windows_per_step = sum(counts[1] for counts in windows.counts) / batch_size
    has_spread, decodes = heads.of(windows.model).num_spreads > 0, is_autoregressive(windows.model)

    def reserve(steps):
        if not windows.has_validation:
            return 0.0
        compilation = FORWARD_SHARE * limit.compilation
        validation = spread = limit.estimate_forecast(windows_per_step)
        if limit.validation is None:
            validation += compilation
        if decodes:
            spread = 2 * compilation + DECODING_SHARE * limit.seconds if has_spread else 0.0
        else:
            spread = compilation + 2 * spread
        if patch_dependence_of(windows.model) is not None:  # measured on other windows, too
            spread += compilation + 2 * limit.estimate_forecast(windows_per_step)
        extra = num_extra_steps(steps) * limit.step if trains_on else 0.0
        if steps < windows.steps(0, batch_size):  # published weights are forecast from, too
            extra += compilation
        return validation + spread + extra

    return reserve


def measure_errors(windows, is_verbose=False, limit=None):
    """Return forecasts of the hold-out set by a model that was not trained on it.

    Args:
        windows: `TrainingWindows` of the training.
        is_verbose: bool, whether to print that it begins.
        limit: `TimeLimit` of the training, or None. If time is short, fewer windows are forecast.

    Returns:
        `FittedState` of the model; `Forecasts`, None without windows, or without time; and the
        seconds of a second forecast.
    """
    model = windows.model
    # A spread is that of the model, however few samples a forecast has.
    num_samples = max(windows.config.num_samples, MIN_SAMPLES)
    reader = windows.data.reader.with_config(windows.config.changed(num_samples=num_samples))
    state = state_of(reader, model)
    if patch_dependence_of(model) is not None:
        _learn_patch_dependence(windows)
    if not windows.has_validation or not (heads.of(model).num_spreads > 0 or not state.decodes):
        return state, None, 0.0
    if is_verbose:
        print("forecasting the held-out rows, to measure the errors", flush=True)
    return state, *_forecast_held_out(state, windows, limit)


def finish(errors, windows, steps, batch_size, is_verbose=False, limit=None):
    """Correct the spread of the model's head on the hold-out set, then train on that set too.

    Args:
        errors: See `measure_errors`.
        windows: `TrainingWindows` of the training.
        steps: int, number of training steps before; 0 if the hold-out set is not to be trained on.
        batch_size: int, number of windows in a batch.
        is_verbose: bool, whether to print which part begins.
        limit: `TimeLimit` of the training, or None. If time is short, extra steps are left out.

    Returns:
        `TrainingWindows` of all rows that the model was trained on; the `Dependence` of the errors
        on the hold-out set, or None; and the number of independent forecasts that the spread was
        measured on, 0 if it was not measured.
    """
    model, (state, forecasts, seconds) = windows.model, errors
    correction = dependence = all_rows = None
    if forecasts is not None:
        # The draws of an autoregressive model depend on each other by themselves.
        dependence = None if state.decodes else learn_dependence(forecasts)
        if heads.of(model).num_spreads > 0:
            correction = SpreadCorrection(state, forecasts)
    steps = num_extra_steps(steps) if windows.has_validation else 0
    if limit is not None and limit.left < seconds + limit.step:
        steps = 0
    if steps:
        if is_verbose:
            print(f"{steps} extra steps on all rows", flush=True)
        data = replace(windows.data, held_out=HeldOut(), validation=None)
        all_rows = TrainingWindows(model, data, windows.training)
        stop = limit and limit.callback(lambda steps: seconds)
        all_rows = all_rows if train_further(all_rows, steps, batch_size, stop) else None
    if correction is not None:
        correction.apply(state, is_trained_on=all_rows is not None)
    num_forecasts = correction.num_forecasts if correction is not None else 0.0
    return all_rows or windows, dependence, num_forecasts


def _learn_patch_dependence(windows):
    """Set the dependence of the steps of a patch, see `learn_patch_dependence`."""
    training, held_out = windows.windows(0, most=MAX_VALIDATION_WINDOWS)  # the first file's
    panel, series, cuts = training.panel, training.series, training.cuts
    ends = panel.cuts_without_last(windows.data.held_out.of_all)
    is_whole = cuts + training.prediction_length <= ends[series]
    series, cuts = thin_windows(series[is_whole], cuts[is_whole])
    training = windows_of(windows, panel, series, cuts, ends[series])
    learn_patch_dependence(windows.model, held_out, training)


def _forecast_held_out(state, windows, limit):
    """Return `Forecasts` of the hold-out set and the seconds of another forecast of it.

    The former is None without windows, or without time.
    """

    def forecast(most):
        validation = windows.windows(0, most=MAX_VALIDATION_WINDOWS)[1]  # the first file's
        series, cuts = thin_windows(validation.series, validation.cuts, most)
        ends = validation.ends
        ends = ends if ends is None else thin_windows(ends, ends, most)[0]
        validation = replace(validation, series=series, cuts=cuts, ends=ends)
        left = limit and limit.left
        forecasts = forecast_windows(state, validation) if len(validation) else None
        if limit is not None and not limit.first_forecast:
            limit.first_forecast = left - limit.left
        return forecasts

    if limit is None:
        return forecast(MAX_VALIDATION_WINDOWS), 0.0
    compilation = FORWARD_SHARE * limit.compilation
    if limit.left < (compilation if state.decodes else 0):
        warn_user(
            f"time_limit={limit.seconds} is too short to measure the errors of held-out forecasts: "
            "intervals are often too narrow. Give more seconds.",
            UnmeasuredSpreadWarning,
        )
        return None, 0.0
    if not state.decodes:
        seconds = limit.validation or 0.0  # of as many windows, without decoding
        is_short = limit.left < compilation + 2 * seconds
        return forecast(MIN_VALIDATION_WINDOWS if is_short else MAX_VALIDATION_WINDOWS), seconds
    most, left = MAX_VALIDATION_WINDOWS, limit.left
    if left < MIN_TIME_SHARE_TO_DECODE_ALL * limit.seconds:
        found = forecast(MIN_VALIDATION_WINDOWS)
        seconds = left - limit.left  # also of the compilation
        affordable = limit.left / (NUM_DECODED_FORECASTS * seconds)
        most = min(most, int(affordable * MIN_VALIDATION_WINDOWS))
        if most <= MIN_VALIDATION_WINDOWS:
            return found, seconds
        left = limit.left
    return forecast(most), left - limit.left


def num_extra_steps(steps):
    """Return the number of extra steps after these training steps: a tenth, at most 500."""
    return max(0, min(MAX_EXTRA_STEPS, int(EXTRA_STEPS_SHARE * steps)))


def train_further(windows, steps, batch_size=32, stop=None):
    """Train a model for some steps at the learning rate that early stopping ends with.

    Args:
        windows: `TrainingWindows` of data without a hold-out set.
        steps: int, at least 1.
        batch_size: int, number of windows in a batch.
        stop: `StopInTime`, or None.

    Returns:
        bool: False if the training diverged; the weights are then unchanged.
    """
    recipe = Training(epochs=1, batch_size=batch_size, steps_per_epoch=steps)
    optimizer = windows.model.optimizer
    rate = float(optimizer.learning_rate)
    optimizer.learning_rate = rate * DECAY**2
    try:
        with unchanged_on_failure(windows.model):
            fit_model(windows, recipe, stop, verbose=0)
    except DivergedError:
        return False
    finally:
        optimizer.learning_rate = rate
    return True
