"""Chronos-Bolt: T5 over patches, which forecasts quantiles at once (Ansari et al., 2024)."""

import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import ObservedNormalization
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import (
    assign,
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
    """Whether a configuration is one of Chronos-Bolt."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """The model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    network, layout = build_network(config)
    assign(tensors, layout, ignored=TIED)
    own = config["chronos_config"]
    return ChronosBolt(network, own["quantiles"], own["context_length"], own["input_patch_size"])


def build_network(config):
    """The network of a configuration, from patches to scaled quantiles, and where weights go.

    Returns:
        A functional Keras model of "patches" `(batch, patches, 2 * patch_length)`, scaled values
        and then their mask, and "observed", a boolean `(batch, patches)`, to
        `(batch, prediction_length, quantiles)`; and its layout, see `checkpoint.assign`.
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
    horizon, levels = own["prediction_length"], len(own["quantiles"])
    exact = {"dtype": full_precision()}
    x = residual_block(layer, "output_patch_embedding", x, levels * horizon, t5, **exact)
    x = ops.transpose(ops.reshape(x, (-1, levels, horizon)), (0, 2, 1))
    return keras.Model([patches, observed], x, name="chronos_bolt"), layer.layout()


def _read(config):
    """The part of a configuration that is about forecasting, and that of the blocks, checked."""
    own = read_section(config, "chronos_config")
    sizes = ("context_length", "prediction_length", "input_patch_size", "input_patch_stride")
    patch_length = read_sizes(own, *sizes)["input_patch_size"]
    refuse_others(own, use_reg_token=(False, True), input_patch_stride=(patch_length,))
    vocab_size = 1 + bool(own.get("use_reg_token"))  # whatever `vocab_size` says
    refuse_others(config, decoder_start_token_id=tuple(range(vocab_size)))
    t5 = {"decoder_start_token_id": 0, **read_t5_stacks(config)}
    return own, {**t5, "vocab_size": vocab_size}


class ChronosBolt(PretrainedModel):
    """Chronos-Bolt with its published weights, see `PretrainedModel`.

    A window is normalised by its own observed values and cut into patches; the encoder reads them,
    and one token of the decoder becomes all quantiles of the native horizon. Beyond it each
    quantile is appended to the history as a path of its own, and the quantiles of what all paths
    forecast are the forecast.

    Source: Ansari et al. (2024), "Chronos: Learning the language of time series", TMLR, whose
    authors published Chronos-Bolt in November 2024 without a paper of its own.
    """

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
        """The forecast of the native horizon, `(batch, horizon, len(levels))`.

        Args:
            history: `(batch, context_length)`, NaN where missing.
            visible: boolean, of the same shape, what is shown to the network, see
                `kerastrans.layers.ObservedNormalization`.
        """
        history = history[:, -self.max_context :]
        visible = None if visible is None else visible[:, -self.max_context :]
        scaled, seen, location, scale = ObservedNormalization()(history, visible)
        values = padded_to_patches(scaled, self.patch_length)
        seen = padded_to_patches(seen, self.patch_length)
        patches = ops.concatenate([values, seen], axis=-1)
        return rescaled(self.network([patches, ops.any(seen > 0, axis=-1)]), location, scale)

    def padded_length(self, length):
        return few_patches(length, self.patch_length, self.max_context)

    def off_grid(self, quantiles, levels):
        """Interpolated as if the levels were evenly spaced with a step from 0 to the first.

        The outermost quantiles are kept beyond the outermost levels, and all are sorted first.
        """
        ends = [quantiles[..., :1], quantiles, quantiles[..., -1:]]
        found = np.quantile(np.concatenate(ends, axis=-1), levels, axis=-1)
        return np.moveaxis(found, 0, -1)
