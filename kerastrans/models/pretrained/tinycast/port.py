"""TinyCast: dilated causal filters, and the periods that are found in the window (2026).

Paper: https://arxiv.org/abs/2608.15767
Code: https://github.com/raws-labs/tinycast/tree/bb16043
Weights: https://huggingface.co/raws-labs/tinycast
"""

from kerastrans.models.pretrained.blockwise import InterpolatedBlockModel
from kerastrans.models.pretrained.checkpoint import assign, read_sizes, refuse_others
from kerastrans.models.pretrained.tinycast.network import TinyCastLayers, build_network
from kerastrans.utils.validation import check_levels, check_positive, check_weight

SIZES = (
    *("seq_len", "output_token_len", "conv_dim", "n_layers", "kernel_size", "decoder_depth"),
    *("top_k_periods", "n_harmonics", "phase_bins", "future_conv_layers", "future_conv_seed"),
)
# Switches of the published model; other values are not supported.
SWITCHES = {
    "causal": True,
    "future_conv": True,
    "pool_kind": "mean_last",
    "separable_conv": True,
    "share_ffn": True,
}


def reads(config):
    """Return whether a configuration is one of TinyCast."""
    return {"conv_dim", "phase_bins", "future_conv"} <= config.keys()


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    read_sizes(config, *SIZES)
    check_positive(ffn_mult=config.get("ffn_mult"))
    check_weight(significance_alpha=config.get("significance_alpha"))
    refuse_others(config, **{name: (value,) for name, value in SWITCHES.items()})
    levels = check_levels(config.get("quantiles") or ())
    layer = TinyCastLayers()
    network = build_network(layer, config)
    assign(tensors, layer.layout())
    return TinyCast(network, levels, config["seq_len"], config["output_token_len"])


class TinyCast(InterpolatedBlockModel):
    """TinyCast with its published weights, for windows of 2,048 steps and blocks of 48.

    The published scores are those of `flip_invariance=True`, which is not the default of the
    authors' package; see `InterpolatedBlockModel`.

    Source: Steinhauser (2026), "TinyCast: Probabilistic zero-shot forecasting with computed
    periodicity", arXiv:2608.15767.
    """

    largest = 5.0
