"""Guard of published weights: trained ones replace them only if held-out windows favour these."""

import numpy as np

from kerastrans.data.series_scales import series_scales
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import MAX_VALIDATION_WINDOWS
from kerastrans.utils.pinball import pinball_loss

PUBLISHED, TRAINED = "published", "trained"


class NotImprovedError(Exception):
    """Held-out windows do not favour the trained weights.

    Attributes:
        verdict: Dict, see `Guard`.
        windows: `TrainingWindows`.
        history: History of Keras; None if nothing was trained.
    """

    def __init__(self, verdict, windows, history=None):
        super().__init__(verdict)
        self.verdict, self.windows, self.history = verdict, windows, history


class Guard:
    """Quantile losses of published weights and of a trained model on held-out windows.

    Fine-tuned weights replace the published ones only if their mean loss is lower by more than its
    standard error, and so does the model that "auto" trains. Errors of the same series, and of the
    same time, are not independent: the error is the larger one of those between series and between
    times, a time being the origins within one forecast.

    A verdict is a dict of "kept", "published" or "trained"; "loss_change", the relative change of
    the loss by training, and its "standard_error", None if nothing was trained; and the number of
    "windows".

    Args:
        windows: `TrainingWindows` of the model, with the weights at the start.
        name: Name of the published weights, for the line that is printed.
        is_verbose: bool, whether to print a verdict.
        rival: `FittedState` of a model with these weights; None if the model itself has them.

    Raises:
        NotImprovedError: If the held-out windows are not of several series or times.

    Source: Breiman, Friedman, Olshen, Stone (1984), section 3.4.3, for one standard error; Cochran
    (1977), section 6.4, for the error of a ratio.
    """

    def __init__(self, windows, name, is_verbose=True, rival=None):
        self.windows, self.name, self.is_verbose = windows, name, is_verbose
        self.rival = rival
        held_out = windows.windows(0, most=MAX_VALIDATION_WINDOWS)[1]  # the first file's
        times = held_out.panel.numbers(held_out.series, held_out.cuts)
        blocks = (times - times.min(initial=0)) // held_out.prediction_length
        clusters = [np.unique(x, return_inverse=True)[1] for x in (held_out.series, blocks)]
        self.clusters = [x for x in clusters if len(x) and x.max() > 0]
        if not self.clusters:
            raise NotImprovedError(self._verdict(PUBLISHED), windows)
        reader = windows.data.reader
        parts = reader.clock, reader.covariates, reader.channels
        self.state, self.held_out = FittedState(windows.config, windows.model, *parts), held_out
        ends = held_out.cuts if held_out.ends is None else held_out.ends
        steps, places = series_scales(held_out.panel, held_out.series, ends, "change")
        self.scales = np.where(steps > 0, steps, np.nan)[places][:, None]
        self.levels = np.asarray((rival or self.state).head.levels)
        self.before = self._losses(rival or self.state)

    def check(self, history):
        """Return the verdict if the training helped.

        Args:
            history: History of Keras.

        Raises:
            NotImprovedError: If it did not help.
        """
        after = self._losses(self.state)
        known = np.isfinite(self.before) & np.isfinite(after)
        before, after = self.before[known], after[known]
        total = before.sum() or 1.0
        change = (after - before).sum() / total
        residuals = after - (1 + change) * before
        error = max(_error_of_sum(residuals, x[known]) for x in self.clusters) / total
        found = float(change), float(error), int(known.sum())
        if not change < -error:
            raise NotImprovedError(self._verdict(PUBLISHED, *found), self.windows, history)
        return self._verdict(TRAINED, *found)

    def _verdict(self, kept, change=None, error=None, number=0):
        """Return the verdict, and print it as one line."""
        verdict = {"kept": kept, "loss_change": change, "standard_error": error, "windows": number}
        trained = None if self.rival is None else self.windows.config.architecture
        if self.is_verbose and (trained is None or kept == PUBLISHED):
            print(describe(verdict, self.name, trained))
        return verdict

    def _losses(self, state):
        """Return the mean quantile loss of each window, in units of the changes of its series."""
        held_out = self.held_out
        windows = windows_of(state, held_out.panel, held_out.series, held_out.cuts, held_out.ends)
        forecasts = forecast_windows(state, windows)
        quantiles = state.head.quantile(forecasts.parameters, self.levels)
        losses = pinball_loss(forecasts.targets[..., None] - quantiles, self.levels).mean(axis=-1)
        losses = losses / self.scales
        known = np.isfinite(losses)
        number = known.sum(axis=(1, 2))
        total = losses.sum(axis=(1, 2), where=known)
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def describe(verdict, name, trained=None):
    """Return a verdict as one line of text.

    Args:
        verdict: See `Guard`.
        name: Name of the published weights.
        trained: Name of the model that was trained in their place; None for themselves.
    """
    if not verdict["windows"]:
        return (
            f"fit kept the published weights of {name}: no held-out windows of several series or "
            "times can say whether training helps. Give more rows or validation_size=, or "
            "restore_published=False to train in any case."
        )
    change, error = 100 * verdict["loss_change"], 100 * verdict["standard_error"]
    if trained is not None:
        return (
            f"auto: {name}, published weights without training: on {verdict['windows']} held-out "
            f"windows, the quantile loss of {trained} differs from theirs by {change:+.1f} +- "
            f"{error:.1f} %. restore_published=False keeps the trained model."
        )
    return (
        f"fit kept the {verdict['kept']} weights of {name}: training changed the quantile loss of "
        f"{verdict['windows']} held-out windows by {change:+.1f} +- {error:.1f} %."
    )


def _error_of_sum(residuals, clusters):
    """Return the standard error of the sum of residuals that depend on each other in clusters."""
    sums = np.bincount(clusters, residuals)[np.unique(clusters)]
    count = len(sums)
    return np.sqrt(count / (count - 1) * np.square(sums).sum()) if count > 1 else 0.0
