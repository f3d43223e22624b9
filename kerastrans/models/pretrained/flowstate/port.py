"""FlowState: state space models and a functional basis decoder (Graf et al., 2025).

Paper: https://arxiv.org/abs/2508.05287
Code: https://github.com/ibm-granite/granite-tsfm
Weights: https://huggingface.co/ibm-granite/granite-timeseries-flowstate-r1

Version 1.1 has a gate in each state space model and a wider network after it.
"""

import keras
import numpy as np
from keras import ops

from kerastrans.layers import ObservedValues
from kerastrans.models.pretrained.arrays import few_sizes
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import (
    assign,
    read_quantiles,
    read_sizes,
    refuse_others,
)
from kerastrans.models.pretrained.flowstate.network import KINDS, FlowStateStack
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.models.pretrained.scaling import empirical_quantiles, rescaled
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_positive, check_positive_integers

ARCHITECTURE = "FlowStateForPrediction"
MAX_CONTEXT = 16 * 1024  # largest number of steps of a history, at any sampling rate
MIN_VARIANCE = 1e-5
STARTS = {"legs": -1.0, "hlegs": 0.0}  # start of the curves of each decoder type
SIZES = (
    *("context_length", "embedding_feature_dim", "encoder_num_layers", "encoder_state_dim"),
    *("decoder_patch_len", "decoder_dim"),
)


