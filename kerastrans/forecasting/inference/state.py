"""What training leaves: a frozen state, from which every forecast is made."""

import functools
from dataclasses import asdict, dataclass, field, replace

import keras
import numpy as np

from kerastrans import heads
from kerastrans.data.covariates import Covariates
from kerastrans.data.time.clock import Clock
from kerastrans.decoding.generation import generate, is_autoregressive
from kerastrans.decoding.sampling import generate_samples
from kerastrans.forecasting.conformal.intervals import ConformalIntervals
from kerastrans.utils.backend import compile_inference
from kerastrans.utils.validation import check_percents

LEVELS = (80, 95)
BATCH = 256  # windows forecast at once
# Files of earlier versions lack these.
LATER = ("chosen_by", "given_freq", "trainable", "lora_rank", "card")


@dataclass(frozen=True)
class Fitted:
    """A trained model, and what it needs to read the next frame as it read its training data.

    Attributes:
        model: Keras model.
        clock: `Clock` of the training data; None for a model that reads series of any frequency.
        covariates: `Covariates`, how their columns become numbers.
        channels: tuple of the columns of a wide frame, None for long ones.
        trained: dict of series -> the clock's number of the step after its last training row.
        intervals: `ConformalIntervals`, or None.
        chosen_by: dict of series -> the clock's number of the step after the last row that chose
            when the training stopped.
        history: of `keras.Model.fit`, or None; it is not saved.
        given_freq: frequency to read frames by where there is no clock; None to infer it.
        trainable: what training changes: "all" weights, "lora" or "head", see
            `kerastrans.from_pretrained`.
        lora_rank: int, of "lora".
        card: dict of where published weights come from; None of other models.
    """

    model: keras.Model
    clock: Clock | None
    covariates: Covariates
    channels: tuple | None = None
    trained: dict = field(default_factory=dict)
    intervals: ConformalIntervals | None = None
    chosen_by: dict = field(default_factory=dict)
    history: object = None
    given_freq: str | None = None
    trainable: str = "all"
    lora_rank: int = 8
    card: dict | None = None

    @property
    def freq(self):
        """Frequency of the training data, or the given one; None for a model of any frequency."""
        return self.clock.freq if self.clock else self.given_freq

    @property
    def decodes(self):
        """Whether the model forecasts step by step."""
        return is_autoregressive(self.model)

    @functools.cached_property
    def head(self):
        """What reads the forecast: the model's head, or samples that were drawn from it."""
        head = heads.of(self.model)
        return heads.Samples(head) if self.decodes and hasattr(head, "draw") else head

    def with_intervals(self, intervals):
        """The same state with these conformal intervals."""
        return replace(self, intervals=intervals)

    def levels(self, levels):
        """The percents asked for, checked, or those that there are by default.

        Raises:
            ValueError: levels that are no percents, that were not calibrated, or of points.
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

    @functools.cached_property
    def _run_batch(self):
        return compile_inference(self.model)

    def run(self, inputs, config):
        """The model's output for some windows, NumPy `(windows, prediction_length, ...)`.

        Args:
            inputs: array, or dict of arrays by the names of the model's inputs.
            config: `Config`, of the samples.
        """
        names = [tensor.name for tensor in self.model.inputs][: -1 if self.decodes else None]
        arrays = [inputs[name] for name in names] if isinstance(inputs, dict) else [inputs]
        if not self.decodes:
            return _padded(self._run_batch, arrays)
        steps = config.prediction_length
        if isinstance(self.head, heads.PointHead):
            return _padded(lambda *x: generate(self.model, list(x), steps), arrays)
        options = steps, config.num_samples, config.seed
        samples = _padded(lambda *x: generate_samples(self.model, list(x), *options), arrays)
        return np.moveaxis(samples, 1, -1)

    def to_dict(self):
        """JSON-ready, but for the model; `from_dict` reads it."""
        return {
            "clock": self.clock and asdict(self.clock),
            "covariates": self.covariates.to_dict(),
            "channels": self.channels and list(self.channels),
            "trained": self.trained,
            "intervals": self.intervals and self.intervals.to_dict(),
            "chosen_by": self.chosen_by,
            "given_freq": self.given_freq,
            "trainable": self.trainable,
            "lora_rank": self.lora_rank,
            "card": self.card,
        }

    @classmethod
    def from_dict(cls, model, stored):
        """The state of this model from what `to_dict` returned."""
        return cls(
            model,
            stored["clock"] and Clock(**stored["clock"]),
            Covariates.from_dict(stored["covariates"]),
            stored["channels"] and tuple(stored["channels"]),
            stored["trained"],
            stored["intervals"] and ConformalIntervals.from_dict(stored["intervals"]),
            **{name: stored[name] for name in LATER if name in stored},
        )


def _padded(function, arrays):
    """`function(*arrays)` on batches that are filled up to a few sizes, each compiled once."""
    count = len(arrays[0])
    size = next(size for size in (1, 8, 64, BATCH, count) if size >= count)
    filled = [np.concatenate([x, np.repeat(x[-1:], size - count, axis=0)]) for x in arrays]
    return np.asarray(function(*filled))[:count]
