"""Reverso: long convolutions and linear recurrences without patches (Fu et al., 2026).

Paper: https://arxiv.org/abs/2602.17634
Code: https://github.com/shinfxh/reverso/tree/6904526
Weights: https://huggingface.co/shinfxh/reverso
"""

import numpy as np

from kerastrans import heads
from kerastrans.models.pretrained.blockwise import InterpolatedBlockModel
from kerastrans.models.pretrained.checkpoint import assign, read_sizes, refuse_others
from kerastrans.models.pretrained.reverso.network import HEADS, ReversoLayers, build_network
from kerastrans.utils.validation import check_choice, check_divides, check_positive

SIZES = ("seq_len", "output_token_len", "d_model", "d_intermediate", "gating_kernel_size")


def reads(config):
    """Return whether a configuration is one of Reverso."""
    return {"main_module", "output_bottleneck_dim"} <= config.keys()


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    config = read(config)
    layer = ReversoLayers()
    network = build_network(layer, config)
    assign(tensors, layer.layout())
    return Reverso(network, (0.5,), config["seq_len"], config["output_token_len"])


def read(config):
    """Check a configuration and return it with the kinds of its layers as a list.

    Raises:
        ValueError: If a size is missing or impossible, or a switch is not supported.
    """
    config = {"expand_v": 1.0, "state_weaving": 0, "gating_kernel_size": 3, **config}
    sizes = read_sizes(config, *SIZES)
    check_positive(expand_v=config["expand_v"])
    check_divides(heads=HEADS, d_model=sizes["d_model"])
    check_divides(heads=HEADS, values=round(sizes["d_model"] * config["expand_v"]))
    refuse_others(
        config,
        use_norm=(True,),
        learn_bias=(1, 0),
        state_weaving=(1, 0),
        gating_kernel_size=range(1, 100, 2),
        input_token_len=(sizes["seq_len"],),
        output_bottleneck_dim=(sizes["output_token_len"],),
    )
    kinds = [kind.strip() for kind in str(config["main_module"]).split(",")]
    for kind in kinds:
        check_choice("a kind in main_module", kind, ("conv", "attn"))
    return {**config, "main_module": kinds}


class Reverso(InterpolatedBlockModel):
    """Reverso with its published weights, for windows of 2,048 steps and blocks of 48.

    It forecasts a point and no quantiles: in arrays, all quantiles are that point, as in the
    authors' code; a forecaster has no intervals until `calibrate` measures them.

    The authors' code rounds to bfloat16 within the network, this one does not. The published
    scores are those of `flip_invariance=True`; see `InterpolatedBlockModel`.

    Source: Fu et al. (2026), "Reverso: Efficient time series foundation models for zero-shot
    forecasting", arXiv:2602.17634.
    """

    def head(self):
        return heads.PointHead(equivariance=self.equivariance)

    def at_levels(self, quantiles, levels):
        return np.repeat(quantiles, len(levels), axis=-1)
