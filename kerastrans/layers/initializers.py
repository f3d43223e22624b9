"""Weight initializers."""

import keras


@keras.saving.register_keras_serializable(package="kerastrans")
class FanInUniform(keras.initializers.VarianceScaling):
    """Uniform initializer in +-1/sqrt(fan_in), the default of PyTorch's linear layers.

    PyTorch uses this distribution for linear and convolutional layers, and the reference code of
    almost every architecture in this package is written in PyTorch. The weights are smaller than
    those of Keras's Glorot initializer; after a few epochs at a low learning rate the difference
    shows in the forecasts.

    Args:
        seed: int, or None for different weights each time.
        **axes: `input_axes` and `output_axes` of the kernel, whose sizes are the fan-in and the
            fan-out, as for `EinsumDense`. They are `(0,)` and `(1,)` for a depthwise convolution,
            whose fan-in is the number of taps in PyTorch, and the taps of all features in Keras.

    Example:
        >>> from keras import layers
        >>> layers.Dense(8, kernel_initializer=FanInUniform()).kernel_initializer.scale
        0.3333333333333333

    Source: He et al. (2015), equation 14, with a negative slope of sqrt(5).
    """

    def __init__(self, seed=None, **axes):
        super().__init__(scale=1 / 3, mode="fan_in", distribution="uniform", seed=seed, **axes)

    def get_config(self):
        config = super().get_config()
        return {key: config[key] for key in config.keys() - {"scale", "mode", "distribution"}}


def fresh(options):
    """Return options of a layer with copies of the initializers.

    One instance of an initializer would draw the same weights for each of several layers. Names and
    classes stay as they are.
    """
    instances = {x: y for x, y in options.items() if isinstance(y, keras.initializers.Initializer)}
    copies = {name: type(x).from_config(x.get_config()) for name, x in instances.items()}
    return {**options, **copies}
