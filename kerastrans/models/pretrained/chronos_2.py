"""Chronos-2: groups of series with covariates, forecast together (Ansari et al., 2025)."""

import functools

import keras
import numpy as np
from keras import ops

from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.models.covariates import covariate_inputs
from kerastrans.models.pretrained.base import ROWS, PretrainedModel, as_levels
from kerastrans.models.pretrained.checkpoint import assign
from kerastrans.models.pretrained.chronos_2_network import build_network, read_core, read_own
from kerastrans.models.pretrained.chronos_2_paths import GroupForecast
from kerastrans.models.pretrained.groups import alike, joined, read_tasks, stacked
from kerastrans.models.pretrained.scaling import few_patches
from kerastrans.utils.backend import compile_by_name
from kerastrans.utils.validation import check_positive_integers

ARCHITECTURE = "Chronos2Model"


def reads(config):
    """Whether a configuration is one of Chronos-2."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """The model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    own = read_own(config)
    network, layout = build_network(read_core(config), own)
    assign(tensors, layout)
    return Chronos2(network, own)


class Chronos2(PretrainedModel):
    """Chronos-2 with its published weights, see `PretrainedModel`.

    The series of a group are forecast together: the variates of a target, and its covariates.
    Every series is normalised by its own observed values and cut into patches of time, value and
    mask; what is known of the future is in the patches of the future. Blocks attend along time and,
    at each time, along the series of the group. How many patches the future has follows from the
    horizon, so that the first step of a short forecast is not the first step of a long one.

    Beyond the native horizon the deciles are appended to the history as a path each, see
    `kerastrans.models.pretrained.chronos_2_paths.GroupForecast`.

    Source: Ansari et al. (2025), "Chronos-2: From univariate to universal forecasting".
    """

    def __init__(self, network, own):
        super().__init__(network, own["quantiles"], own["context_length"])
        self.groups = GroupForecast(network, own)

    def build(self, context_length, prediction_length, num_channels=1, covariates=None):
        """A functional Keras model of one group of channels and covariates, see `PretrainedModel`.

        Args:
            context_length: int, steps of history.
            prediction_length: int, steps to forecast.
            num_channels: int, forecast together.
            covariates: dict of "past" and "future", a tuple with a 0 for each column, as in
                `kerastrans.models.covariates.covariate_inputs`.

        Returns:
            A model of `(batch, context_length, num_channels)` or, with covariates, of a dict with
            "past_covariates" and "future_covariates" too, to
            `(batch, prediction_length, num_channels, len(levels))`.

        Raises:
            ValueError: A size below 1, or covariates that are static or categories.
        """
        sizes = {"context_length": context_length, "prediction_length": prediction_length}
        check_positive_integers(**sizes, num_channels=num_channels)
        covariates = {kind: columns for kind, columns in (covariates or {}).items() if columns}
        if "static" in covariates or any(map(any, covariates.values())):
            raise ValueError(
                "chronos_2 takes no static covariates and no categories: only numbers."
            )
        inputs = {"history": keras.Input((context_length, num_channels), name="history")}
        inputs |= covariate_inputs(context_length, prediction_length, covariates)
        rows = {name: ops.transpose(x, (0, 2, 1)) for name, x in inputs.items()}
        known = rows.get("future_covariates")
        past = [x[..., :context_length] for x in rows.values()]
        context = past[0] if len(past) == 1 else ops.concatenate(past, axis=1)
        known = None if known is None else known[..., context_length:]
        x = self.groups.quantiles(context, prediction_length, known)[:, :num_channels]
        forecast = GivenQuantiles(self.levels)(ops.transpose(x, (0, 3, 1, 2)))
        inputs = inputs if len(inputs) > 1 else inputs["history"]
        return keras.Model(inputs, forecast, name=self.network.name)

    def forecast(
        self,
        series,
        prediction_length,
        quantile_levels=None,
        past_covariates=None,
        future_covariates=None,
        cross_learning=False,
    ):
        """Forecasts of series of any lengths, see `PretrainedModel.forecast`.

        The variates of a series and its covariates inform each other; with `cross_learning` all
        series do, about 256 rows at a time. A covariate in `future_covariates` has its past, of the
        length of the series, under the same name in `past_covariates`.
        """
        check_positive_integers(prediction_length=prediction_length)
        levels = as_levels(quantile_levels)
        tasks = read_tasks(series, prediction_length, past_covariates, future_covariates)
        steps = min(self.max_context, max(task.target.shape[-1] for task in tasks))
        length = self.padded_length(steps)
        groups = joined(tasks, ROWS) if cross_learning else tasks
        found = [None] * len(groups)
        for sizes, numbers in alike(groups, ROWS):
            run = self._compiled(length, prediction_length, *sizes)
            inputs = stacked([groups[number] for number in numbers], length, self.max_context)
            for number, quantiles in zip(numbers, run(**inputs), strict=True):
                found[number] = np.swapaxes(quantiles, 0, 1)
        rows = np.split(np.concatenate(found), np.cumsum([len(task.target) for task in tasks])[:-1])
        return [{"quantiles": self.at_levels(x, levels), "mean": self.point(x)} for x in rows]

    @functools.lru_cache(maxsize=32)  # noqa: B019 - a model lives as long as its weights
    def _compiled(self, length, prediction_length, num_channels, past, future):
        covariates = {"past": (0,) * past, "future": (0,) * future}
        return compile_by_name(self.build(length, prediction_length, num_channels, covariates))

    def padded_length(self, length):
        return few_patches(length, self.groups.patch_length, self.max_context)
