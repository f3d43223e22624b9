"""The one door of training data: a frame, or a folder of Parquet files, becomes panels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kerastrans.data.panel import Panel
from kerastrans.data.parquet import list_partitions, read_partition
from kerastrans.data.series_scales import learn_scales
from kerastrans.data.time.seasons import Seasons
from kerastrans.forecasting.inference.adaptation import at_frequency
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.training.defaults import HeldOut, choose_hold_out, resolve_config
from kerastrans.forecasting.training.validation import Validation, check_validation, read_validation


@dataclass(frozen=True)
class TrainingData:
    """Panels to train on, what is held out of them, and the reader that read them.

    Attributes:
        reader: `Reader`, whose config has the architecture, context and calendar for these data.
        panels: Sequence of `Panel`, each read when it is asked for.
        held_out: `HeldOut`, the part of the panels that early stopping monitors.
        validation: `Validation`, series that early stopping monitors instead, or None.
        seasons: `Seasons` of the first panel.
    """

    reader: Reader
    panels: Sequence[Panel]
    held_out: HeldOut = field(default_factory=HeldOut)
    validation: Validation | None = None
    seasons: Seasons | None = None

    @classmethod
    def read(cls, config, source, state=None, validation_size=None, epochs=None, **frames):
        """Read a frame, or the first file of a folder, and choose what is held out of it.

        Args:
            config: `Config` that was given.
            source: Frame, or path of a folder of Parquet files.
            state: `FittedState` that is trained further, whose settings and encodings are used;
                None to choose and fit them.
            validation_size: int, or None.
            epochs: int, or None.
            **frames: `static`, `freq` and `validation`, see `Forecaster.fit`.

        Raises:
            TypeError: If `validation` is not a frame.
            ValueError: If the frames are invalid, or options cannot be combined.
            FileNotFoundError: If a folder has no Parquet file.
        """
        static, freq, validation = map(frames.get, ("static", "freq", "validation"))
        config = state.config if state else config
        check_validation(validation, validation_size, source)
        files = list_partitions(source) if isinstance(source, str | Path) else None
        frame = read_partition(files[0]) if files else source
        chooses = validation is None and validation_size is None and epochs is None

        def hold_out(lengths):
            if not chooses:
                return HeldOut(validation_size or 0)
            return choose_hold_out(lengths, config.prediction_length)

        if state is None:
            reader, panel = Reader.first(config, frame, static, freq, lambda x: hold_out(x).of_all)
        else:
            reader, panel = Reader.like(state).read_further(frame, static, freq)
            reader = reader.with_config(at_frequency(state, panel.clock.freq).config)
        held_out = hold_out(panel.lengths)
        seasons = Seasons.of(panel, config.prediction_length, held_out.of_all)
        if state is None:
            reader = reader.with_config(resolve_config(config, panel, held_out.of_all, seasons))
            config = reader.config
        panel = reader.without_short(panel)
        if state is None and len(panel):
            ends = panel.cuts_without_last(held_out.of_all)
            if held_out.share < 1:
                ends = np.where(held_out.chosen(config.seed, 0, len(panel)), panel.begins, ends)
            scaler = learn_scales(config.scaler, panel, ends, config.context_length)
            reader = reader.with_config(config.changed(scaler=scaler))
        panels = Partitions(files, reader, static, panel) if files else [panel]
        validation = read_validation(reader, panel, validation, static)
        return cls(reader, panels, held_out, validation, seasons)


class Partitions(Sequence):
    """Panels of a folder of Parquet files, one of which is in memory at a time.

    Args:
        files: List of paths.
        reader: `Reader`.
        static: Frame of static covariates, or None.
        first: `Panel` of the first file.
    """

    def __init__(self, files, reader, static, first):
        self.files, self.reader, self.static = files, reader, static
        self._latest = 0, first

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        if self._latest is None or self._latest[0] != number:
            self._latest = None  # freed before the next file is read
            panel = self.reader.panel(read_partition(self.files[number]), self.static)
            self._latest = number, panel
        return self._latest[1]
