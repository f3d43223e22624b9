"""Moves of the forecast of kerastrans-zero towards another forecast of the same history."""

import keras

from kerastrans.models.pretrained.scaling import place_of
from kerastrans.utils.precision import full_precision

LEVELS = (0.1, 0.9)  # quantiles whose distance is the spread of a forecast


class Move(keras.layers.Layer):
    """Moves all quantiles of a step by as much as the median, and scales their distances from it.

    Subclasses have `find`; `part`, the name of the move in `Forecaster.explain`; and
    `reads_covariates`, whether they move the forecast of a series with its covariates, or that of
    the rest without their effects. The layer has no weights.

    Args:
        season: int, number of steps of a season.
        levels: Tuple of float, the quantile levels.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        history: `(batch, time)`, NaN where missing.
        quantiles: `(batch, prediction_length, quantiles)`, in the units of the history.
        past_covariates: `(batch, time, columns)` or None, as in `CovariateEffects`.
        future_covariates: `(batch, time + prediction_length, columns)` or None.

    Returns:
        Quantiles of the same shape.
    """

    takes_missing = True
    part, reads_covariates = None, False

    def __init__(self, season, levels, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.season, self.levels = season, tuple(levels)

    def call(self, history, quantiles, past_covariates=None, future_covariates=None):
        move, width = self.find(history, quantiles, past_covariates, future_covariates)
        median = quantiles[..., place_of(self.levels, 0.5)][..., None]
        return median + move[..., None] + width[..., None] * (quantiles - median)

    def find(self, history, quantiles, past_covariates=None, future_covariates=None):
        """Return how far the median moves, and the factor of the distances from it.

        Returns:
            `(batch, prediction_length)`, and `(batch, prediction_length)` or `(batch, 1)`.
        """
        raise NotImplementedError

    def compute_output_shape(
        self,
        history_shape,
        quantiles_shape,
        past_covariates_shape=None,
        future_covariates_shape=None,
    ):
        return quantiles_shape

    def get_config(self):
        return {**super().get_config(), "season": self.season, "levels": self.levels}


def move_of(model):
    """Return the `Move` of a model that was built with a season, or None."""
    return next((x for x in model.layers if isinstance(x, Move)), None)
