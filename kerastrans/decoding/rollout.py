"""Point forecasts of an autoregressive model, fed back inside the graph of another model."""

import keras

from kerastrans.decoding.cached_decoder import CachedDecoder
from kerastrans.decoding.graph import takes_missing


@keras.saving.register_keras_serializable(package="kerastrans")
class Rollout(keras.layers.Layer):
    """Forecast of an autoregressive model from its own outputs, with a fixed number of steps.

    The loop is unrolled, so that the model is trained on what it forecasts from its own forecasts,
    and no part of it is left to the caller: the histories are the only input.

    Args:
        model: Functional model `[*inputs, decoder_inputs] -> outputs`, see `kerastrans.generate`.
        prediction_length: int, number of steps to forecast.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: List of the model's inputs except the decoder's, the history first.

    Returns:
        `(batch, prediction_length, num_channels)`.

    Source: Bengio et al. (2015), section 2.2, for training on own outputs.
    """

    def __init__(self, model, prediction_length, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.prediction_length = prediction_length
        self._decoder = CachedDecoder(model)

    @property
    def takes_missing(self):
        """Whether the history may contain NaN."""
        return takes_missing(self.model)

    def call(self, inputs):
        return self._decoder.unroll(list(inputs), self.prediction_length)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0][0], self.prediction_length, inputs_shape[0][2]

    def get_config(self):
        model = keras.saving.serialize_keras_object(self.model)
        own = {"model": model, "prediction_length": self.prediction_length}
        return {**super().get_config(), **own}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "model": keras.saving.deserialize_keras_object(config["model"])})
