"""TimesFM 2.5: a decoder over patches that forecasts several patches at once (Das et al., 2024).

Paper: https://arxiv.org/abs/2310.10688
Code: https://github.com/google-research/timesfm
Weights: https://huggingface.co/google/timesfm-2.5-200m-pytorch
"""

import dataclasses
import math

import numpy as np
from keras import ops

from kerastrans.layers import LinearInterpolation
from kerastrans.models.pretrained.arrays import few_sizes
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign
from kerastrans.models.pretrained.scaling import first_observed, rescaled
from kerastrans.models.pretrained.timesfm import network as timesfm_network
from kerastrans.models.pretrained.timesfm.config import FIELDS, read_original, read_transformers
from kerastrans.models.pretrained.timesfm.decoding import (
    decode,
    divisor,
    interleave,
    uncrossed,
    unflipped,
)
from kerastrans.utils.validation import check_choice, check_positive_integers

ARCHITECTURE, MODEL_TYPE = "TimesFm2_5ModelForPrediction", "timesfm2_5"
ORIGINAL_KEY = "tokenizer.hidden_layer.weight"  # identifies weights of the original package


def reads(config):
    """Return whether a configuration is one of TimesFM 2.5.

    The original package keeps the sizes in its code, so a configuration may lack all of them.
    """
    return _is_of_transformers(config) or config.keys() <= FIELDS


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    if _is_of_transformers(config):
        sizes, reach = read_transformers(config)
        switches = ("force_flip_invariance", "infer_is_positive", "use_continuous_quantile_head")
        options = {name: bool(config[name]) for name in switches if name in config}
        options["max_context"] = reach
        keys = timesfm_network.TRANSFORMERS
    elif ORIGINAL_KEY not in tensors:
        raise ValueError(
            f"the configuration names no architecture, and the weights lack {ORIGINAL_KEY!r}."
        )
    else:
        sizes, reach = read_original(config)
        options = {"max_context": max(reach - sizes.spread_length, sizes.patch_length)}
        keys = timesfm_network.ORIGINAL
    network = timesfm_network.build_network(sizes)
    assign(tensors, timesfm_network.layout(network, sizes.num_layers, keys))
    return TimesFM(network, sizes, Options(**options))


