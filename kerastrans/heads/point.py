"""Head for point forecasts: one number for each step and channel."""

import keras
from keras import layers

from kerastrans.heads.base import Head
from kerastrans.heads.point_error import MEDIANS, POINT_ERRORS, PointError
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice


@keras.saving.register_keras_serializable(package="kerastrans")
class PointHead(Head):
    """One number for each step and channel: an identity layer that records its loss.

    The forecast is `(batch, prediction_length, num_channels)`, without a parameter axis. The loss
    determines which point is forecast: "mae" and "mase" are smallest at the median and "mse" at the
    mean; "huber" is smallest between the two, and "mape" below the median.

    Args:
        loss: str, name of the loss that trains it, see `PointError`; NaN targets are ignored.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `(batch, prediction_length, num_channels)`.

    Returns:
        The inputs.

    Raises:
        ValueError: If the loss is unknown.

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
        """True if the point is the median, which minimises the absolute error."""
        return self.point_loss in MEDIANS

    def split(self, x, prediction_length):
        """Return the values unchanged."""
        return x

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """Convert values to the units of the history and apply this head, see `Head.forecast`."""
        if shift is not None:
            x = layers.Add(dtype=full_precision())([x, shift])
        return self(x if normalization is None else normalization(x, statistics))

    def call(self, inputs):
        """Return the inputs."""
        return inputs

    def decode(self, inputs, *, index):
        """Return the newest step of a model that decodes step by step."""
        return inputs

    def loss(self):
        """Return the loss that was chosen for this head."""
        return PointError(self.point_loss)

    def rescale(self, parameters, center, scale):
        """Return the forecast of the series times `scale` plus `center`."""
        return parameters * scale + center

    def shift(self, parameters, amount):
        """Return the forecast plus `amount`."""
        return parameters + amount

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict with the point forecast."""
        return {"forecast": parameters}

    def point(self, parameters):
        """Return the forecast."""
        return parameters

    def median(self, parameters):
        """Return the forecast if the loss is "mae" or "mase".

        Raises:
            ValueError: If another loss was chosen, because its point is not the median.
        """
        if not self.point_is_median:
            raise ValueError(
                f'a point trained with "{self.point_loss}" is not a median: use "mae".'
            )
        return parameters

    def quantile(self, parameters, levels):
        """Raise ValueError, as `cdf` and `sample` do, because a point has no distribution.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "a point forecast has no quantiles: build the model with another head, such as "
            "QuantileHead, or add conformal intervals."
        )

    cdf = sample = inverse_cdf = quantile

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "loss": self.point_loss}
