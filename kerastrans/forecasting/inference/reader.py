"""The one door of data: frames are checked and become panels here."""

import numpy as np

from kerastrans.data.covariates import Covariates
from kerastrans.data.frames import ID, is_wide, to_long
from kerastrans.data.panel import read_panel
from kerastrans.data.time.frequency import is_other_frequency
from kerastrans.decoding.graph import history_input
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import NoSeriesError, list_names

MANY_CHANNELS = 1000  # columns of a wide frame that are probably series


class Reader:
    """Reads frames as the training data were read; see `Reader.first` for new data.

    Args:
        config: `Config`.
        clock: `Clock`; None to infer it from each frame.
        covariates: `Covariates`, as in `FittedState`.
        channels: Tuple of the columns of a wide frame, as in `FittedState`; None for long frames.
        num_channels: int, number of channels of the model; None if it is not built.
        freq: str, frequency of frames if the clock is None; None to infer it.
    """

    def __init__(self, config, clock, covariates, channels, num_channels=None, freq=None):
        self.config = config
        self.clock = clock
        self.covariates = covariates
        self.channels = channels
        self.num_channels = num_channels
        self.freq = freq

    @classmethod
    def first(cls, config, frame, static=None, freq=None, held_out=0):
        """Return the reader that a first frame of training data makes, and the panel of that frame.

        Args:
            config: `Config`.
            frame: Long or wide frame.
            static: Frame of static covariates, or None.
            freq: Frequency of the frame; None to infer it.
            held_out: Number of last steps of each series that are not training rows, or a function
                from the lengths of the series to it: encodings of covariates are not fitted to
                them.
        """
        covariates = Covariates.named(static, past=config.past, future=config.future)
        built = history_input(config.model).shape[-1] if config.is_built else None
        first = cls(config, None, covariates, None, built, freq)
        panel = first._read_series(frame, static, held_out=held_out)
        is_long = ID in frame.columns or first._separates(frame)
        channels = None if is_long else tuple(panel.names[0])
        if len(channels or ()) >= MANY_CHANNELS:
            warn_user(
                f"the {len(channels)} columns are read as one series of as many channels. If they "
                "are separate series, give frame.rename_axis(index='ds').melt(var_name='unique_id',"
                " value_name='y', ignore_index=False).reset_index()."
            )
        if channels is not None and (empty := panel.channels_without_value()):
            warn_user(f"no value to train on in the channels {list_names(empty)}: leave them out.")
        return cls(config, panel.clock, panel.covariates, channels, panel.num_channels), panel

    @classmethod
    def like(cls, state):
        """Return the reader of a `FittedState`."""
        num_channels = history_input(state.model).shape[-1]
        parts = state.clock, state.covariates, state.channels
        return cls(state.config, *parts, num_channels, state.given_freq)

    def with_config(self, config):
        """Return the same reader with another `Config`."""
        parts = self.clock, self.covariates, self.channels, self.num_channels, self.freq
        return Reader(config, *parts)

    def read_further(self, frame, static=None, freq=None):
        """Return the reader with the clock of a frame of further training data, and its panel.

        Raises:
            ValueError: If `freq` is not the frequency of earlier training data.
        """
        known = self.clock and self.clock.freq
        if is_other_frequency(freq, known):
            raise ValueError(f"trained on frequency {known!r}, freq={freq!r} is another.")
        parts = self.covariates, self.channels, self.num_channels
        reader = Reader(self.config, self.clock, *parts, freq or self.freq)
        panel = reader._read_series(frame, static)
        return Reader(self.config, panel.clock, *parts), panel

    def panel(self, frame, static=None, future=None, sort=True):
        """Return the series of a frame; invalid ones are left out, see `Panel.faults`.

        They are in the order of their names, so that the order of the frame changes nothing that is
        learnt or measured; in that of the frame if `sort` is False.

        Raises:
            ValueError: If `read_panel` refuses the frame, columns are missing, or the channels are
                not those of the training data.
        """
        return self.without_short(self._read_series(frame, static, future, sort=sort))

    def _read_series(self, frame, static=None, future=None, held_out=None, sort=True):
        """Return the series of a frame, short ones included; arguments as in `read_panel`."""
        if self.channels is not None and not self._is_univariate(frame):
            frame = self._columns(frame)
        elif self._separates(frame):
            frame, future = self._separate(frame, future)
        panel = read_panel(
            frame,
            clock=self.clock,
            freq=self.freq,
            covariates=self.covariates,
            static=static,
            future=future,
            limits=self.config.limits,
            held_out=held_out,
            sort=sort,
        )
        self._check_bounds(panel)
        if self.num_channels not in (None, panel.num_channels):
            raise ValueError(
                f"the model has {self.num_channels} channel(s), the frame {panel.num_channels}."
            )
        return panel

    def _check_bounds(self, panel):
        """Raise ValueError for a value outside the given bounds."""
        low, high = self.config.bounds_in(panel, np.arange(len(panel.values)))
        if low is not None and high is not None and np.any(low > high):
            row = int(np.argmax(low > high))
            series = np.searchsorted(panel.begins, row, side="right") - 1
            raise ValueError(
                f"bounds={self.config.bounds} of series {panel.names[series][0]!r} are not in "
                f"order at {self._time(panel, series, row)}."
            )
        for bound, is_outside in ((low, np.less), (high, np.greater)):
            if bound is None:
                continue
            outside = np.argwhere(is_outside(panel.values, bound))
            if len(outside):
                row, channel = outside[0]
                series = np.searchsorted(panel.begins, row, side="right") - 1
                raise ValueError(
                    f"series {panel.names[series][channel]!r} has the value "
                    f"{panel.values[row, channel]:g} at {self._time(panel, series, row)}, outside "
                    f"of bounds={self.config.bounds}."
                )

    @staticmethod
    def _time(panel, series, row):
        return panel.clock.times([panel.numbers(series, row)])[0]

    def _columns(self, frame):
        expected = [*self.channels, *self._other_columns]
        missing = [name for name in expected if name not in frame.columns]
        if missing:
            raise ValueError(f"made for the columns {expected}; {missing} are missing.")
        return frame[expected]

    def _is_univariate(self, frame):
        """Return whether a frame is long and the model has one channel, as a long frame has."""
        return self.num_channels == 1 and ID in frame.columns

    def _separates(self, frame):
        """Return whether the channels of a wide frame are separate series for the model."""
        if self.channels is not None or self.num_channels != 1 or not is_wide(frame):
            return False
        return len(frame.columns.difference(self._other_columns)) > 1

    @property
    def _other_columns(self):
        """Names of the columns of a wide frame that are not channels."""
        config = self.config
        return list(dict.fromkeys((*config.past, *config.future, *config.limits)))

    def _separate(self, frame, future):
        """Return wide frames as long frames."""
        long = to_long(frame, self._other_columns)
        if is_wide(future):
            known = dict.fromkeys((*self.config.future, *self.config.limits))
            future = to_long(future, known, long[ID].unique())
        return long, future

    def without_short(self, panel):
        """Return the panel without series shorter than the context, if these are refused."""
        needed = self.config.context_length
        if self.config.short != "refuse" or needed is None:
            return panel
        short = np.flatnonzero(panel.lengths < needed)
        return panel.without(
            {i: f"{panel.lengths[i]} steps, fewer than the context's {needed}" for i in short}
        )

    def with_future(self, panel, steps, gaps):
        """Return the panel without series whose future covariates do not cover the horizon.

        Args:
            panel: `Panel`.
            steps: int, number of steps after the last row.
            gaps: `(series,)`, number of missing values before them, see `missing_ends`.
        """
        if not panel.future.shape[1] + panel.limits.shape[1]:
            return panel
        faults = {}
        known_ahead = np.isfinite(panel.future).all(axis=1) & np.isfinite(panel.limits).all(axis=1)
        begins = panel.cuts - gaps
        for i, (cut, last) in enumerate(zip(begins, panel.cuts + steps, strict=True)):
            known = known_ahead[cut : min(panel.ends[i], last)]
            if len(known) < last - cut or not known.all():
                row = len(known) if known.all() else int(np.argmin(known))
                time = self._time(panel, i, cut + row)
                names = ", ".join(dict.fromkeys((*self.config.future, *self.config.limits)))
                faults[i] = f"no future covariates for {time}: give {names} in future=frame"
        return panel.without(faults)


def report_faults(faults, series_left):
    """Warn about series that are left out.

    Raises:
        NoSeriesError: If no series is left.
    """
    if faults:
        name, why = next(iter(faults.items()))
        if not series_left:
            message = f"no series is left of {len(faults)}, see .faults: {name!r} has {why}."
            raise NoSeriesError(message, faults)
        warn_user(f"{len(faults)} series left out, see .faults: {name!r} has {why}.")
