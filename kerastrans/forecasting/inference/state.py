"""Fitted state of a Forecaster: everything that a forecast is made from."""

import functools
from dataclasses import asdict, dataclass, field, fields, replace

import keras
import numpy as np

from kerastrans import decoding, heads
from kerastrans.data.covariates import Covariates
from kerastrans.data.missing import fill_gaps
from kerastrans.data.scaling import WindowScaler
from kerastrans.data.tables.reader import Reading
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import offset_of
from kerastrans.data.time.seasons import Seasons
from kerastrans.decoding.graph import history_input, inputs_of, is_autoregressive, takes_missing
from kerastrans.forecasting.conformal.intervals import ConformalIntervals
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.inference.config import AUTO, Config
from kerastrans.forecasting.inference.recipe import FitCall
from kerastrans.forecasting.inference.runtime import runtime_of
from kerastrans.heads.bounded import Bounded
from kerastrans.models.parts.forecast_graph import (
    LEAST,
    build_forecast_graph,
    equivariance_of,
    least_inputs,
)
from kerastrans.utils.batch_sizes import run_padded
from kerastrans.utils.compilation import compile_inference
from kerastrans.utils.validation import check_percents

LEVELS = (80, 95)
# Arguments that `fit` resolves, as a file holds them next to those that were given.
RESOLVED = ("context_length", "calendar", "scaler")


def _stored(write=lambda x: x, read=lambda x: x, is_valid=lambda x: True, rule=""):
    """Return the metadata of a field that files have.

    Args:
        write: Function from the value to what JSON has.
        read: Function back.
        is_valid: Function from what JSON has to whether a fit can have written it.
        rule: str, what is valid, for the message.
    """
    return {"write": write, "read": read, "is_valid": is_valid, "rule": rule}


def _object(kind):
    """Return the metadata of a field whose value, or None, has `to_dict` and `from_dict`."""
    return _stored(lambda x: x and x.to_dict(), lambda x: x and kind.from_dict(x))


def _is_int64(value):
    return type(value) is int and abs(value) < 2**63


def _is_text(value):
    return isinstance(value, str | None)


def _is_clock(value):
    if value is not None:
        offset_of(value["freq"])  # raises ValueError
    return value is None or all(_is_int64(value.get(name, 0)) for name in ("phase", "anchor"))


_STEPS = _stored(
    is_valid=lambda x: all(map(_is_int64, x.values())), rule="must hold integers, one a series"
)
_TEXT = _stored(is_valid=_is_text, rule="must be text")
_RECORD = _stored(is_valid=lambda x: isinstance(x, dict | None), rule="must be an object")


