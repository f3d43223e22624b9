"""Forecasts of an autoregressive model that are fed back inside the graph of another model."""

import keras
from keras import ops

from kerastrans import heads
from kerastrans.decoding.cached_decoder import CachedDecoder
from kerastrans.decoding.feedback import AncestralSampler
from kerastrans.decoding.graph import history_input, inputs_of
from kerastrans.heads.quantile import GivenQuantiles
from kerastrans.utils.model_files import serializable, without_optimizer
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_levels, check_positive_integers


@serializable
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

    def call(self, inputs):
        return self._decoder.unroll(list(inputs), self.prediction_length)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0][0], self.prediction_length, inputs_shape[0][2]

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "model": keras.saving.deserialize_keras_object(config["model"])})


@serializable
class SampledQuantiles(keras.layers.Layer):
    """Quantiles of the samples of an autoregressive model with a head that can be drawn from.

    All windows have the same random numbers, so that the forecast of a window does not depend on
    the others. The weights are frozen: no gradient passes through the decoding loop.

    Args:
        model: Functional model `[*inputs, decoder_inputs] -> parameters`, see `generate_samples`.
        prediction_length: int, number of steps to forecast.
        levels: Probabilities of the quantiles.
        num_samples: int, number of samples of each window.
        seed: int, seed of the draws.
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: List of the model's inputs except the decoder's, the history first.

    Returns:
        `(batch, prediction_length, num_channels, len(levels))`.

    Source: Salinas et al. (2020), section 3.
    """

    def __init__(self, model, prediction_length, levels, num_samples=100, seed=0, **kwargs):
        check_positive_integers(prediction_length=prediction_length, num_samples=num_samples)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.model = model
        self.trainable = False
        self.prediction_length = prediction_length
        self.levels = list(check_levels(levels))
        self.num_samples = num_samples
        self.seed = seed
        self._decoder = CachedDecoder(model)
        self._decoder.check_length(-(-prediction_length // self._decoder.patch_length))
        self._reader = heads.Samples(heads.of(model))

    def call(self, inputs):
        sampler = AncestralSampler.of(self.model, self.seed)
        samples = ops.stop_gradient(
            decode_fixed(
                self._decoder, list(inputs), self.prediction_length, sampler, self.num_samples
            )
        )
        return ops.stack([self._reader.at_level(samples, x) for x in self.levels], axis=-1)

    def compute_output_shape(self, inputs_shape):
        batch, _, num_channels = inputs_shape[0]
        return batch, self.prediction_length, num_channels, len(self.levels)

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "model": keras.saving.deserialize_keras_object(config["model"])})


def quantile_model(model, prediction_length, levels, num_samples=100, seed=0):
    """Return a model that forecasts the quantiles of an autoregressive model's samples at once.

    Args:
        model: See `SampledQuantiles`; it is copied.
        prediction_length: See `SampledQuantiles`.
        levels: See `SampledQuantiles`.
        num_samples: See `SampledQuantiles`.
        seed: See `SampledQuantiles`.

    Returns:
        A functional Keras model of the inputs except the decoder's, with the output
        `(batch, prediction_length, num_channels, len(levels))`.

    Example:
        >>> from kerastrans import zoo
        >>> model = zoo.build("deepar", 8, 4, 1, units=4, head="normal")
        >>> quantile_model(model, 4, [0.1, 0.5, 0.9]).output_shape
        (None, 4, 1, 3)
    """
    model = without_optimizer(model, model.name)
    symbols = inputs_of(model)[:-1]
    inputs = {x.name: keras.Input(x.shape[1:], dtype=x.dtype, name=x.name) for x in symbols}
    layer = SampledQuantiles(model, prediction_length, levels, num_samples, seed)
    head = GivenQuantiles(levels, equivariance=heads.of(model).equivariance)
    outputs = head(layer(list(inputs.values())))
    single = inputs[history_input(model).name]
    return keras.Model(inputs if len(inputs) > 1 else single, outputs, name=model.name)


def decode_fixed(decoder, inputs, prediction_length, sampler, num_samples):
    """Decode inside a graph, with the same random numbers for all windows.

    Args:
        decoder: `CachedDecoder`.
        inputs: List of the tensors of its encoder, the history first.
        prediction_length: int, number of steps to forecast.
        sampler: Sampler of numbers.
        num_samples: int, number of sequences that are decoded from each window.

    Returns:
        `(batch, prediction_length, num_channels)`, or, if the sampler draws,
        `(batch, prediction_length, num_channels, num_samples)`.
    """
    num_patches = -(-prediction_length // decoder.patch_length)
    draws = sampler.draws(num_samples, num_patches * decoder.patch_length)
    history = inputs[0]
    repeated = [ops.tile(x, (ops.shape(history)[0], *[1] * (x.ndim - 1))) for x in draws]
    tensors = *decoder.split_inputs(inputs), None, repeated
    decoded = decoder.decode(num_patches, tensors, sampler=sampler, copies=num_samples)
    decoded = decoded[:, :prediction_length]
    if not draws:
        return decoded
    shape = -1, num_samples, prediction_length, history.shape[2]
    return ops.transpose(ops.reshape(decoded, shape), (0, 2, 3, 1))