def reads(config):
    """Return whether a configuration is one of FlowState."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    read_sizes(config, *SIZES)
    read_quantiles(config)
    refuse_others(
        config,
        mlp_type=("gated", "transformer"),
        out_gating=(False, True),
        with_missing=(True,),
        decoder_type=tuple(STARTS),
        prediction_type=("mean", "median", "quantile"),
    )
    layer = KeyedLayers(KINDS)
    model = FlowState(FlowStateStack(layer, config), config, config.get("scale_factor", 1.0))
    assign(tensors, layer.layout())
    return model


class FlowState(PretrainedModel):
    """FlowState at one sampling rate; each series is forecast separately.

    A step of the series counts as `scale_factor` steps of the training data, which has a season of
    24. Use `with_options(scale_factor=24 / season)` for a series with another season, such as
    24 / 7 for daily data with a weekly season. At a small factor the network reads more steps of
    history, and forecasts more steps at once.

    Steps of the horizon beyond one patch of the decoder are input to the network as missing steps,
    so that history and horizon together are at most as long as its context.

    Attributes:
        scale_factor: float, length of a step in units of the steps of the training data.
        patch_length: int, number of steps that are forecast without such missing steps.
    """

    option_names = ("scale_factor",)
    # The forecast is not equivariant: the first steps of a window often vary by less than the root
    # of `MIN_VARIANCE`, an absolute limit. In other units, some forecasts differ by a hundredth.
    padding = np.inf  # padding, unlike a missing step (NaN), does not affect the state

    def __init__(self, stack, config, scale_factor):
        longest = config["decoder_patch_len"]
        check_positive(scale_factor=scale_factor)
        check_at_most(scale_factor=scale_factor, decoder_patch_len=longest)
        self.stack, self.config, self.scale_factor = stack, config, float(scale_factor)
        self.patch_length = int(longest / self.scale_factor + 1e-6)
        context = min(MAX_CONTEXT, int(config["context_length"] / self.scale_factor))
        steps = keras.Input((context, 2), name="steps")
        network = keras.Model(steps, self._curves(steps, (context - 1,)), name="flowstate")
        super().__init__(network, config["quantiles"], context)

    def _with(self, scale_factor):
        return type(self)(self.stack, self.config, scale_factor)

    def padded_length(self, length):
        return few_sizes(length)

    @property
    def point_weights(self):
        """Weights of a mean that gives quantiles near the median more weight; None for a median."""
        if self.config.get("prediction_type") == "median":
            return None
        weights = 0.5 - np.abs(0.5 - np.asarray(self.levels))
        return weights / weights.sum()

    def quantiles(self, history, prediction_length):
        beyond = max(0, prediction_length - self.patch_length)
        check_at_most(
            prediction_length=prediction_length,
            **{"patch and context": self.patch_length + self.max_context - 1},
        )
        history = history[:, -(self.max_context - beyond) :]
        last = history.shape[1] - 1
        values, observed, present = ObservedValues()(history)
        location, scale = _causal_scale(values, observed)
        values = (values - location) / scale * observed
        horizon = [[0, 0], [0, beyond]]
        x = ops.stack([ops.pad(values, horizon), 1 - ops.pad(observed, horizon)], axis=-1)
        present = ops.pad(present, horizon, constant_values=1)
        x = self._patches(x, present[..., None], prediction_length, last)
        x = empirical_quantiles(ops.transpose(x, (0, 2, 1)), self.levels)
        return rescaled(x, location[:, last:], scale[:, last:])

    def _patches(self, x, present, prediction_length, last):
        """Return the outputs `(batch, quantiles, prediction_length)`, concatenated patches."""
        patch = self.patch_length
        count = max(1, prediction_length // patch)
        positions = [last + i * patch for i in range(count)]
        remaining = prediction_length - count * patch
        if remaining > 0:  # the end of the patch that ends with the horizon
            positions.append(last + prediction_length - patch)
        x = self._curves(x, tuple(positions), present)
        parts = [x[:, i] for i in range(count)]
        if remaining > 0:
            parts.append(x[:, count, :, patch - remaining :])
        return ops.concatenate(parts, axis=-1)[..., :prediction_length]

    def _curves(self, x, positions, present=None):
        """Return the forecast from each position, `(batch, positions, quantiles, patch_length)`."""
        x = self.stack(x, positions, self.scale_factor, present)
        sizes = (len(self.config["quantiles"]), self.config["decoder_dim"])
        x = ops.reshape(x, (-1, len(positions), *sizes))
        start = STARTS[self.config.get("decoder_type", "legs")]
        step = self.scale_factor * (0.95 - start) / self.config["decoder_patch_len"]
        return LegendreExpansion(self.patch_length, start, step, dtype=full_precision())(x) / 4


def _causal_scale(values, observed):
    """Return mean and standard deviation of the observed values up to each step.

    Each has the shape `(batch, time)`. The deviation of a value is its distance from the mean at
    its step.
    """
    number = ops.maximum(ops.cumsum(observed, axis=1), 1)
    location = ops.cumsum(values, axis=1) / number
    squares = ops.square((values - location) * observed)
    variance = ops.cumsum(squares, axis=1) / number
    return location, ops.sqrt(ops.maximum(variance, MIN_VARIANCE))


@serializable
class LegendreExpansion(keras.layers.Layer):
    """Sum of Legendre polynomials with given coefficients, at evenly spaced points.

    Args:
        length: int, number of points.
        start: float, position one step before the first point.
        step: float, distance between two points; the polynomials are orthogonal on [-1, 1].

    Call arguments:
        inputs: `(..., coefficients)`.

    Returns:
        `(..., length)`.

    Raises:
        ValueError: If `length` is below 1.

    Example:
        >>> import numpy as np
        >>> curve = LegendreExpansion(length=4, start=-1.0, step=0.5)(np.array([[0.0, 1.0]]))
        >>> [round(float(value), 1) for value in curve[0]]
        [-0.5, 0.0, 0.5, 1.0]

    Source: Graf et al. (2025), FlowState, "functional basis decoder".
    """

    def __init__(self, length, start=-1.0, step=0.1, **kwargs):
        check_positive_integers(length=length)
        super().__init__(**kwargs)
        self.length = length
        self.start = start
        self.step = step

    def call(self, inputs):
        points = self.start + self.step * np.arange(1, self.length + 1)
        curves = np.polynomial.legendre.legvander(points, inputs.shape[-1] - 1).T
        return ops.matmul(inputs, ops.convert_to_tensor(curves, dtype=inputs.dtype))

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.length)
