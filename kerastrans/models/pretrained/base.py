"""What all pretrained models share: a call on arrays, and a functional model for the Forecaster."""

import functools

import keras
import numpy as np
from keras import ops

from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.heads.quantile import CLOSE
from kerastrans.models.pretrained.arrays import (
    as_levels,
    as_tasks,
    left_padded,
    refuse_covariates,
    refuse_extras,
)
from kerastrans.utils.backend import compile_inference
from kerastrans.utils.validation import check_levels, check_positive_integers

ROWS = 256  # forecast at once


class PretrainedModel:
    """A published network with its weights.

    A subclass sets the attributes and defines `quantiles`; `at_levels` and `point` where it
    differs. The weights are in `network`, a functional Keras model that all models which `build`
    makes share: to train one is to train them all.

    Attributes:
        network: Keras model, from the tokens of a window to the raw forecast.
        levels: tuple of float, the quantiles that were trained.
        max_context: int, the longest history that it reads, in steps.
        padding: float, what short histories are filled up with on the left.
        usual_context: int, steps of history where no other number is given and it reads as many.
        equivariance: "affine" or "scale" if the forecast of a shifted or scaled history is the
            forecast, shifted or scaled alike; "" otherwise, see `kerastrans.data.pivot`.
    """

    padding = np.nan
    usual_context = 512
    equivariance = ""

    def __init__(self, network, levels, max_context):
        self.network = network
        self.levels = check_levels(levels)
        self.max_context = max_context

    def quantiles(self, history, prediction_length):
        """The forecast of a history, on tensors, as a part of a model's graph.

        Args:
            history: `(batch, context_length)`, NaN where missing.
            prediction_length: int.

        Returns:
            `(batch, prediction_length, len(levels))`.
        """
        raise NotImplementedError

    def last_part(self, row):
        """What of a series `(time,)` is read."""
        return row[-self.max_context :]

    def padded_length(self, length):
        """The steps to which a history of `length` steps is padded: few sizes, each compiled once.

        What is padded on the left is `padding`.
        """
        raise NotImplementedError

    def at_levels(self, quantiles, levels):
        """Quantiles at any levels, NumPy `(..., len(levels))`: where all were trained, as they are.

        Args:
            quantiles: NumPy `(..., len(self.levels))`.
            levels: probabilities, in any order.
        """
        distances = np.abs(np.subtract.outer(np.asarray(levels), self.levels))
        if (distances.min(axis=1) <= CLOSE).all():
            return quantiles[..., distances.argmin(axis=1)]
        return self.off_grid(quantiles, levels)

    def off_grid(self, quantiles, levels):
        """Quantiles at levels of which one was not trained; here linear between the trained ones.

        Beyond the outermost levels they are constant.
        """
        trained = np.asarray(self.levels)
        right = np.clip(np.searchsorted(trained, levels), 1, len(trained) - 1)
        low, high = trained[right - 1], trained[right]
        share = np.clip((np.asarray(levels) - low) / (high - low), 0, 1).astype(quantiles.dtype)
        below, above = quantiles[..., right - 1], quantiles[..., right]
        return below + share * (above - below)

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        """A functional Keras model, as those of `kerastrans.zoo`, that shares these weights.

        Args:
            context_length: int, steps of history.
            prediction_length: int, steps to forecast.
            num_channels: int, each forecast on its own.
            covariates: none of them, see `GroupedModel.build` for models that take some.

        Returns:
            A model from `(batch, context_length, num_channels)`, NaN where missing, to
            `(batch, prediction_length, num_channels, len(levels))`.

        Raises:
            ValueError: A size below 1, or covariates.
        """
        refuse_covariates(self.network.name, covariates)
        sizes = {"context_length": context_length, "prediction_length": prediction_length}
        check_positive_integers(**sizes, num_channels=num_channels)
        history = keras.Input((context_length, num_channels), name="history")
        rows = ops.reshape(ops.transpose(history, (0, 2, 1)), (-1, context_length))
        x = self.quantiles(rows, prediction_length)
        x = ops.reshape(x, (-1, num_channels, prediction_length, len(self.levels)))
        head = GivenQuantiles(self.levels, equivariance=self.equivariance)
        forecast = head(ops.transpose(x, (0, 2, 1, 3)))
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
        """Forecasts of series of any lengths, each by itself.

        Args:
            series: list of arrays `(time,)` or `(variates, time)`, NaN where missing; of one that
                is longer than `max_context` the last part is used.
            prediction_length: int, steps to forecast.
            quantile_levels: probabilities; by default 0.1, 0.2 ... 0.9.
            past_covariates: list of dicts of arrays `(time,)`, one a series, for a model that
                takes them.
            future_covariates: list of dicts of arrays `(prediction_length,)`.
            cross_learning: bool, whether the series inform each other.

        Returns:
            A list of dicts, one a series: "quantiles" `(variates, prediction_length, levels)` and
            "mean" `(variates, prediction_length)`, the point forecast.

        Raises:
            ValueError: No series, one without a step or with an infinite value, a level outside
                (0, 1), or what the model cannot take.
        """
        refuse_extras(self.network.name, past_covariates, future_covariates, cross_learning)
        check_positive_integers(prediction_length=prediction_length)
        levels = as_levels(quantile_levels)
        tasks = as_tasks(series)
        rows = [self.last_part(row) for task in tasks for row in task]
        length = self.padded_length(max(map(len, rows)))
        padded = np.stack([left_padded(row, length, self.padding) for row in rows])
        run = self._compiled(length, prediction_length)
        batches = np.array_split(padded, -(-len(padded) // ROWS))
        found = np.concatenate([np.asarray(run(batch[..., None]))[:, :, 0] for batch in batches])
        ends = np.cumsum([len(task) for task in tasks])[:-1]
        return [
            {"quantiles": self.at_levels(part, levels), "mean": self.point(part)}
            for part in np.split(found, ends)
        ]

    def point(self, quantiles):
        """The point forecast, NumPy `(...)`, of quantiles `(..., len(self.levels))`: the median."""
        return self.at_levels(quantiles, (0.5,))[..., 0]

    @functools.lru_cache(maxsize=32)  # noqa: B019 - a model lives as long as its weights
    def _compiled(self, length, prediction_length):
        return compile_inference(self.build(length, prediction_length))
