"""Training of a decoder-only model on every position of its history."""

import keras

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class HistoryLoss(keras.layers.Layer):
    """Adds the loss of forecasts inside the history to the training; returns its inputs.

    A causal model forecasts the next values at every position of its history, too. These forecasts
    train it on many more examples than the horizon alone. A `sample_weight` does not reach them:
    Keras passes it to the compiled loss only.

    Args:
        head: Head of `kerastrans.heads` whose `loss` is added.
        weight: float, factor of the loss.

    Call arguments:
        inputs: Tensor that the forecast of the horizon depends on.
        parameters: `(batch, time, num_channels[, size])`, forecasts of the last steps of the
            history.
        history: `(batch, context_length, num_channels)`, NaN if missing. Steps before its first are
            missing, too.

    Returns:
        `inputs`.

    Source: Das et al. (2024), "A decoder-only foundation model for time-series forecasting",
    section 4, "Decoder-only model".
    """

    takes_missing = True

    def __init__(self, head, weight=1.0, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        # Not the head: its weights are those of the model's last layer.
        self.loss = head.loss()
        self._head_config = keras.saving.serialize_keras_object(
            type(head).from_config(head.get_config())
        )
        self.weight = weight

    def build(self, inputs_shape, parameters_shape, history_shape):
        pass  # it has no weights

    def call(self, inputs, parameters, history, training=False):
        if training:
            steps = min(parameters.shape[1], history.shape[1])
            loss = self.loss(history[:, -steps:], parameters[:, -steps:])
            self.add_loss(self.weight * loss)
        return inputs

    def compute_output_shape(self, inputs_shape, parameters_shape, history_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "head": self._head_config, "weight": self.weight}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "head": keras.saving.deserialize_keras_object(config["head"])})
