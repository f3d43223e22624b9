"""The door: frames become panels here, checked, and nowhere else."""

from pathlib import Path

import numpy as np

from kerastrans.data.covariates import Covariates
from kerastrans.data.frames import ID, is_wide, to_long
from kerastrans.data.panel import read_panel
from kerastrans.data.parquet import first_frame, list_partitions, read_partition
from kerastrans.decoding.graph import history_input
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import NoSeriesError


class Reader:
    """Reads frames as the training data were read; see `Reader.first` for new data.

    Args:
        config: `Config`.
        clock, covariates, channels: as in `FittedState`; a clock of None is read off the
            next frame.
        num_channels: int, of the model; None where it is not built.
        freq: str, frequency of a frame where there is no clock; None to infer it.
    """

    def __init__(self, config, clock, covariates, channels, num_channels=None, freq=None):
        self.config = config
        self.clock = clock
        self.covariates = covariates
        self.channels = channels
        self.num_channels = num_channels
        self.freq = freq

    @classmethod
    def first(cls, config, frame, static, freq, held_out=0):
        """Return the reader that a first frame of training data makes, and the panel of that frame.

        Args:
            config: `Config`.
            frame: Long or wide frame.
            static: Frame of static covariates, or None.
            freq: Frequency of the frame; None to infer it.
            held_out: Number of last steps of each series that are not training rows: covariates
                are not scaled by them.
        """
        covariates = Covariates.named(static, past=config.past, future=config.future)
        built = history_input(config.model).shape[-1] if config.is_built else None
        first = cls(config, None, covariates, None, built)
        panel = first.panel(frame, static, freq=freq, held_out=held_out)
        if not len(panel) and ID not in frame.columns:  # the one series there is has a fault
            report_faults(panel.faults, 0)
        is_long = ID in frame.columns or first._separates(frame)
        channels = None if is_long else tuple(panel.names[0])
        return cls(config, panel.clock, panel.covariates, channels, panel.num_channels), panel

    @classmethod
    def like(cls, state):
        """The reader of a `FittedState`."""
        num_channels = history_input(state.model).shape[-1]
        parts = state.clock, state.covariates, state.channels
        return cls(state.config, *parts, num_channels, state.given_freq)

    def with_config(self, config):
        """Return the same reader with another `Config`."""
        parts = self.clock, self.covariates, self.channels, self.num_channels, self.freq
        return Reader(config, *parts)

    def timed(self, frame, static, freq=None):
        """The reader with the clock of this frame, where it has none.

        Raises:
            ValueError: `freq` is not that of the training data.
        """
        if self.clock is None:
            clock = self.panel(first_frame(frame), static, freq=freq or self.freq).clock
            return Reader(self.config, clock, self.covariates, self.channels, self.num_channels)
        if freq not in (None, self.clock.freq):
            raise ValueError(f"trained on frequency {self.clock.freq!r}, freq={freq!r} is another.")
        return self

    def open(self, frame, static):
        """The panels of training data: a frame's one, or those of a folder's files.

        Raises:
            ValueError: bad frames. FileNotFoundError: a folder without a Parquet file.
        """
        if isinstance(frame, str | Path):
            return Partitions(list_partitions(frame), self, static)
        return [self.panel(frame, static)]

    def panel(self, frame, static=None, future=None, **kwargs):
        """The series of a frame; those with a fault are left out, see `Panel.faults`.

        Keyword arguments are those of `read_panel`.

        Raises:
            ValueError: what `read_panel` refuses; columns that are missing, or other channels than
                those of the training data.
        """
        if self.channels is not None and not self._is_univariate(frame):
            frame = self._columns(frame)
        elif self._separates(frame):
            frame, future = self._apart(frame, future)
        panel = read_panel(
            frame,
            clock=self.clock,
            covariates=self.covariates,
            static=static,
            future=future,
            **{"freq": self.freq, **kwargs},
        )
        self._check_bounds(panel)
        if self.num_channels not in (None, panel.num_channels):
            raise ValueError(
                f"the model has {self.num_channels} channel(s), the frame {panel.num_channels}."
            )
        if self.config.short == "refuse" and self.config.context_length is not None:
            panel = self._without_short(panel)
        return panel

    def _check_bounds(self, panel):
        """Raise ValueError for a value outside of the bounds that were given."""
        low, high = self.config.bounds or (None, None)
        for bound, is_outside in ((low, np.less), (high, np.greater)):
            outside = np.zeros(0, int)
            if bound is not None:
                outside = np.flatnonzero(is_outside(panel.values, bound).any(axis=1))
            if len(outside):
                series = np.searchsorted(panel.begins, outside[0], side="right") - 1
                value = panel.values[outside[0]][is_outside(panel.values[outside[0]], bound)][0]
                raise ValueError(
                    f"series {panel.names[series][0]!r} has the value {value:g}, outside of "
                    f"bounds={self.config.bounds}."
                )

    def _columns(self, frame):
        wanted = [*self.channels, *self.config.past, *self.config.future]
        missing = [name for name in wanted if name not in frame.columns]
        if missing:
            raise ValueError(f"trained on the columns {wanted}; {missing} are missing.")
        return frame[wanted]

    def _is_univariate(self, frame):
        """Whether a frame is long, and the model of one channel, as each of its series has."""
        return self.num_channels == 1 and ID in frame.columns

    def _separates(self, frame):
        """Whether the channels of a frame are series of their own, for a model of one channel."""
        if self.channels is not None or self.num_channels != 1 or not is_wide(frame):
            return False
        return len(frame.columns.difference([*self.config.past, *self.config.future])) > 1

    def _apart(self, frame, future):
        """Wide frames as long ones."""
        long = to_long(frame, [*self.config.past, *self.config.future])
        if is_wide(future):
            future = to_long(future, self.config.future, long[ID].unique())
        return long, future

    def _without_short(self, panel):
        lengths, needed = panel.cuts - panel.begins, self.config.context_length
        short = np.flatnonzero(lengths < needed)
        return panel.without(
            {i: f"{lengths[i]} steps, fewer than the context's {needed}" for i in short}
        )

    def with_future(self, panel):
        """The panel without the series whose future covariates do not reach the horizon."""
        if not panel.future.shape[1]:
            return panel
        steps, faults = self.config.prediction_length, {}
        for i, (cut, end) in enumerate(zip(panel.cuts, panel.ends, strict=True)):
            known = np.isfinite(panel.future[cut : min(end, cut + steps)])
            if len(known) < steps or not known.all():
                row = len(known) if known.all() else int(np.argmin(known.all(axis=1)))
                time = panel.clock.times([panel.numbers(i, cut + row)])[0]
                names = ", ".join(self.config.future)
                faults[i] = f"no future covariates for {time}: give {names} in future=frame"
        return panel.without(faults)


class Partitions:
    """The panels of a folder of Parquet files, each read when it is asked for.

    Args:
        files: list of paths.
        reader: `Reader`.
        static: frame of static covariates, or None.
    """

    def __init__(self, files, reader, static):
        self.files, self.reader, self.static = files, reader, static

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        return self.reader.panel(read_partition(self.files[number]), self.static)


def report_faults(faults, series_left):
    """Warn of the series that are left out.

    Raises:
        ValueError: none is left.
    """
    if faults:
        name, why = next(iter(faults.items()))
        if not series_left:
            message = f"no series is left of {len(faults)}, see .faults: {name!r} has {why}."
            raise NoSeriesError(message, faults)
        warn_user(
            f"{len(faults)} series left out, see .faults: {name!r} has {why}.",
        )
