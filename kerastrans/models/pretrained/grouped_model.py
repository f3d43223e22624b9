"""The base class of pretrained models that forecast variates together, with covariates."""

import functools

import keras
import numpy as np
from keras import ops

from kerastrans.models.parts.regression import covariate_inputs
from kerastrans.models.pretrained.arrays import as_levels, compile_by_name
from kerastrans.models.pretrained.base import ROWS, PretrainedModel
from kerastrans.models.pretrained.groups import alike, joined, read_tasks, stacked
from kerastrans.utils.validation import check_positive_integers


class GroupedModel(PretrainedModel):
    """A published network whose rows, variates of a series and covariates, inform each other."""

    def quantiles(self, history, prediction_length, known=None):
        """Forecast groups of tensors, as a part of the graph of a model.

        Args:
            history: `(batch, rows, time)`, NaN where missing: the variates of each series, the past
                covariates, and the past of the future covariates.
            prediction_length: int, number of steps to forecast.
            known: `(batch, columns, prediction_length)`, the future of the last rows, or None.

        Returns:
            `(batch, rows, prediction_length, len(levels))`, for at least the variates of the
            series.
        """
        raise NotImplementedError

    def padded_length(self, length):
        """See `PretrainedModel.padded_length`; `length` is at most `max_context`."""
        raise NotImplementedError

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        """Build a functional Keras model of a group of channels and covariates.

        Args:
            context_length: int, number of steps of the history.
            prediction_length: int, number of steps to forecast.
            num_channels: int, number of channels, which are forecast together.
            covariates: Dict of "past" and "future": a tuple with a 0 for each column, as in
                `kerastrans.models.parts.regression.covariate_inputs`.

        Returns:
            A model from `(batch, context_length, num_channels)` or, with covariates, from a dict
            with "past_covariates" and "future_covariates" too, to
            `(batch, prediction_length, num_channels, len(levels))`.

        Raises:
            ValueError: If a size is below 1, or covariates are static or categorical.
        """
        sizes = {"context_length": context_length, "prediction_length": prediction_length}
        check_positive_integers(**sizes, num_channels=num_channels)
        covariates = {kind: columns for kind, columns in (covariates or {}).items() if columns}
        name = self.network.name
        if "static" in covariates or any(map(any, covariates.values())):
            raise ValueError(
                f"{name} takes no static covariates and no categories, only numeric past and "
                "future covariates."
            )
        inputs = {"history": keras.Input((context_length, num_channels), name="history")}
        inputs |= covariate_inputs(context_length, prediction_length, covariates)
        rows = {kind: ops.transpose(x, (0, 2, 1)) for kind, x in inputs.items()}
        known = rows.get("future_covariates")
        past = [x[..., :context_length] for x in rows.values()]
        history = past[0] if len(past) == 1 else ops.concatenate(past, axis=1)
        known = None if known is None else known[..., context_length:]
        x = self.quantiles(history, prediction_length, known)[:, :num_channels]
        forecast = self.head()(ops.transpose(x, (0, 2, 1, 3)))
        inputs = inputs if len(inputs) > 1 else inputs["history"]
        return keras.Model(inputs, forecast, name=name)

    def forecast(
        self,
        series,
        prediction_length,
        quantile_levels=None,
        past_covariates=None,
        future_covariates=None,
        cross_learning=False,
    ):
        """Forecast series of any lengths, see `PretrainedModel.forecast`.

        The variates of a series and its covariates inform each other; with `cross_learning` all
        series do, in groups of about 256 rows. A covariate in `future_covariates` must have its
        past, of the length of the series, under the same name in `past_covariates`.
        """
        check_positive_integers(prediction_length=prediction_length)
        levels = as_levels(quantile_levels)
        tasks = read_tasks(series, prediction_length, past_covariates, future_covariates)
        groups = joined(tasks, ROWS) if cross_learning else tasks
        lengths = self.padded_lengths([group.target.shape[-1] for group in groups])
        forecasts = [None] * len(groups)
        for (length, *sizes), numbers in alike(groups, lengths, ROWS):
            run = self._compiled(length, prediction_length, *sizes)
            inputs = stacked([groups[number] for number in numbers], length, self.max_context)
            for number, quantiles in zip(numbers, run(**inputs), strict=True):
                forecasts[number] = np.swapaxes(quantiles, 0, 1)
        ends = np.cumsum([len(task.target) for task in tasks])[:-1]
        parts = np.split(np.concatenate(forecasts), ends)
        return [self.summary(part, levels) for part in parts]

    def padded_lengths(self, lengths):
        """Return the padded length of each history; by default that of the longest for all."""
        longest = self.padded_length(min(self.max_context, max(lengths)))
        return [longest] * len(lengths)

    @functools.lru_cache(maxsize=32)  # noqa: B019 - a model lives as long as its weights
    def _compiled(self, length, prediction_length, num_channels, past, future):
        covariates = {"past": (0,) * past, "future": (0,) * future}
        return compile_by_name(self.build(length, prediction_length, num_channels, covariates))
