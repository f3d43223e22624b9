"""FlowState: state spaces and a basis of functions, at any sampling rate (Graf et al., 2025)."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers import LegendreExpansion, ObservedValues
from kerastrans.models.pretrained.arrays import few_sizes
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign, read_sizes, refuse_others
from kerastrans.models.pretrained.flowstate.network import KINDS, FlowStateStack
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.models.pretrained.scaling import empirical_quantiles, rescaled
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = "FlowStateForPrediction"
LONGEST = 16 * 1024  # steps of a history, at any sampling rate
SMALLEST_VARIANCE = 1e-5
STARTS = {"legs": -1.0, "hlegs": 0.0}  # where each decoder's curves begin
SIZES = (
    *("context_length", "embedding_feature_dim", "encoder_num_layers", "encoder_state_dim"),
    *("decoder_patch_len", "decoder_dim"),
)


def reads(config):
    """Whether a configuration is one of FlowState."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """The model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    read_sizes(config, *SIZES)
    refuse_others(
        config,
        mlp_type=("gated",),
        out_gating=(False,),
        with_missing=(True,),
        decoder_type=tuple(STARTS),
        prediction_type=("mean", "median", "quantile"),
    )
    layer = KeyedLayers(KINDS)
    model = FlowState(FlowStateStack(layer, config), config, config.get("scale_factor", 1.0))
    assign(tensors, layer.layout())
    return model


class FlowState(PretrainedModel):
    """FlowState at one sampling rate: each series on its own.

    A step of the series is `scale_factor` steps of those that were trained, which have a season of
    24: `at_scale(24 / season)` is for a series with another one, `at_scale(24 / 7)` for a weekly
    season of days. At a small factor the network looks further back and ahead.

    Past one patch of the decoder, the rest of the horizon is given to the network as missing, so
    that history and horizon together are as long as its context.

    Attributes:
        scale_factor: float.
        patch_length: int, steps that are forecast without looking past the history.
    """

    padding = np.inf  # what is not there, unlike what is missing, leaves no trace in a state

    def __init__(self, stack, config, scale_factor):
        longest = config["decoder_patch_len"]
        if not 0 < scale_factor <= longest:
            raise ValueError(
                f"scale_factor must be above 0 and at most {longest}, got {scale_factor}."
            )
        self.stack, self.config, self.scale_factor = stack, config, float(scale_factor)
        self.patch_length = int(longest / self.scale_factor + 1e-6)
        context = min(LONGEST, int(config["context_length"] / self.scale_factor))
        steps = keras.Input((context, 2), name="steps")
        network = keras.Model(steps, self._curves(steps, (context - 1,)), name="flowstate")
        super().__init__(network, config["quantiles"], context)

    def at_scale(self, scale_factor):
        """The same network, sharing its weights, for steps of another length."""
        return type(self)(self.stack, self.config, scale_factor)

    def padded_length(self, length):
        return few_sizes(length)

    def point(self, quantiles):
        """The median, or a mean that weighs the quantiles by how near they are to it."""
        if self.config.get("prediction_type") == "median":
            return super().point(quantiles)
        weights = 0.5 - np.abs(0.5 - np.asarray(self.levels))
        return quantiles @ (weights / weights.sum()).astype(quantiles.dtype)

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
        """Outputs `(batch, quantiles, prediction_length)`, one patch after another."""
        patch = self.patch_length
        whole = max(1, prediction_length // patch)
        positions = [last + i * patch for i in range(whole)]
        rest = prediction_length - whole * patch
        if rest > 0:  # the end of the patch that ends with the horizon
            positions.append(last + prediction_length - patch)
        x = self._curves(x, tuple(positions), present)
        parts = [x[:, i] for i in range(whole)]
        if rest > 0:
            parts.append(x[:, whole, :, patch - rest :])
        return ops.concatenate(parts, axis=-1)[..., :prediction_length]

    def _curves(self, x, positions, present=None):
        """What is forecast from each position, `(batch, positions, quantiles, patch_length)`."""
        x = self.stack(x, positions, self.scale_factor, present)
        sizes = (len(self.config["quantiles"]), self.config["decoder_dim"])
        x = ops.reshape(x, (-1, len(positions), *sizes))
        start = STARTS[self.config.get("decoder_type", "legs")]
        step = self.scale_factor * (0.95 - start) / self.config["decoder_patch_len"]
        return LegendreExpansion(self.patch_length, start, step, dtype=full_precision())(x) / 4


def _causal_scale(values, observed):
    """Mean and standard deviation of what was observed up to each step, `(batch, time)` each.

    Deviations are from the mean at their own step.
    """
    number = ops.maximum(ops.cumsum(observed, axis=1), 1)
    location = ops.cumsum(values, axis=1) / number
    squares = ops.square((values - location) * observed)
    variance = ops.cumsum(squares, axis=1) / number
    return location, ops.sqrt(ops.maximum(variance, SMALLEST_VARIANCE))
