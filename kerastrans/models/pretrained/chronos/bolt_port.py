"""Chronos-Bolt: T5 over patches with direct quantile forecasts (Ansari et al., 2024).

Paper: https://arxiv.org/abs/2403.07815
Code: https://github.com/amazon-science/chronos-forecasting
Weights: https://huggingface.co/amazon/chronos-bolt-small
"""

import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import ObservedNormalization
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import (
    assign,
    read_quantiles,
    read_section,
    read_sizes,
    refuse_others,
)
from kerastrans.models.pretrained.chronos.t5_layers import read_t5_stacks, residual_block, t5_stack
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.models.pretrained.scaling import (
    empirical_quantiles,
    few_patches,
    padded_to_patches,
    rescaled,
)
from kerastrans.utils.precision import full_precision

ARCHITECTURE = "ChronosBoltModelForForecasting"
TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
REG = 1  # the row of the token table that is appended to the patches


def reads(config):
    """Return whether a configuration is one of Chronos-Bolt."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    network, layout = build_network(config)
    assign(tensors, layout, ignored=TIED)
    own = config["chronos_config"]
    return ChronosBolt(network, own["quantiles"], own["context_length"], own["input_patch_size"])


def build_network(config):
    """Build the network of a configuration, from patches to scaled quantiles, and its layout.

    Returns:
        A functional Keras model and its layout, see `checkpoint.assign`. The model maps "patches"
        `(batch, patches, 2 * patch_length)`, scaled values followed by their mask, and "observed",
        a boolean `(batch, patches)`, to `(batch, prediction_length, quantiles)`.
    """
    own, t5 = _read(config)
    layer = KeyedLayers()
    patches = keras.Input((None, 2 * own["input_patch_size"]), name="patches")
    mask = observed = keras.Input((None,), dtype="bool", name="observed")
    token = layer("shared", layers.Embedding, t5["vocab_size"], t5["d_model"])
    x = residual_block(layer, "input_patch_embedding", patches, t5["d_model"], t5)
    if own.get("use_reg_token"):
        visible = ops.ones_like(mask[:, :1])
        x = ops.concatenate([x, token(REG * ops.cast(visible, "int32"))], axis=1)
        mask = ops.concatenate([mask, visible], axis=1)
    memory = t5_stack(layer, "encoder", x, t5, t5["num_layers"], mask=mask)
    start = token(ops.full_like(mask[:, :1], t5["decoder_start_token_id"], dtype="int32"))
    depth = t5["num_decoder_layers"]
    x = t5_stack(layer, "decoder", start, t5, depth, memory=memory, memory_mask=mask)
    horizon, levels = own["prediction_length"], len(read_quantiles(own))
    exact = {"dtype": full_precision()}
    x = residual_block(layer, "output_patch_embedding", x, levels * horizon, t5, **exact)
    x = ops.transpose(ops.reshape(x, (-1, levels, horizon)), (0, 2, 1))
    return keras.Model([patches, observed], x, name="chronos_bolt"), layer.layout()


def _read(config):
    """Check a configuration and return its forecasting part and its T5 part."""
    own = read_section(config, "chronos_config")
    sizes = ("context_length", "prediction_length", "input_patch_size", "input_patch_stride")
    patch_length = read_sizes(own, *sizes)["input_patch_size"]
    refuse_others(own, use_reg_token=(False, True), input_patch_stride=(patch_length,))
    vocab_size = 1 + bool(own.get("use_reg_token"))  # the `vocab_size` of the config is not used
    refuse_others(config, decoder_start_token_id=tuple(range(vocab_size)))
    t5 = {"decoder_start_token_id": 0, **read_t5_stacks(config)}
    return own, {**t5, "vocab_size": vocab_size}


class ChronosBolt(PretrainedModel):
    """Chronos-Bolt with its published weights, see `PretrainedModel`.

    A window is normalised by its observed values and cut into patches. The encoder reads the
    patches, and one token of the decoder is mapped to all quantiles of the native horizon. For a
    longer horizon each quantile is appended to the history as a separate path, and the forecast is
    the quantiles of the forecasts of all paths.

    Source: Ansari et al. (2024), "Chronos: Learning the language of time series", TMLR. The authors
    published Chronos-Bolt in November 2024 without a separate paper.
    """

    equivariance = "affine"

    def __init__(self, network, levels, max_context, patch_length):
        super().__init__(network, levels, max_context)
        self.patch_length = patch_length

    def quantiles(self, history, prediction_length):
        block = self.native(history)
        blocks, horizon = [block], block.shape[1]
        paths = ops.tile(history[:, None], (1, len(self.levels), 1))
        for _ in range(1, math.ceil(prediction_length / horizon)):
            paths = ops.concatenate([paths, ops.transpose(block, (0, 2, 1))], axis=-1)
            paths = paths[..., -self.max_context :]
            samples = self.native(ops.reshape(paths, (-1, paths.shape[-1])))
            samples = ops.reshape(samples, (-1, len(self.levels), horizon, len(self.levels)))
            samples = ops.reshape(
                ops.transpose(samples, (0, 2, 1, 3)), (-1, horizon, len(self.levels) ** 2)
            )
            block = empirical_quantiles(samples, self.levels)
            blocks.append(block)
        return ops.concatenate(blocks, axis=1)[:, :prediction_length]

    def native(self, history, visible=None):
        """Forecast the native horizon, `(batch, horizon, len(levels))`.

        Args:
            history: `(batch, context_length)`, NaN where missing.
            visible: Boolean tensor of the same shape, true for values that the network can see, see
                `kerastrans.layers.ObservedNormalization`.
        """
        history = history[:, -self.max_context :]
        visible = None if visible is None else visible[:, -self.max_context :]
        scaled, mask, location, scale = ObservedNormalization()(history, visible)
        values = padded_to_patches(scaled, self.patch_length)
        mask = padded_to_patches(mask, self.patch_length)
        patches = ops.concatenate([values, mask], axis=-1)
        return rescaled(self.network([patches, ops.any(mask > 0, axis=-1)]), location, scale)

    def padded_length(self, length):
        return few_patches(length, self.patch_length, self.max_context)

    def off_grid(self, quantiles, levels):
        """Interpolate the quantiles as if their levels were evenly spaced from 0 to 1.

        The outermost quantiles are repeated for the levels 0 and 1, and all are sorted first.
        """
        ends = [quantiles[..., :1], quantiles, quantiles[..., -1:]]
        interpolated = np.quantile(np.concatenate(ends, axis=-1), levels, axis=-1)
        return np.moveaxis(interpolated, 0, -1)
