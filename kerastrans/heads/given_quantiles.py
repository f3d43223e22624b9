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
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `(batch, prediction_length, num_channels, len(levels))`.

    Returns:
        The same tensor, with distances from the middle quantile multiplied by `spread`.

    Example:
        >>> import numpy as np
        >>> head = GivenQuantiles([0.1, 0.5, 0.9], spread=2.0)
        >>> np.asarray(head(np.array([[[[1.0, 2.0, 4.0]]]]))).ravel().tolist()
        [0.0, 2.0, 6.0]
    """

    def call(self, inputs):
        if self.spread == 1:
            return inputs
        middle = inputs[..., self.middle : self.middle + 1]
        return middle + self.spread * (inputs - middle)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
