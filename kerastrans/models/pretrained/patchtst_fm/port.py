"""PatchTST-FM: a Transformer that fills the masked patches at the end of a window (IBM, 2026).

Code: https://github.com/ibm-granite/granite-tsfm
Weights: https://huggingface.co/ibm-granite/granite-timeseries-patchtst-fm-r1
"""

import keras
import numpy as np
from keras import ops

from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign, read_sizes, refuse_others
from kerastrans.models.pretrained.patchtst_fm.network import build_network, layout
from kerastrans.models.pretrained.scaling import (
    arcsinh,
    few_patches,
    padded_to_patches,
    rescaled,
    sinh,
)
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_divides, check_levels, check_positive

ARCHITECTURE = "PatchTSTFMForPrediction"
SIZES = ("context_length", "prediction_length", "d_patch", "d_model", "n_head", "n_layer")
SIZES += ("num_quantile", "pretrain_mask_cont")
MIN_DEVIATION = 1e-5  # windows of a smaller deviation are not divided by it
MAX_PADDING_SHARE = 0.9  # patches with a larger share of padding are hidden


def reads(config):
    """Return whether a configuration is one of PatchTST-FM."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    config = read(config)
    network = build_network(config)
    assign(tensors, layout(network, config), ignored=("backbone.patch_loss_window",))
    return PatchTSTFM(network, config)


def read(config):
    """Check a configuration and return it with its defaults.

    Raises:
        ValueError: If a size is missing or impossible, or a switch is not supported.
    """
    sizes = read_sizes(config, *SIZES)
    refuse_others(config, block_type=("transformer",), mlp_type=("mlp",))
    refuse_others(config, patch_stride=(None, sizes["d_patch"]))
    switches = {"norm_first": True, "qkv_bias": True, "prehead_norm": False, "randomize_cpm": False}
    for name in switches:
        refuse_others(config, **{name: (switches[name], not switches[name])})
    check_divides(d_patch=sizes["d_patch"], context_length=sizes["context_length"])
    check_divides(n_head=sizes["n_head"], d_model=sizes["d_model"])
    levels = check_levels(config.get("quantile_levels") or default_levels(sizes["num_quantile"]))
    if len(levels) != sizes["num_quantile"]:
        raise ValueError(
            f"num_quantile is {sizes['num_quantile']}, but there are {len(levels)} quantile_levels."
        )
    return {**switches, **config, "quantile_levels": levels}


def default_levels(count):
    """Return the default levels of the published code, whose grid depends on the count."""
    if count % 9 == 0:
        return [i / (count + 1) for i in range(1, count + 1)]
    return [0.01, *(i / (count - 1) for i in range(1, count - 1)), 0.99]


class PatchTSTFM(PretrainedModel):
    """PatchTST-FM with its published weights, see `PretrainedModel`.

    History and horizon together have at most `context_length` steps, so a longer forecast uses less
    history. A window is normalised by its observed values and transformed by arcsinh. The network
    fills the masked patches at the end of the window with quantiles that cannot cross.

    In a window an infinite step is before the start of its series, and the network does not attend
    to it. A NaN is a missing step of the series.

    Args:
        network: Keras model, see `build_network`.
        config: Dict, see `read`.

    Source: Nie et al. (2023), "A time series is worth 64 words", in the version PatchTST-FM r1 of
    the package granite-tsfm (IBM, 2026).
    """

    padding = np.inf
    equivariance = "affine"  # of windows that deviate by more than `MIN_DEVIATION`

    def __init__(self, network, config):
        self.config = config
        masked = config["pretrain_mask_cont"] * (2 if config["randomize_cpm"] else 1)
        self.min_horizon = config["d_patch"] * max(masked, 2)  # steps masked at once in training
        super().__init__(network, config["quantile_levels"], config["context_length"] - 1)

    def quantiles(self, history, prediction_length):
        d_patch, context_length = self.config["d_patch"], self.config["context_length"]
        horizon = max(prediction_length, self.min_horizon)
        if horizon >= context_length:
            raise ValueError(
                f"prediction_length must be below context_length={context_length}, the steps of "
                f"history and horizon together; got {prediction_length}, and at least "
                f"{self.min_horizon} steps are forecast."
            )
        history = history[:, -(context_length - horizon) :]
        x, known, begun, location, scale = PaddedNormalization(MIN_DEVIATION)(history)
        future = [(0, 0), (0, horizon)]
        values = padded_to_patches(ops.pad(arcsinh(x), future), d_patch)
        known = padded_to_patches(ops.pad(known, future), d_patch)
        begun = ops.pad(begun, future, constant_values=1)
        share = ops.mean(padded_to_patches(begun, d_patch), axis=-1)
        tokens = ops.concatenate([values, known], axis=-1)
        x = self.network([tokens, share >= 1 - MAX_PADDING_SHARE])
        x = ops.reshape(x, (-1, values.shape[1] * d_patch, len(self.levels)))
        x = x[:, x.shape[1] - horizon :][:, :prediction_length]
        return rescaled(sinh(x), location, scale)

    @property
    def point_weights(self):
        """Weights of the mean: the integral of the quantiles, constant beyond the outer levels."""
        halves = np.diff(self.levels) / 2  # trapezoidal rule
        weights = np.append(halves, 0) + np.append(0, halves)
        weights[0] += self.levels[0]
        weights[-1] += 1 - self.levels[-1]
        return weights

    def padded_length(self, length):
        return few_patches(length, self.config["d_patch"], self.config["context_length"])


@serializable
class PaddedNormalization(keras.layers.Layer):
    """Subtracts the mean of a window's known values and divides by their standard deviation.

    A missing step is NaN, and a step before the start of the series is infinite, so that a network
    can distinguish them. If the deviation is at most `epsilon`, the divisor is 1.

    Args:
        epsilon: float above 0, largest deviation that is not divided by.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time)`.

    Returns:
        Five tensors: the normalised values, 0 where not known; 1 for known values, 0 elsewhere; 0
        before the start of the series, 1 from the start, each `(batch, time)`; the mean and the
        divisor, each `(batch, 1)`.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> window = ops.convert_to_tensor([[np.inf, 1.0, np.nan, 3.0]])
        >>> [ops.convert_to_numpy(x).tolist() for x in PaddedNormalization()(window)[:3]]
        [[[0.0, -1.0, 0.0, 1.0]], [[0.0, 1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0, 1.0]]]

    Source: PatchTST-FM (IBM, 2026).
    """

    takes_missing = True

    def __init__(self, epsilon=1e-5, **kwargs):
        check_positive(epsilon=epsilon)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.epsilon = epsilon

    def call(self, inputs):
        begun = ops.logical_not(ops.isinf(inputs))
        known = ops.logical_and(begun, ops.logical_not(ops.isnan(inputs)))
        weights, zero = ops.cast(known, inputs.dtype), ops.zeros_like(inputs)
        count = ops.maximum(ops.sum(weights, axis=-1, keepdims=True), 1)
        mean = ops.sum(ops.where(known, inputs, zero), axis=-1, keepdims=True) / count
        distances = ops.where(known, inputs - mean, zero)
        deviation = ops.sqrt(ops.sum(ops.square(distances), axis=-1, keepdims=True) / count)
        divisor = ops.where(deviation > self.epsilon, deviation, ops.ones_like(deviation))
        return distances / divisor, weights, ops.cast(begun, inputs.dtype), mean, divisor

    def compute_output_shape(self, inputs_shape):
        one = (*inputs_shape[:-1], 1)
        return inputs_shape, inputs_shape, inputs_shape, one, one
