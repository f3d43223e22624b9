"""A point forecast: one number for each step and channel."""

import keras
from keras import layers

from kerastrans.heads.base import Head
from kerastrans.heads.point_error import MEDIANS, POINT_ERRORS, PointError
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice


@keras.saving.register_keras_serializable(package="kerastrans")
class PointHead(Head):
    """One number for each step and channel: a layer that changes nothing, but knows its loss.

    Its forecast is `(batch, prediction_length, num_channels)`: there is no parameter axis. What
    is forecast follows from the loss: "mae" and "mase" are least at the median, "mse" at the mean,
    "huber" between the two; "mape" is below the median.

    Args:
        loss: the loss that trains it, see `PointError`; NaN targets are left out.
        **kwargs: more arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, prediction_length, num_channels)`.

    Returns:
        The inputs.

    Raises:
        ValueError: another loss.

    Example:
        >>> from kerastrans import heads, zoo
        >>> model = zoo.build("nlinear", 48, 12, 1, head=PointHead("mse"))
        >>> heads.of(model).loss().error
        'mse'
    """

    size = 1
    has_parameter_axis = False
    interval_levels = ()

    def __init__(self, loss="mae", **kwargs):
        check_choice("loss", loss, tuple(POINT_ERRORS))
        super().__init__(**kwargs)
        self.point_loss = loss

    @property
    def point_is_median(self):
        """Whether the point is the median: the absolute error is least there."""
        return self.point_loss in MEDIANS

    def split(self, x, prediction_length):
        """The values as they are."""
        return x

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """The end of a model's graph: the values in the units of the history, then this head."""
        if shift is not None:
            x = layers.Add(dtype=full_precision())([x, shift])
        return self(x if normalization is None else normalization(x, statistics))

    def call(self, inputs):
        """The inputs as they are."""
        return inputs

    def loss(self):
        """The error of the known targets that this head was made for."""
        return PointError(self.point_loss)

    def rescale(self, parameters, center, scale):
        """The forecast of the series times `scale` plus `center`."""
        return parameters * scale + center

    def shift(self, parameters, amount):
        """The forecast plus `amount`."""
        return parameters + amount

    def outputs(self, parameters):
        """What an exported model returns: the point forecast, by name."""
        return {"forecast": parameters}

    def point(self, parameters):
        """The forecast itself."""
        return parameters

    def median(self, parameters):
        """The forecast itself, where the loss is "mae" or "mase".

        Raises:
            ValueError: another loss, which trains no median.
        """
        if not self.point_is_median:
            raise ValueError(f'a point trained by "{self.point_loss}" is no median: take "mae".')
        return parameters

    def quantile(self, parameters, levels):
        """Refused, as `cdf` and `sample`.

        Raises:
            ValueError: always: a point has no distribution.
        """
        raise ValueError(
            "a point forecast has no quantiles: build the model with a head, such as "
            "QuantileHead, or put conformal intervals around it."
        )

    cdf = sample = quantile

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), "loss": self.point_loss}
