"""The windows that train a model, and those that validate it, in batches."""

import functools
import itertools
import zlib

import keras
import numpy as np

from kerastrans import heads
from kerastrans.data.batches import Endless
from kerastrans.data.parquet import stream_batches
from kerastrans.data.sampling import window_weights
from kerastrans.data.window_index import training_cuts
from kerastrans.forecasting.inference.reader import report_faults
from kerastrans.forecasting.inference.serialization import write_arguments
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import thinned


def check_targets(head, panel):
    """Refuse series with values that the head cannot forecast, such as fractions of counts."""
    for names, begin, end in zip(panel.names, panel.begins, panel.cuts, strict=True):
        head.check_targets(panel.values[begin:end], names)


class Examples:
    """The windows of some panels that train, or that validate.

    Args:
        config: `Config`.
        model: Keras model.
        panels: sequence of `Panel`, each read when it is asked for.
        held_out: `HeldOut`.
        sampling: `Sampling`. Where series are held out, which are short, forecasts begin up to the
            last step of the others.
        most_validating: int, of more validation windows every second, third ... is taken, so that
            they are at most as many; None for all.
        validation: `Validation` in place of what is held out; None for none.

    Raises:
        ValueError: a value that the model's head cannot forecast.
        ValueError: a sampling that would need several files at once.
    """

    def __init__(
        self, config, model, panels, held_out, sampling, most_validating=None, validation=None
    ):
        if sampling.kind != "windows" and len(panels) > 1:
            raise ValueError(
                f"sampling={sampling.kind!r} and a folder of {len(panels)} files exclude each "
                "other: windows are drawn from one file at a time."
            )
        self.config, self.model, self.panels = config, model, panels
        self.held_out, self.sampling, self.most_validating = held_out, sampling, most_validating
        self.validation = validation
        self.trained, self.chosen_by, self.faults, self.counts = {}, {}, {}, []
        self.num_series = self.longest = self.zeros = self.checksum = 0
        for number in range(len(panels)):
            panel = panels[number]
            check_targets(heads.of(model), panel)
            self.faults |= panel.faults
            self.longest = max([self.longest, *(panel.cuts - panel.begins).tolist()])
            ends = panel.numbers(np.arange(len(panel)), panel.cuts)
            names, validates = map(str, panel.names[:, 0]), self.validates(number, len(panel))
            for name, end, chooses in zip(names, ends.tolist(), validates, strict=True):
                if chooses:
                    self.chosen_by[name] = end
                if held_out.share == 1 or not chooses:
                    self.trained[name] = end - held_out.of_all
            self.num_series += len(panel)
            self.zeros += int((panel.values == 0).sum())
            self.counts.append([len(part) for part in self.windows(number, panel)])
            self._add_to_checksum(panel)
        if validation is not None:
            panel = validation.panel
            check_targets(heads.of(model), panel)
            self.faults |= panel.faults
            ends = panel.numbers(np.arange(len(panel)), panel.cuts)
            self.chosen_by = dict(zip(map(str, panel.names[:, 0]), ends.tolist(), strict=True))
            self._add_to_checksum(panel)
        if not self.num_series:
            report_faults(self.faults, 0)

    def __len__(self):
        return self.num_series

    @property
    def validates_any(self):
        """Whether anything is to validate."""
        return self.held_out.steps > 0 or self.validation is not None

    def _add_to_checksum(self, panel):
        for values in (panel.values, panel.past, panel.future, panel.static, panel.cuts):
            self.checksum = zlib.crc32(np.ascontiguousarray(values), self.checksum)

    def validates(self, number, count):
        """Which of the series of a panel validate, bool `(count,)`."""
        if self.held_out.share == 1:
            return np.full(count, self.held_out.steps > 0)
        order = np.random.default_rng([self.config.seed, number]).permutation(count)
        return order < round(self.held_out.share * count)

    def windows(self, number, panel=None):
        """Training windows and validation windows of one panel."""
        panel = self.panels[number] if panel is None else panel
        cut = functools.partial(
            training_cuts,
            panel,
            self.config.context_length,
            self.config.prediction_length,
            self.sampling.stride,
            pad=self.config.short == "pad",
        )
        steps, limit = self.held_out.steps, self.sampling.limit
        if self.held_out.share == 1:
            training, validating = cut(held_out=steps, limit=limit)
        else:
            chosen = self.validates(number, len(panel))
            (series, cuts), _ = cut(limit=limit or len(panel.values))
            training = series[~chosen[series]], cuts[~chosen[series]]
            _, (series, cuts) = cut(held_out=steps)
            validating = series[chosen[series]], cuts[chosen[series]]
        if self.validation is not None:
            validating = self.validation.cuts(self.config)
        if self.most_validating is not None:
            validating = thinned(*validating, self.most_validating)
        return self._training(panel, *training), self._validating(panel, *validating)

    def _training(self, panel, series, cuts):
        ends = panel.cuts[series] - self.held_out.of_all
        weights = window_weights(self.sampling.kind, panel, series, ends)
        is_whole = (cuts + self.config.prediction_length <= ends).all()
        limits = None if is_whole else ends
        return windows_of(self, panel, series, cuts, ends, weights, limits)

    def _validating(self, panel, series, cuts):
        if self.validation is not None:
            return windows_of(self, self.validation.panel, series, cuts)
        ends = panel.cuts[series] - self.held_out.steps
        return windows_of(self, panel, series, cuts, ends)

    def steps(self, part, batch_size):
        """How many batches an epoch of the training (0) or the validation part (1) has."""
        sizes = [counts[part] for counts in self.counts]
        return sum(-(-size // min(batch_size, size)) for size in sizes if size)

    def batches(self, part, batch_size, first=0):
        """Batches of the training (0) or the validation part (1), epoch after epoch.

        Args:
            part: 0 or 1.
            batch_size: int.
            first: int, number of the first batch; above 0 where a training is resumed.
        """
        is_training, seed = part == 0, self.config.seed
        if len(self.panels) == 1:
            windows = self.windows(0)[part]
            return windows.batches(
                batch_size, shuffle=is_training, seed=seed, first=first if is_training else None
            )
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
        """What makes these examples what they are, as JSON holds it, see `Checkpoint`."""
        return {
            **write_arguments(self.config.arguments() | {"model": self.config.name}),
            "stride": self.sampling.stride,
            "validation_size": self.held_out.steps,
            "validation_share": self.held_out.share,
            "sampling": self.sampling.kind,
            "window_sampling_limit": self.sampling.limit,
            "precision": keras.config.dtype_policy().name,
            "data": self.checksum,
        }
