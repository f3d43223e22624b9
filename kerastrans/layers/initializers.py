"""Initial weights."""

import keras


@keras.saving.register_keras_serializable(package="kerastrans")
class FanInUniform(keras.initializers.VarianceScaling):
    """Uniform in +-1/sqrt(fan_in): the weights that published models were trained from.

    It is the default of PyTorch's linear and convolutional layers, in which the reference code of
    almost every architecture here is written, and smaller than Keras's Glorot initializer; with a
    few epochs at a low rate the difference shows in the forecasts.

    Args:
        seed: int, or None for other weights each time.
        **axes: `input_axes` and `output_axes`, by which `EinsumDense` says what is fan-in.

    Example:
        >>> from keras import layers
        >>> layers.Dense(8, kernel_initializer=FanInUniform()).kernel_initializer.scale
        0.3333333333333333

    Source: He et al. (2015), equation 14, with a leak of sqrt(5).
    """

    def __init__(self, seed=None, **axes):
        super().__init__(scale=1 / 3, mode="fan_in", distribution="uniform", seed=seed, **axes)

    def get_config(self):
        config = super().get_config()
        return {key: config[key] for key in config.keys() - {"scale", "mode", "distribution"}}