@dataclass(frozen=True)
class FittedState:
    """Trained model, and the settings and encodings that its training data were read with.

    Attributes:
        config: `Config` with the architecture, context and calendar that `fit` chose.
        model: Keras model of scaled windows.
        clock: `Clock` of the training data; None for a model that reads series of any frequency.
        covariates: `Covariates`, the encodings of the columns.
        channels: Tuple of the columns of a wide frame, None for long ones.
        trained: Dict of series -> the clock's number of the step after its last training row.
        intervals: `ConformalIntervals`, or None.
        chosen_by: Dict of series -> the clock's number of the step after the last row that early
            stopping monitored.
        history: History of `keras.Model.fit`, or None; it is not saved.
        given_freq: Frequency to read frames by if there is no clock; None to infer it.
        trainable: Weights that training changes: "all", "lora" or "head", see
            `kerastrans.from_pretrained`.
        lora_rank: Rank of the adapters of "lora".
        card: Dict that describes the origin of published weights; None for other models.
        made_by: Name of the function that made an ensemble, which cannot be trained again as one
            model; None for other models.
        dependence: `Dependence` of the errors over steps and series, for sample paths; None if it
            was not learnt.
        read_as: Dict of how the file of the training data was read, see
            `kerastrans.data.read_table`; None if it is not known.
        seasons: `Seasons` of the training data; None before `fit`.
        adapted_from: `FittedState` with the horizon of the model, which this one was adapted from;
            None for itself. It is not saved.
        fits: Tuple of `FitCall`, one for each call of `fit`, the oldest first.
        fine_tuning: Dict of whether `fit` kept the published weights, the trained ones or their
            average, and why, see `training.comparison.Verdict`; None for other models.
    """

    config: Config
    model: keras.Model
    clock: Clock | None = field(
        metadata=_stored(
            lambda x: x and asdict(x),
            lambda x: x and Clock(**x),
            _is_clock,
            "must have integers as phase and anchor",
        )
    )
    covariates: Covariates = field(metadata=_object(Covariates))
    channels: tuple | None = field(
        default=None,
        metadata=_stored(
            lambda x: x and list(x),
            lambda x: x and tuple(x),
            lambda x: x is None or (isinstance(x, list) and all(isinstance(y, str) for y in x)),
            "must be a list of text",
        ),
    )
    trained: dict = field(default_factory=dict, metadata=_STEPS)
    intervals: ConformalIntervals | None = field(default=None, metadata=_object(ConformalIntervals))
    chosen_by: dict = field(default_factory=dict, metadata=_STEPS)
    history: object = None
    given_freq: str | None = field(default=None, metadata=_TEXT)
    trainable: str = field(
        default="all",
        metadata=_stored(
            is_valid=lambda x: x in ("all", "lora", "head"), rule="must be 'all', 'lora' or 'head'"
        ),
    )
    lora_rank: int = field(
        default=8,
        metadata=_stored(
            is_valid=lambda x: _is_int64(x) and x > 0, rule="must be a positive integer"
        ),
    )
    card: dict | None = field(default=None, metadata=_RECORD)
    made_by: str | None = field(default=None, metadata=_TEXT)
    dependence: Dependence | None = field(default=None, metadata=_object(Dependence))
    read_as: dict | None = field(
        default=None,
        # `Reading` raises TypeError if it is damaged.
        metadata=_stored(is_valid=lambda x: Reading(**(x or {})) is not None),
    )
    fine_tuning: dict | None = field(default=None, metadata=_RECORD)
    fits: tuple = field(
        default=(),
        metadata=_stored(
            lambda x: [asdict(call) for call in x],
            lambda x: tuple(FitCall.from_dict(call) for call in x),
        ),
    )
    seasons: Seasons | None = field(default=None, metadata=_object(Seasons))
    adapted_from: "FittedState | None" = None

    def __getstate__(self):
        """Return the fields: what is compiled or derived belongs to the model, see `Runtime`."""
        return {x.name: getattr(self, x.name) for x in fields(self)}

    @property
    def freq(self):
        """Frequency of the training data, or the given one; None for a model of any frequency."""
        return self.clock.freq if self.clock else self.given_freq

    @property
    def decodes(self):
        """Whether the model is autoregressive."""
        return is_autoregressive(self.model)

    @property
    def native(self):
        """State with the horizon of the model; this one, or the one that it was adapted from."""
        return self.adapted_from or self

    @property
    def native_length(self):
        """Number of steps that the model forecasts at once; any number if it decodes."""
        return self.config.prediction_length if self.decodes else self.model.output_shape[1]

    @property
    def reach(self):
        """Number of steps after a history that must be in a frame, for outcomes or covariates."""
        steps = self.config.prediction_length
        return max(steps, self.native_length) if self.covariates.future else steps

    @functools.cached_property
    def head(self):
        """Head of the forecast: that of the model, or samples that are drawn from it."""
        head = heads.of(self.model)
        return heads.Samples(head) if self.decodes and hasattr(head, "draw") else head

    def output(self, low=None, high=None):
        """Return the head of parameters in the units of the series, within their bounds.

        Args:
            low: Lower bound, see `kerastrans.heads.bounded`; None for no bound.
            high: Upper bound, like `low`.
        """
        return self.head if low is None and high is None else Bounded(self.head, low, high)

    def with_intervals(self, intervals):
        """Return the state with these conformal intervals."""
        return replace(self, intervals=intervals)

    def with_samples(self, num_samples, seed):
        """Return the state that draws another number of samples, if it draws any."""
        if not self.decodes:
            return self
        config = self.config.changed(num_samples=num_samples, seed=seed)
        return replace(self, config=config)

    def check_has_distribution(self, argument):
        """Raise ValueError, which names an argument, for points without conformal intervals."""
        if self.intervals is None and isinstance(self.head, heads.PointHead):
            raise ValueError(
                f"{argument} requires a distribution, got a point forecast: call calibrate first, "
                'or train with a head such as "quantiles".'
            )

    def levels(self, levels):
        """Return the given percents after checks, or the default levels.

        Raises:
            ValueError: If levels are not percents, were not calibrated, or the forecast is a point.
        """
        levels = None if levels is None else check_percents(levels)
        if self.intervals is not None:
            calibrated = tuple(self.intervals.offsets)
            unknown = sorted(set(levels or ()) - set(calibrated))
            if unknown:
                raise ValueError(f"calibrated for levels {calibrated}, asked for {unknown}.")
            return calibrated if levels is None else levels
        if isinstance(self.head, heads.PointHead):
            if levels:
                raise ValueError(
                    "a point forecast has no intervals: call calibrate, or train with a head."
                )
            return ()
        if levels is not None:
            return levels
        available = self.head.interval_levels
        return LEVELS if available is None else tuple(x for x in LEVELS if x in available)

    @property
    def equivariance(self):
        """Equivariance of the forecast to shifting and scaling the history."""
        return equivariance_of(self.model, self.config.scaler, self.config.fill)

    @property
    def least(self):
        """Dict of the graph's inputs for least scales of windows -> scalers that measure them.

        The inputs for the members of an ensemble are inputs of the model itself.
        """
        scaler = self.config.scaler
        return least_inputs(self.model) if scaler.is_identity else {LEAST: scaler}

    @property
    def pretrained(self):
        """`KerastransZero` of the model, which can read fewer steps; None for other models."""
        if self.card is None:
            return None
        runtime = runtime_of(self.model)
        if not runtime.pretrained:
            from kerastrans.models.pretrained.zero.port import pretrained_of

            runtime.pretrained = (pretrained_of(self.model),)
        return runtime.pretrained[0]

    @property
    def graph_lengths(self):
        """Numbers of last steps that the compiled graphs read, in increasing order."""
        length = self.config.context_length
        if self.pretrained is None:
            return [length]
        return sorted({min(self.pretrained.padded_length(n + 1), length) for n in range(length)})

    def _num_steps(self, history):
        """Return how many last steps the graph reads: fewer if kerastrans_zero knows no earlier."""
        if self.pretrained is None:
            return history.shape[1]
        is_known = ~np.isnan(history).all(axis=(0, 2))
        length = self.pretrained.padded_length(len(is_known) - int(is_known.argmax()))
        return min(length, history.shape[1])

    def _graph(self, num_steps):
        """Return the compiled forecast graph of `num_steps`, and the names of its inputs."""
        graphs, key = (
            runtime_of(self.model).graphs,
            (num_steps, self.config.scaler, self.config.fill),
        )
        if key not in graphs:
            is_whole = self.pretrained is None or num_steps == self.config.context_length
            model = self.model if is_whole else self.pretrained.shorten(self.model, num_steps)
            graph = build_forecast_graph(model, self.config.scaler, self.config.fill)
            graphs[key] = compile_inference(graph), [x.name for x in graph.inputs]
        return graphs[key]

    def run(self, inputs, at_least=1):
        """Return the parameters of the forecasts of some histories.

        Args:
            inputs: Dict of float arrays: "history" `(windows, context_length, num_channels)`, NaN
                if missing; least scales by their names; the other inputs of the model.
            at_least: int, smallest size of the batch, see `run_padded`.

        Returns:
            NumPy array `(windows, prediction_length, num_channels[, size])`, of samples if the
            model draws them, in the units of `inputs`.
        """
        if self.decodes:
            return self._decode(inputs, at_least)
        history = inputs["history"]
        num_steps = self._num_steps(history)
        function, names = self._graph(num_steps)
        missing = [name for name in names if name not in inputs]
        if missing:
            raise ValueError(f"the model takes the inputs {names}; {missing} are missing.")
        left_out = history.shape[1] - num_steps
        if left_out:
            timed = ("history", "past_covariates", "future_covariates")
            inputs |= {name: inputs[name][:, left_out:] for name in timed if name in inputs}
        arrays = [inputs[name] for name in names]
        return run_padded(lambda *x: [function(*x)], arrays, at_least)[0]

    def _decode(self, inputs, at_least):
        """Return the same as `run` for an autoregressive model; scaling is done in NumPy."""
        scaler, history = self.config.scaler, inputs["history"]
        least = inputs.get(LEAST, 0.0)
        center, scale = scaler.statistics(history, least=least)
        scaled = (fill_gaps(history, self.config.fill) - center) / scale
        if not takes_missing(self.model):
            scaled = np.nan_to_num(scaled)
        others = [inputs[tensor.name] for tensor in inputs_of(self.model)[1:-1]]
        arrays, steps = [scaled.astype("float32"), *others], self.config.prediction_length
        is_point = isinstance(self.head, heads.PointHead)
        options = () if is_point else (self.config.num_samples, self.config.seed)
        decode = decoding.generate if is_point else decoding.generate_samples
        outputs = run_padded(
            lambda *x: [decode(self.model, list(x), steps, *options)], arrays, at_least
        )[0]
        if not is_point:
            outputs = np.moveaxis(outputs, 1, -1)
        if not scaler.is_identity:
            found = scaler.settled(history, center, scale, least=least)
            outputs = self.head.rescale(outputs, *found)
        return outputs

    def to_dict(self):
        """Return the state as a dict for JSON, without the model, which `from_dict` reads."""
        settings = {name: getattr(self.config, name) for name in RESOLVED}
        settings["model"] = self.config.architecture
        if self.config.architecture is not None:  # a builder's are in the model
            settings["hyperparameters"] = self.config.hyperparameters
        stored = {
            x.name: x.metadata["write"](getattr(self, x.name)) for x in fields(self) if x.metadata
        }
        return {"settings": settings, **stored}

    @classmethod
    def from_dict(cls, config, model, stored):
        """Return the state that `to_dict` converted.

        Args:
            config: `Config` that was given.
            model: Keras model.
            stored: Dict.
        """
        settings = dict(stored["settings"])
        if settings["model"] is None:
            del settings["model"]
        if "scaler" in settings:  # not in files of version 0.3
            settings["scaler"] = WindowScaler(**settings["scaler"])
        steps = history_input(model).shape[1]
        if steps is not None and settings.get("context_length", steps) != steps:
            raise ValueError(f"context_length must be {steps}, as in the model.")
        known = {x.name: x.metadata for x in fields(cls) if x.metadata}
        for name, how in known.items():
            if not how["is_valid"](stored[name]):
                raise ValueError(f"{name} {how['rule']}.")
        config = replace(config, **settings)
        if config.model == AUTO:  # it had chosen published weights, or an average with them
            name = stored["card"]["name"] if stored["card"] else model.name
            config = config.with_published(model, name, config.calendar)
        return cls(
            config, model, **{name: how["read"](stored[name]) for name, how in known.items()}
        )


def state_of(reader, model, **facts):
    """Return the `FittedState` of a model of the frames of a `Reader`, with other fields."""
    return FittedState(
        reader.config, model, reader.clock, reader.covariates, reader.channels, **facts
    )
