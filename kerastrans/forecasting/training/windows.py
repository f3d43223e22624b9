"""Training windows and validation windows, in batches."""

import functools
import itertools
from dataclasses import asdict

import keras
import numpy as np

from kerastrans import heads
from kerastrans.data.batches import Endless
from kerastrans.data.parquet import stream_batches
from kerastrans.data.sampling import window_weights
from kerastrans.data.scaling import WindowScaler
from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.inference.losses import loss_of
from kerastrans.forecasting.inference.reader import report_faults
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import thin_windows
from kerastrans.heads.point import RELATIVE
from kerastrans.models.parts.forecast_graph import equivariance_of
from kerastrans.utils.identity import fingerprint


class TrainingWindows:
    """Windows of some training data to train on, and those that early stopping monitors.

    Attributes:
        trained: Dict of series -> the clock's number of the step after its last training row.
        chosen_by: Dict of series -> that of the step after the last row that is monitored.
        faults: Dict of series that were left out -> reason.
        longest: int, number of steps of the longest series.
        zeros: int, number of values that are 0.
        relative: Equivariance of a model that scales windows by itself, see `Windows`: otherwise
            the large series would rule the loss of published weights.

    Args:
        model: Keras model.
        data: `TrainingData`.
        training: `Training`, whose fields say which windows. If whole series are held out, the
            forecasts of the other, short series begin up to their last step.
        max_validation_windows: int, see `thin_windows`; None for all windows.

    Raises:
        ValueError: If a value cannot be forecast by the model's head.
        ValueError: If windows are to be drawn from several files at once.
    """

    def __init__(self, model, data, training, max_validation_windows=None):
        if training.sampling != "windows" and len(data.panels) > 1:
            raise ValueError(
                f"sampling={training.sampling!r} and a folder of {len(data.panels)} files cannot "
                "be combined: windows are drawn from one file at a time."
            )
        self.config, self.model = data.reader.config, model
        scaler, loss = self.config.scaler, loss_of(self.config, heads.of(model))
        is_own = scaler.is_identity and getattr(loss, "error", None) not in RELATIVE
        self.relative = equivariance_of(model, scaler, self.config.fill) if is_own else ""
        self.data, self.training = data, training
        self.max_validation_windows = max_validation_windows
        self.trained, self.chosen_by, self.faults, self.counts = {}, {}, {}, []
        self.num_series = self.longest = self.zeros = 0
        for number in range(len(data.panels)):
            self._add_panel(number, data.panels[number])
        if data.validation is not None:
            panel = data.validation.panel
            self._check(panel)
            self.chosen_by = dict(_ends(panel))
        if not self.num_series:
            report_faults(self.faults, 0)

    def _add_panel(self, number, panel):
        """Count what a panel holds, of which only one is in memory."""
        self._check(panel)
        monitored, trained = self.is_held_out(number, len(panel)), self.is_trained(number, panel)
        for (name, end), monitors, trains in zip(_ends(panel), monitored, trained, strict=True):
            if monitors:
                self.chosen_by[name] = end
            if trains:
                self.trained[name] = end - self.data.held_out.of_all
        self.longest = max([self.longest, *panel.lengths.tolist()])
        self.num_series += len(panel)
        self.zeros += int((panel.values == 0).sum())
        self.counts.append([len(part) for part in self.windows(number, panel)])

    def _check(self, panel):
        """Refuse values that the head cannot forecast, such as fractions of counts."""
        for names, begin, end in zip(panel.names, panel.begins, panel.cuts, strict=True):
            heads.of(self.model).check_targets(panel.values[begin:end], names)
        self.faults |= panel.faults

    def __len__(self):
        return self.num_series

    @property
    def has_validation(self):
        """Whether there is a part that early stopping monitors."""
        return self.data.held_out.steps > 0 or self.data.validation is not None

    def is_held_out(self, number, count):
        """Return which of the `count` series of a panel are monitored, bools `(count,)`."""
        return self.data.held_out.chosen(self.config.seed, number, count)

    def is_trained(self, number, panel):
        """Return which series of a panel are trained on, bools: not those held out as a whole."""
        if self.data.held_out.share == 1:
            return np.full(len(panel), True)
        return ~self.is_held_out(number, len(panel))

    def windows(self, number, panel=None, most=None):
        """Return the training windows and the validation windows of one panel.

        Args:
            number: int, number of the panel.
            panel: `Panel`; None to read it.
            most: int, maximum number of validation windows; None for `max_validation_windows`.
        """
        panel = self.data.panels[number] if panel is None else panel
        cut = functools.partial(
            training_cuts,
            panel,
            self.config.context_length,
            self.config.prediction_length,
            self.training.stride,
            pad=self.config.short == "pad",
        )
        steps, limit = self.data.held_out.steps, self.training.window_sampling_limit
        if self.data.held_out.share == 1:
            training, validation = cut(held_out=steps, limit=limit)
        else:
            # Some series are held out as a whole; the others train up to their ends.
            is_trained = self.is_trained(number, panel)
            (series, cuts), _ = cut(limit=limit or len(panel.values))
            training = series[is_trained[series]], cuts[is_trained[series]]
            _, (series, cuts) = cut(held_out=steps)
            validation = series[~is_trained[series]], cuts[~is_trained[series]]
        if self.data.validation is not None:
            validation = self.data.validation.cuts(self.config)
        most = most or self.max_validation_windows
        if most is not None:
            validation = thin_windows(*validation, most)
        return self._training(panel, *training), self._validation(panel, *validation)

    def _training(self, panel, series, cuts):
        ends = panel.cuts_without_last(self.data.held_out.of_all)[series]
        weights = window_weights(self.training.sampling, panel, series, ends)
        is_whole = (cuts + self.config.prediction_length <= ends).all()
        limits = None if is_whole else ends
        return windows_of(self, panel, series, cuts, ends, weights, limits)

    def _validation(self, panel, series, cuts):
        if self.data.validation is not None:
            return windows_of(self, self.data.validation.panel, series, cuts)
        ends = panel.cuts_without_last(self.data.held_out.steps)[series]
        return windows_of(self, panel, series, cuts, ends)

    def training_rows(self):
        """Yield the training rows of each series, `(time, num_channels)`, NaN where missing."""
        for number in range(len(self.data.panels)):
            panel = self.data.panels[number]
            ends = panel.cuts_without_last(self.data.held_out.of_all)
            for i in np.flatnonzero(self.is_trained(number, panel)):
                yield panel.values[panel.begins[i] : ends[i]]

    def steps(self, part, batch_size):
        """Return the number of batches in an epoch of the training (0) or validation (1) part."""
        sizes = [counts[part] for counts in self.counts]
        return sum(-(-size // min(batch_size, size)) for size in sizes if size)

    def batches(self, part, batch_size, first=0):
        """Return the batches of the training (0) or validation (1) part, epoch after epoch.

        Args:
            part: 0 or 1.
            batch_size: int, number of windows in a batch.
            first: int, number of the first batch; above 0 if a training is resumed.
        """
        is_training, seed = part == 0, self.config.seed
        if len(self.data.panels) == 1:
            first = first if is_training else None
            return self.windows(0)[part].batches(batch_size, is_training, seed, first=first)
        chosen = [number for number, counts in enumerate(self.counts) if counts[part]]
        steps = self.steps(part, batch_size)

        def stream(number):
            epoch, skipped = divmod(number, steps)
            batches = stream_batches(
                chosen, lambda x: self.windows(x)[part], batch_size, is_training, seed, epoch
            )
            return itertools.islice(batches, skipped, None)

        return Endless(stream, first)

    def facts(self):
        """Return a dict of all that decides the training on these windows, see `Checkpoint`."""
        scaler, validation = self.config.scaler, self.data.validation
        options, training = self.config.arguments(), asdict(self.training)
        # A time limit decides when the training ends, and the last one what is kept.
        names = (options.keys() | training.keys()) - {"training", "time_limit", "restore_published"}
        return {
            # "stride" is one of windows, and one of patches.
            **{name: (options.get(name), training.get(name)) for name in names},
            "model": self.config.name,
            "scaler": WindowScaler(scaler.kind, scaler.season),  # the data decide what is learnt
            "validation_size": self.data.held_out,
            "precision": keras.config.dtype_policy().name,
            "data": [*map(fingerprint, self.data.panels), validation and validation.panel],
            "weights at the start": self.model.get_weights(),
        }


def _ends(panel):
    """Return pairs of a series and the clock's number of the step after its last one."""
    ends = panel.numbers(np.arange(len(panel)), panel.cuts).tolist()
    return list(zip(map(str, panel.names[:, 0]), ends, strict=True))
