"""PatchTST-FM: a Transformer that fills the masked patches at the end of a window (IBM, 2026)."""

import numpy as np
from keras import ops

from kerastrans.layers import PaddedNormalization
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
from kerastrans.utils.validation import check_divides, check_levels

ARCHITECTURE = "PatchTSTFMForPrediction"
SIZES = ("context_length", "prediction_length", "d_patch", "d_model", "n_head", "n_layer")
SIZES += ("num_quantile", "pretrain_mask_cont")
SMALLEST = 1e-5  # deviations up to it are not divided by
HIDDEN_SHARE = 0.9  # of a patch: with more padding the whole patch is padding


def reads(config):
    """Whether a configuration is one of PatchTST-FM."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """The model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    config = read(config)
    network = build_network(config)
    assign(tensors, layout(network, config), ignored=("backbone.patch_loss_window",))
    return PatchTSTFM(network, config)


def read(config):
    """A configuration, checked and with its defaults.

    Raises:
        ValueError: A size that is missing or impossible, or a switch that is not built.
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
    """The levels of the published code, which puts some counts on a coarser grid."""
    if count % 9 == 0:
        return [i / (count + 1) for i in range(1, count + 1)]
    return [0.01, *(i / (count - 1) for i in range(1, count - 1)), 0.99]


class PatchTSTFM(PretrainedModel):
    """PatchTST-FM with its published weights, see `PretrainedModel`.

    History and horizon together fill at most `context_length` steps: a longer forecast leaves less
    history. A window is normalised by its own observed values and its arcsinh taken; the network
    fills the masked patches at its end with quantiles that cannot cross.

    Of a window that is built in, a step that is infinite is before the start of its series: the
    network does not attend to it. A missing one, NaN, is a step of which nothing is known.

    Args:
        network: see `build_network`.
        config: dict, see `read`.

    Source: Nie et al. (2023), "A time series is worth 64 words", in the version PatchTST-FM r1 of
    the package granite-tsfm (IBM, 2026).
    """

    padding = np.inf

    def __init__(self, network, config):
        self.config = config
        masked = config["pretrain_mask_cont"] * (2 if config["randomize_cpm"] else 1)
        self.least = config["d_patch"] * max(masked, 2)  # masked at once in training
        super().__init__(network, config["quantile_levels"], config["context_length"] - 1)

    def quantiles(self, history, prediction_length):
        d_patch, context_length = self.config["d_patch"], self.config["context_length"]
        horizon = max(prediction_length, self.least)
        if horizon >= context_length:
            raise ValueError(
                f"prediction_length must be below context_length={context_length}, which history "
                f"and horizon share, and leave a step; got {prediction_length}, at least "
                f"{self.least} are forecast."
            )
        history = history[:, -(context_length - horizon) :]
        x, known, begun, location, scale = PaddedNormalization(SMALLEST)(history)
        future = [(0, 0), (0, horizon)]
        values = padded_to_patches(ops.pad(arcsinh(x), future), d_patch)
        known = padded_to_patches(ops.pad(known, future), d_patch)
        begun = ops.pad(begun, future, constant_values=1)
        share = ops.mean(padded_to_patches(begun, d_patch), axis=-1)
        tokens = ops.concatenate([values, known], axis=-1)
        x = self.network([tokens, share >= 1 - HIDDEN_SHARE])
        x = ops.reshape(x, (-1, values.shape[1] * d_patch, len(self.levels)))
        x = x[:, x.shape[1] - horizon :][:, :prediction_length]
        return rescaled(sinh(x), location, scale)

    def point(self, quantiles):
        """The mean: the quantiles' integral over their levels, constant beyond the outermost."""
        levels = np.asarray(self.levels)
        means = np.trapezoid(quantiles, levels, axis=-1)
        tails = quantiles[..., 0] * levels[0] + quantiles[..., -1] * (1 - levels[-1])
        return (means + tails).astype(quantiles.dtype)

    def padded_length(self, length):
        return few_patches(length, self.config["d_patch"], self.config["context_length"])
