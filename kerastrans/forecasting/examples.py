"""The windows that train a model, and those that validate it, in batches."""

import itertools
import zlib

import keras
import numpy as np

from kerastrans import heads
from kerastrans.data.batches import Endless
from kerastrans.data.cuts import training_cuts
from kerastrans.data.panel_windows import Windows
from kerastrans.data.partitions import stream_batches
from kerastrans.data.sampling import window_weights
from kerastrans.decoding.graph import history_input, takes_missing
from kerastrans.forecasting.arguments import written
from kerastrans.forecasting.defaults import thinned
from kerastrans.forecasting.reading import report_faults


def windows_of(config, model, panel, series, cuts, ends=None, weights=None):
    """`Windows` of a panel as this model takes them."""
    names = {tensor.name for tensor in model.inputs}
    return Windows(
        panel,
        config.context_length,
        config.prediction_length,
        series,
        cuts,
        scaler=config.scaler,
        fill=config.fill,
        calendar=config.calendar,
        position="position" in names,
        decoder="decoder_inputs" in names,
        history=history_input(model).name,
        missing=takes_missing(model),
        ends=ends,
        weights=weights,
    )


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
        stride: int, steps from one training window to the next.
        validation_size: int, last steps of each series that are held out.
        sampling: which windows are drawn, see `window_weights`.
        most_validating: int, of more validation windows every second, third ... is taken, so that
            they are at most as many; None for all.

    Raises:
        ValueError: a value that the model's head cannot forecast.
        ValueError: a sampling that would need several files at once.
    """

    def __init__(
        self,
        config,
        model,
        panels,
        stride,
        validation_size,
        sampling="windows",
        most_validating=None,
    ):
        if sampling != "windows" and len(panels) > 1:
            raise ValueError(
                f"sampling={sampling!r} and a folder of {len(panels)} files exclude each other: "
                "windows are drawn from one file at a time."
            )
        self.config, self.model, self.panels = config, model, panels
        self.stride, self.validation_size, self.sampling = stride, validation_size, sampling
        self.most_validating = most_validating
        self.trained, self.held_out, self.faults, self.counts = {}, {}, {}, []
        self.num_series = self.longest = self.checksum = 0
        for number in range(len(panels)):
            panel = panels[number]
            check_targets(heads.of(model), panel)
            self.faults |= panel.faults
            self.longest = max([self.longest, *(panel.cuts - panel.begins).tolist()])
            ends = panel.numbers(np.arange(len(panel)), panel.cuts)
            for name, end in zip(map(str, panel.names[:, 0]), ends.tolist(), strict=True):
                self.trained[name], self.held_out[name] = end - validation_size, end
            self.num_series += len(panel)
            self.counts.append([len(part) for part in self.windows(number, panel)])
            for values in (panel.values, panel.past, panel.future, panel.static, panel.cuts):
                self.checksum = zlib.crc32(np.ascontiguousarray(values), self.checksum)
        if not self.num_series:
            report_faults(self.faults, 0)

    def __len__(self):
        return self.num_series

    def windows(self, number, panel=None):
        """Training windows and validation windows of one panel."""
        panel = self.panels[number] if panel is None else panel
        size = self.config.context_length, self.config.prediction_length
        held_out, pad = self.validation_size, self.config.short == "pad"
        training, validating = training_cuts(panel, *size, self.stride, held_out=held_out, pad=pad)
        if self.most_validating is not None:
            validating = thinned(*validating, self.most_validating)
        parts = training, validating
        made = []
        for (series, cuts), sampling in zip(parts, (self.sampling, "windows"), strict=True):
            ends = panel.cuts[series] - held_out
            weights = window_weights(sampling, panel, series, ends)
            made.append(windows_of(self.config, self.model, panel, series, cuts, ends, weights))
        return made

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
            **written(self.config.arguments() | {"model": self.config.name}),
            "stride": self.stride,
            "validation_size": self.validation_size,
            "sampling": self.sampling,
            "precision": keras.config.dtype_policy().name,
            "data": self.checksum,
        }
