"""The base class of pretrained models: forecasts of arrays, and a functional Keras model."""

import functools

import keras
import numpy as np
from keras import ops

from kerastrans.heads.quantile import CLOSE, GivenQuantiles
from kerastrans.models.pretrained.arrays import (
    as_levels,
    as_tasks,
    left_padded,
    refuse_covariates,
    refuse_extras,
)
from kerastrans.utils.compilation import compile_inference
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_levels, check_positive_integers

ROWS = 256  # number of series that one call of the network forecasts


class PretrainedModel:
    """A published network with its weights.

    A subclass sets the attributes and defines `quantiles` and `padded_length`; it may override
    `off_grid`, `point_weights` and `_with`. The weights are in `network`, a functional Keras model.
    All models that `build` returns share it, so training one of them trains all.

    Attributes:
        network: Keras model from the tokens of a window to the raw forecast.
        levels: Tuple of float, the trained quantile levels.
        max_context: int, number of steps of the longest history that the model reads.
        padding: float, value that short histories are padded with on the left.
        usual_context: int, default number of steps of the history, at most `max_context`.
        option_names: Tuple of names of the options that `with_options` takes.
        equivariance: "affine" or "scale" if the forecast of a shifted or scaled history is the
            forecast, shifted or scaled alike; "" otherwise, see `kerastrans.data.pivot`.
    """

    padding = np.nan
    rows_at_once = ROWS
    usual_context = 512
    option_names = ()
    equivariance = ""

    def __init__(self, network, levels, max_context):
        self.network = network
        self.levels = check_levels(levels)
        self.max_context = max_context

    @property
    def default_context(self):
        """Number of steps of the history if none is given."""
        return min(self.usual_context, self.max_context)

    @property
    def point_weights(self):
        """Weights of the quantiles in the point forecast of the authors; None for the median."""
        return None

    def with_options(self, **options):
        """Return a model that shares the weights, with other options of the authors' package.

        Args:
            **options: Options in `option_names`, see the docstring of the model.

        Raises:
            ValueError: If an option is unknown or invalid.
        """
        unknown = sorted(set(options) - set(self.option_names))
        if unknown:
            known = (
                f"the options {', '.join(self.option_names)}" if self.option_names else "no options"
            )
            raise ValueError(f"{self.network.name} has {known}, got {unknown}.")
        return self._with(**options) if options else self

    def _with(self, **options):
        """Return the model with these known options."""
        raise NotImplementedError

    def quantiles(self, history, prediction_length):
        """Forecast a history of tensors, as a part of the graph of a model.

        Args:
            history: `(batch, context_length)`, NaN where missing.
            prediction_length: int, number of steps to forecast.

        Returns:
            `(batch, prediction_length, len(levels))`.
        """
        raise NotImplementedError

    def last_part(self, row):
        """Return the part of a series `(time,)` that the model reads."""
        return row[-self.max_context :]

    def padded_length(self, length):
        """Return the number of steps that a history of `length` steps is padded to.

        The result has few different values, since the model is compiled for each of them.
        """
        raise NotImplementedError

    def at_levels(self, quantiles, levels):
        """Return quantiles at any levels, a NumPy array `(..., len(levels))`.

        If all levels were trained, their quantiles are selected; otherwise see `off_grid`.

        Args:
            quantiles: NumPy array `(..., len(self.levels))`.
            levels: Probabilities, in any order.
        """
        distances = np.abs(np.subtract.outer(np.asarray(levels), self.levels))
        if (distances.min(axis=1) <= CLOSE).all():
            return quantiles[..., distances.argmin(axis=1)]
        return self.off_grid(quantiles, levels)

    def off_grid(self, quantiles, levels):
        """Return quantiles at levels that were not all trained.

        They are interpolated linearly between the trained levels, and constant beyond the outermost
        ones.
        """
        trained = np.asarray(self.levels)
        right = np.clip(np.searchsorted(trained, levels), 1, len(trained) - 1)
        low, high = trained[right - 1], trained[right]
        share = np.clip((np.asarray(levels) - low) / (high - low), 0, 1).astype(quantiles.dtype)
        below, above = quantiles[..., right - 1], quantiles[..., right]
        return below + share * (above - below)

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        """Build a functional Keras model, like those of `kerastrans.zoo`, with these weights.

        Args:
            context_length: int, number of steps of the history.
            prediction_length: int, number of steps to forecast.
            num_channels: int, number of channels; each is forecast separately.
            covariates: None or empty; for models that take covariates see `GroupedModel.build`.

        Returns:
            A model from `(batch, context_length, num_channels)`, NaN where missing, to
            `(batch, prediction_length, num_channels, len(levels))`, without the last axis for a
            model of points. A channel begins with its first known value.

        Raises:
            ValueError: If a size is below 1, or there are covariates.
        """
        refuse_covariates(self.network.name, covariates)
        sizes = {"context_length": context_length, "prediction_length": prediction_length}
        check_positive_integers(**sizes, num_channels=num_channels)
        return self._build(**sizes, num_channels=num_channels, begins_with_known=True)

    def _build(self, context_length, prediction_length, num_channels, begins_with_known):
        """Return the model of `build`, or one whose series can begin with a missing value.

        Steps before the start of a series are then `self.padding`.
        """
        history = keras.Input((context_length, num_channels), name="history")
        marks_start = begins_with_known and np.isinf(self.padding)
        rows = SeriesStart()(history) if marks_start else history
        rows = ops.reshape(ops.transpose(rows, (0, 2, 1)), (-1, context_length))
        x = self.quantiles(rows, prediction_length)
        x = ops.reshape(x, (-1, num_channels, prediction_length, len(self.levels)))
        x, head = ops.transpose(x, (0, 2, 1, 3)), self.head()
        forecast = head(x if head.has_parameter_axis else x[..., 0])
        return keras.Model(history, forecast, name=self.network.name)

    def forecast(
        self,
        series,
        prediction_length,
        quantile_levels=None,
        past_covariates=None,
        future_covariates=None,
        cross_learning=False,
    ):
        """Forecast series of any lengths, each separately.

        Args:
            series: List of arrays `(time,)` or `(variates, time)`, NaN where missing. If a series
                is longer than `max_context`, its last part is used.
            prediction_length: int, number of steps to forecast.
            quantile_levels: Probabilities; by default 0.1, 0.2 ... 0.9.
            past_covariates: List of one dict of arrays `(time,)` per series, for a model that takes
                covariates.
            future_covariates: List of one dict of arrays `(prediction_length,)` per series.
            cross_learning: bool, whether the series inform each other.

        Returns:
            A list of one dict per series: "quantiles" `(variates, prediction_length, levels)` and
            "mean" `(variates, prediction_length)`, the point forecast.

        Raises:
            ValueError: If the list is empty, a series has no step or an infinite value, a level is
                outside (0, 1), or the model does not take an argument.
        """
        refuse_extras(self.network.name, past_covariates, future_covariates, cross_learning)
        check_positive_integers(prediction_length=prediction_length)
        levels = as_levels(quantile_levels)
        tasks = as_tasks(series)
        rows = [self.last_part(row) for task in tasks for row in task]
        length = self.padded_length(max(map(len, rows)))
        padded = np.stack([left_padded(row, length, self.padding) for row in rows])
        batches = np.array_split(padded, -(-len(padded) // self.rows_at_once))
        found = np.concatenate([self.run(batch, prediction_length) for batch in batches])
        ends = np.cumsum([len(task) for task in tasks])[:-1]
        return [self.summary(part, levels) for part in np.split(found, ends)]

    def run(self, rows, prediction_length):
        """Return what `summary` reads of padded series `(rows, time)`: here, quantiles.

        Args:
            rows: Array `(rows, time)`.
            prediction_length: int, number of steps to forecast.

        Returns:
            Array `(rows, prediction_length, len(self.levels))`.
        """
        found = np.asarray(self._compiled(rows.shape[1], prediction_length)(rows[..., None]))
        return found[:, :, 0].reshape(*found.shape[:2], len(self.levels))

    def summary(self, found, levels):
        """Return the dict of one series, see `forecast`, from its rows of `run`."""
        return {"quantiles": self.at_levels(found, levels), "mean": self.point(found)}

    def head(self):
        """Return the head of a functional model, whose point is that of the authors' package."""
        return GivenQuantiles(self.levels, self.point_weights, equivariance=self.equivariance)

    def point(self, quantiles):
        """Return the point forecast `(...)` of NumPy quantiles `(..., len(self.levels))`."""
        if self.point_weights is None:
            return self.at_levels(quantiles, (0.5,))[..., 0]
        return quantiles @ np.asarray(self.point_weights, quantiles.dtype)

    @functools.lru_cache(maxsize=32)  # noqa: B019 - a model lives as long as its weights
    def _compiled(self, length, prediction_length):
        return compile_inference(self._build(length, prediction_length, 1, begins_with_known=False))


@keras.saving.register_keras_serializable(package="kerastrans")
class SeriesStart(keras.layers.Layer):
    """Replaces the missing values before the first known one by infinity.

    Networks that distinguish missing steps of a series, NaN, from steps before its start, infinite,
    then read a window that is padded with NaN as a shorter series.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, num_channels)`, NaN where missing.

    Returns:
        Tensor of the same shape.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> window = np.array([[[np.nan], [1.0], [np.nan], [3.0]]])
        >>> ops.convert_to_numpy(SeriesStart()(window)).ravel().tolist()
        [inf, 1.0, nan, 3.0]
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def call(self, inputs):
        known = ops.cast(ops.logical_not(ops.isnan(inputs)), inputs.dtype)
        begun = ops.cumsum(known, axis=1) > 0
        return ops.where(begun, inputs, ops.full_like(inputs, np.inf))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
