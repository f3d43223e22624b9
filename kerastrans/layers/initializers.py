"""How weights begin."""

import keras


@keras.saving.register_keras_serializable(package="kerastrans")
class FanInUniform(keras.initializers.VarianceScaling):
    """Uniform in +-1/sqrt(fan_in): the start that the published figures were trained from.

    It is the default of PyTorch's linear and convolutional layers, in which the reference code of
    almost every architecture here is written, and smaller than Keras's Glorot start; with a few
    epochs at a low rate the difference shows in the forecasts.

    Args:
        seed: int, or None for another start each time.
        **axes: `input_axes` and `output_axes`, by which `EinsumDense` says what is fan-in.

    Source: He et al. (2015), equation 14, with a leak of sqrt(5).
    """

    def __init__(self, seed=None, **axes):
        super().__init__(1 / 3, "fan_in", "uniform", seed, **axes)

    def get_config(self):
        config = super().get_config()
        return {key: config[key] for key in config.keys() - {"scale", "mode", "distribution"}}
