"""Head for networks that return quantiles themselves."""

import keras

from kerastrans.heads.quantile import QuantileHead


@keras.saving.register_keras_serializable(package="kerastrans")
class GivenQuantiles(QuantileHead):
    """Last layer of a network that returns its quantiles in the units of the series.

    The layer does not prevent crossing quantiles; that is up to the network. Forecasts are read as
    in `QuantileHead`.

    Args:
        levels: Increasing probabilities in (0, 1), one for each value of the last axis.
        point_weights: Weights of the quantiles whose weighted sum is the point forecast, as the
            authors of a network define it; None for the median.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `(batch, prediction_length, num_channels, len(levels))`.

    Returns:
        The same tensor, with distances from the middle quantile multiplied by `spread_factors`.

    Example:
        >>> import numpy as np
        >>> head, quantiles = GivenQuantiles([0.1, 0.5, 0.9]), np.array([[[[1.0, 2.0, 4.0]]]])
        >>> head.build(quantiles.shape)
        >>> _ = head.spread.assign(2.0)
        >>> np.asarray(head(quantiles)).ravel().tolist()
        [0.0, 2.0, 6.0]
    """

    def __init__(self, levels, point_weights=None, **kwargs):
        super().__init__(levels, **kwargs)
        self.point_weights = None if point_weights is None else tuple(map(float, point_weights))
        if self.point_weights is not None and len(self.point_weights) != self.size:
            raise ValueError(
                f"point_weights must be one number per level, {self.size}, got "
                f"{len(self.point_weights)}."
            )

    @property
    def point_is_median(self):
        """True if the point is the median."""
        return self.point_weights is None

    def point(self, parameters):
        """Return the weighted sum of the quantiles, or the median, of NumPy arrays or tensors."""
        if self.point_weights is None:
            return super().point(parameters)
        return sum(weight * parameters[..., i] for i, weight in enumerate(self.point_weights))

    def call(self, inputs):
        if not self.num_spreads:
            return inputs
        middle = inputs[..., self.middle : self.middle + 1]
        factors = self.spread_factors(inputs.shape[1])
        return inputs * factors + middle * (1 - factors)  # exactly the inputs if all are 1

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "point_weights": self.point_weights}
