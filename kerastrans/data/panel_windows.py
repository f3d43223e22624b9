"""Windows over the series of a panel, cut batch by batch."""

import functools
from dataclasses import dataclass, field

import numpy as np

from kerastrans.data.batches import make_batches
from kerastrans.data.covariates import KINDS
from kerastrans.data.missing import FILLS, last_rows, last_values
from kerastrans.data.panel import Panel
from kerastrans.data.scaling import WindowScaler
from kerastrans.data.series_scales import series_scales
from kerastrans.utils.validation import check_choice, check_positive_integers


@dataclass(frozen=True)
class Windows:
    """Windows over a panel, cut batch by batch.

    Attributes:
        panel: `Panel`.
        context_length: int, number of steps before a cut.
        prediction_length: int, number of steps from a cut on.
        series: `(windows,)`, series of each window.
        cuts: `(windows,)`, row of the first target of each window.
        scaler: `WindowScaler`.
        fill: Replacement of missing values: "last" for the last value before in the context,
            "zero" for 0, None to keep them. The loss ignores missing targets in any case.
        calendar: bool, whether calendar features are added to the future covariates.
        position: bool, whether the model has an input for the clock's number of a window's first
            step.
        decoder_patch: int, number of steps that the model decodes at once. It has decoder inputs:
            as many last values of the context, and all targets that precede others by as many
            steps. 0 for a model without decoder inputs.
        history: str, name of the model's input of the history.
        missing: Names of the inputs that take NaN for a missing value; in others it is 0.
        ends: `(windows,)`, row before which a series is used for the typical scale of a window, see
            `series_scales`; each window's cut by default.
        weights: `(windows,)`, relative frequency of each window in shuffled batches, see
            `make_batches`.
        limits: `(windows,)`, first row whose targets are unknown; None if all are known.
        relative: Equivariance of a model of unscaled windows, see `kerastrans.data.pivot`: windows
            and targets of batches are then relative to the scale of errors, so that the loss is; ""
            to leave them as they are.
        least: Dict of the names of the model's inputs for least scales -> the `WindowScaler` that
            measures them.

    Raises:
        ValueError: If a length is below 1, the fill is unknown, or the scaler cannot use the
            context.
        ValueError: If a window ends after the last year that the panel's clock supports.

    Example:
        >>> import numpy as np
        >>> import pandas as pd
        >>> from kerastrans.data import read_panel
        >>> dates = pd.date_range("2024-01-01", periods=9)
        >>> panel = read_panel(pd.DataFrame({"load": np.arange(9.0)}, dates))
        >>> history, (center, scale) = Windows(panel, 4, 2, np.array([0]), panel.cuts).arrays()
        >>> history.shape, center.item()  # the mean of 5, 6, 7 and 8
        ((1, 4, 1), 6.5)
    """

    panel: Panel
    context_length: int
    prediction_length: int
    series: np.ndarray
    cuts: np.ndarray
    scaler: WindowScaler = field(default_factory=WindowScaler)
    fill: str | None = None
    calendar: bool = False
    position: bool = False
    decoder_patch: int = 0
    history: str = "history"
    missing: frozenset = frozenset()
    ends: np.ndarray | None = None
    weights: np.ndarray | None = None
    limits: np.ndarray | None = None
    relative: str = ""
    least: dict = field(default_factory=dict)

    def __post_init__(self):
        check_positive_integers(
            context_length=self.context_length, prediction_length=self.prediction_length
        )
        check_choice("fill", self.fill, FILLS)
        self.scaler.check_context(self.context_length)
        last = self.panel.numbers(self.series, self.cuts) + self.prediction_length - 1
        self.panel.clock.check(last)

    def __len__(self):
        return len(self.cuts)

    def observed(self):
        """Return whether any value of the context is known, `(windows,)`."""
        known = self.panel.num_known
        first = np.maximum(self.cuts - self.context_length, self.panel.begins[self.series])
        return known[self.cuts] > known[first]

    def batches(self, batch_size, shuffle=False, seed=None, **kwargs):
        """Return batches `(inputs, scaled targets)` for `fit`, see `make_batches`."""
        make = functools.partial(self._batch, is_training=True)
        arrays, count = list(self._scaled_tables.values()), len(self)
        kwargs |= {"seed": seed, "weights": self.weights}
        return make_batches(arrays, count, make, min(batch_size, count), shuffle, **kwargs)

    def arrays(self, chosen=slice(None)):
        """Return inputs and `(center, scale)`, each `(windows, 1, num_channels)`, of some windows.

        Raises:
            ValueError: If float32 cannot hold a scaled value.
        """
        numbers, arrays = np.arange(len(self))[chosen], list(self._scaled_tables.values())
        with np.errstate(over="ignore", invalid="ignore"):
            inputs, scales = self._batch(np, arrays, numbers, is_training=False)
        history = inputs[self.history] if isinstance(inputs, dict) else inputs
        finite = ~np.isinf(history).any(axis=(1, 2)) & np.isfinite(scales).all(axis=(0, 2, 3))
        if not finite.all():
            name = self.panel.names[self.series[numbers[finite.argmin()]]][0]
            raise ValueError(
                f"series {name!r} has values that float32 cannot hold, as scaled by "
                f"{self.scaler.kind!r}."
            )
        return inputs, scales

    def histories(self, chosen=slice(None)):
        """Return the raw histories of some windows, as the graph around a model takes them.

        Args:
            chosen: Index or slice of the windows.

        Returns:
            Dict of arrays: "history" `(windows, context_length, num_channels)`, float64, NaN where
            missing; the additional inputs; and "typical", see `typical_of`, 0 for contexts without
            equal or missing neighbours.
        """
        numbers = np.arange(len(self))[chosen]
        inputs = self._batch(np, list(self._tables.values()), numbers, is_training=None)
        inputs = inputs if isinstance(inputs, dict) else {self.history: inputs}
        inputs["history"] = inputs.pop(self.history)
        # A context is nearly constant only if neighbours are equal or missing; that of a member of
        # an ensemble may be a part of this one.
        steps = np.diff(inputs["history"], axis=1)
        needed = ((steps == 0) | np.isnan(steps)).any(axis=(1, 2)) | (steps.shape[1] == 0)
        inputs["typical"] = np.zeros((len(needed), 1, self.panel.num_channels))
        if needed.any():
            inputs["typical"][needed] = self.typical_of(numbers[needed])
        return inputs

    def typical_of(self, chosen=slice(None)):
        """Return the scale of the series of some windows, `(windows, 1, num_channels)`."""
        scales, places = self._typical(chosen)
        return scales[places][:, None]

    def _typical(self, chosen=slice(None)):
        """Return the distinct scales of the series, and the place of each window's."""
        ends = self.cuts if self.ends is None else self.ends
        return series_scales(self.panel, self.series[chosen], ends[chosen])

    @functools.cached_property
    def _scaled_tables(self):
        """The arrays, and the scales of the series."""
        return self._tables | dict(zip(("typical", "typical_of"), self._typical(), strict=True))

    @functools.cached_property
    def _tables(self):
        """Arrays that raw histories are cut from, by name."""
        panel = self.panel
        arrays = {
            "cut": np.asarray(self.cuts, "int64"),
            "series": np.asarray(self.series, "int64"),
            "begin": panel.begins,
            "first": panel.first,
            "values": panel.values,
        }
        if self.limits is not None:
            arrays["limits"] = np.asarray(self.limits, "int64")
        if self.fill == "last":
            arrays["last"] = last_rows(np.isnan(panel.values), axis=0)
        for kind in KINDS:
            if (rows := getattr(panel, kind)).shape[1]:
                arrays[kind] = rows if f"{kind}_covariates" in self.missing else np.nan_to_num(rows)
        if self.calendar:
            latest = int((panel.first + panel.ends - panel.begins).max()) + self.prediction_length
            arrays["calendar"] = panel.clock.calendar(np.arange(self._earliest, latest))
        return arrays

    @property
    def _earliest(self):
        """Number on the clock of the first row of the calendar."""
        return int(self.panel.first.min()) - self.context_length

    def _batch(self, xp, arrays, chosen, is_training):
        """Return a batch of windows; `make_batches` calls this with NumPy or TensorFlow.

        Args:
            xp: Module that computes.
            arrays: Arrays of `_scaled_tables`, or of `_tables` without a scale, in their order.
            chosen: Numbers of the windows, `(batch,)`.
            is_training: True for inputs and scaled targets, False for scaled inputs and
                `(center, scale)`, None for inputs whose history is not scaled.
        """
        # Rows of the panel, (batch, steps): row 0 for unknown targets and steps before the series.
        past_steps = self.context_length
        steps = np.arange(-past_steps, self.prediction_length)
        names = self._tables if is_training is None else self._scaled_tables
        table = dict(zip(names, arrays, strict=True))
        cut, series = (xp.take(table[name], chosen) for name in ("cut", "series"))
        begin = xp.take(table["begin"], series)
        needs_future = is_training or "future" in table
        rows = cut[:, None] + (steps if needs_future else steps[:past_steps])
        rows = xp.where(rows < begin[:, None], 0, rows)  # row 0 is NaN
        if "limits" in table:
            rows = xp.where(rows < xp.take(table["limits"], chosen)[:, None], rows, 0)
        # (batch, context_length, num_channels)
        x = seen = xp.take(table["values"], rows[:, :past_steps], axis=0)
        # Center and scale come from observed values only: gaps are filled afterwards.
        if is_training is not None:
            typical = xp.take(table["typical"], xp.take(table["typical_of"], chosen), axis=0)
            typical = typical[:, None]  # (batch, 1, num_channels), as center and scale
            scaler = WindowScaler() if self.relative and is_training else self.scaler
            own = self.scaler.least_scale(seen, typical, xp)
            center, scale = scaler.statistics(seen, xp, own)
            center = center * (0.0 if self.relative == "scale" else 1.0)
            least = {
                name: x.least_scale(seen, typical, xp) / scale for name, x in self.least.items()
            }
            seen = self._filled(xp, table, seen, rows[:, :past_steps])
            x = (seen - center) / scale
            if self.history not in self.missing:
                x = xp.where(xp.isnan(x), 0.0, x)
            x = xp.asarray(x, dtype="float32")
        # The additional inputs of the model, in the order of its contract.
        inputs = {self.history: x}
        if "past" in table:
            inputs["past_covariates"] = xp.take(table["past"], rows[:, :past_steps], axis=0)
        future = []
        if "future" in table:
            future.append(xp.take(table["future"], rows, axis=0))
        numbers = xp.take(table["first"], series) + cut - begin  # of the cuts, on the clock
        if self.calendar:
            place = numbers[:, None] + steps - self._earliest  # (batch, steps)
            future.append(xp.take(table["calendar"], place, axis=0))
        if future:
            inputs["future_covariates"] = xp.concatenate(future, axis=-1)
        if "static" in table:
            inputs["static_covariates"] = xp.take(table["static"], series, axis=0)
        if is_training is not None:
            inputs |= {name: xp.asarray(scale, dtype=x.dtype) for name, scale in least.items()}
        if self.position:
            inputs["position"] = xp.asarray(numbers - past_steps, dtype="int32")
        if len(inputs) == 1 and not self.decoder_patch:
            inputs = x  # a model with one input takes a tensor
        if is_training is None:
            return inputs
        if not is_training:
            return inputs, (center, scale)
        targets = xp.take(table["values"], rows[:, past_steps:], axis=0)
        targets = xp.asarray((targets - center) / scale, dtype="float32")
        if self.decoder_patch:  # teacher forcing: the values before each target
            before = xp.concatenate([x[:, -self.decoder_patch :], targets], axis=1)
            before = before[:, : self.prediction_length]
            if self.history not in self.missing:
                before = xp.where(xp.isnan(before), xp.zeros_like(before), before)
            inputs = {**inputs, "decoder_inputs": before}
        return inputs, targets

    def _filled(self, xp, table, seen, rows):
        """Return the contexts `seen`, cut from these rows of the panel, with their gaps filled."""
        if self.fill == "zero":
            return xp.where(xp.isnan(seen), 0.0, seen)
        if self.fill is None:
            return seen
        return last_values(xp, table["values"], table["last"], rows)