def _is_of_transformers(config):
    named = config.get("architectures") or ()
    return ARCHITECTURE in named or config.get("model_type") == MODEL_TYPE


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a forecast, with the names of the authors' package.

    Attributes:
        max_context: int, number of steps of the longest history that is read, in whole patches.
            Shorter histories are normalised as if they were padded with zeros to this length.
        normalize_inputs: bool, whether to normalise the whole history before its patches.
        use_continuous_quantile_head: bool, whether the spread about the median comes from the
            quantile head, which limits the horizon, or from the head of the median.
        force_flip_invariance: bool, whether to average the forecast with that of the negative
            history, at twice the cost.
        infer_is_positive: bool, whether the forecast of a history without negative values is
            clipped at 0.
        fix_quantile_crossing: bool, whether to replace quantiles that cross by those nearer to the
            median.
    """

    max_context: int
    normalize_inputs: bool = True
    use_continuous_quantile_head: bool = True
    force_flip_invariance: bool = True
    infer_is_positive: bool = True
    fix_quantile_crossing: bool = True


class TimesFM(PretrainedModel):
    """TimesFM 2.5 with its published weights, see `PretrainedModel`.

    Each patch of a history is normalised by all values observed up to its end. The last patch
    forecasts `output_length` steps. For a longer forecast their median is appended to the history,
    and the attention reuses its cached keys and values.

    Missing steps at the start of a history are ignored; other missing steps are interpolated
    linearly.

    Args:
        network: Keras model, see `kerastrans.models.pretrained.timesfm.network.build_network`.
        sizes: `kerastrans.models.pretrained.timesfm.config.Sizes`.
        options: `Options`.

    Source: Das et al. (2024), "A decoder-only foundation model for time-series forecasting", ICML,
    in version 2.5 of the authors' package (2025).
    """

    option_names = tuple(field.name for field in dataclasses.fields(Options))
    equivariance = "scale"  # of deviations above `decoding.MIN_DEVIATION`; zeros pad the history

    def __init__(self, network, sizes, options):
        switches = dataclasses.asdict(options)
        check_positive_integers(max_context=switches.pop("max_context"))
        for name, value in switches.items():
            check_choice(name, value, (True, False))
        patches = math.ceil(options.max_context / sizes.patch_length)
        super().__init__(network, sizes.levels, patches * sizes.patch_length)
        self.sizes = sizes
        self.options = options

    def _with(self, **options):
        return TimesFM(self.network, self.sizes, dataclasses.replace(self.options, **options))

    def quantiles(self, history, prediction_length):
        return self.channels(history, prediction_length)[..., 1:]

    def channels(self, history, prediction_length):
        """Forecast the mean and the quantiles, `(batch, prediction_length, 1 + levels)`.

        The point forecast is the median, as in the published packages, not the first channel.

        Args:
            history: `(batch, context_length)`, NaN where missing.
            prediction_length: int, number of steps to forecast.

        Raises:
            ValueError: If the quantile head is used and the horizon is longer than its horizon.
        """
        options, sizes = self.options, self.sizes
        if options.use_continuous_quantile_head and prediction_length > sizes.spread_length:
            raise ValueError(
                f"the quantile head forecasts up to {sizes.spread_length} steps, got "
                f"prediction_length={prediction_length}: "
                "the option use_continuous_quantile_head=False forecasts without it."
            )
        values, observed = self._window(history)
        location, scale = self._location_and_scale(values, observed)
        x = (values - location) / divisor(scale) * observed
        if options.force_flip_invariance:
            x, observed = interleave(x, -x), interleave(observed, observed)
        x, spread = decode(self.network, sizes, x, observed, prediction_length)
        if options.force_flip_invariance:
            x, spread = unflipped(x), unflipped(spread)
        x = x[:, :prediction_length]
        if options.use_continuous_quantile_head:
            spread = spread[:, :prediction_length]
            median = slice(sizes.median, sizes.median + 1)
            # Move the quantiles of the head so that their median is that of the blocks.
            shift = x[..., median] - spread[..., median]
            x = ops.concatenate([x[..., :1], shift + spread[..., 1:]], axis=-1)
        if options.fix_quantile_crossing:
            x = uncrossed(x, sizes.median)
        x = rescaled(x, location, scale)
        if options.infer_is_positive:
            is_positive = ops.all(values >= 0, axis=-1)[:, None, None]
            x = ops.where(is_positive, ops.maximum(x, 0), x)
        return x

    def last_part(self, row):
        """Return the last `max_context` steps, and more if they begin with a gap.

        In that case the part starts at the last known step before the gap, for the interpolation.
        """
        start = max(len(row) - self.max_context, 0)
        known = np.flatnonzero(~np.isnan(row[: start + 1]))
        return row[known[-1] if len(known) else start :]

    def padded_length(self, length):
        patches = few_sizes(math.ceil(length / self.sizes.patch_length))
        return patches * self.sizes.patch_length

    def _window(self, history):
        """Return the interpolated steps in whole patches, and a mask from the first known step."""
        values, observed = LinearInterpolation()(history)
        values, observed = values[:, -self.max_context :], observed[:, -self.max_context :]
        padding = -values.shape[-1] % self.sizes.patch_length
        widths = [(0, 0), (padding, 0)]
        return ops.pad(values * observed, widths), ops.pad(observed, widths)

    def _location_and_scale(self, values, observed):
        """Return the first value and the deviation of the history, each `(batch, 1)`.

        The deviation is that of the history padded with zeros on the left to `max_context` steps.
        The location can be any value, since each patch is normalised again.
        """
        first = first_observed(values, observed)
        if not self.options.normalize_inputs:
            return first, ops.ones_like(first)
        num_zeros = self.max_context - values.shape[-1]
        mean = ops.sum(values, axis=-1, keepdims=True) / self.max_context
        squares = ops.sum(ops.square(values - mean), axis=-1, keepdims=True)
        squares = squares + num_zeros * ops.square(mean)
        return first, ops.sqrt(squares / max(self.max_context - 1, 1))
