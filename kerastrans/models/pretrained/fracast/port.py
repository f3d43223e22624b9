"""Fracast-0: one causal filter that is applied at several dilations, with 85,001 parameters.

Code: https://github.com/ztxtech/fracast-0
Weights: https://huggingface.co/ztxtech/fracast-0

Source: the `fracast` package (ztxtech, 2026), which shares its periods and phases with `tinycast`.
"""

import numpy as np
from keras import ops

from kerastrans.layers import ObservedValues
from kerastrans.models.pretrained.arrays import as_tasks
from kerastrans.models.pretrained.blockwise import MIN_RANGE, BlockModel
from kerastrans.models.pretrained.checkpoint import assign, read_section, read_sizes, refuse_others
from kerastrans.models.pretrained.fracast.network import FracastLayers, build_network
from kerastrans.models.pretrained.scaling import rescaled

MIN_OBSERVED = 8  # smallest number of observed values of a series
DEFAULTS = {"head_future_conv_layers": 6, "head_future_conv_seed": 128, "head_phase_bins": 16}
SIZES = (
    *DEFAULTS,
    *("W", "d_model", "horizon", "kernel_size", "n_stages", "dilation_base", "scale_cond_dim"),
    *("periodic_topk", "periodic_min_period", "periodic_harmonics"),
    *("head_d_ff", "head_layers", "head_fc_layers", "head_fc_kernel"),
)
# Switches of the published model; other values are not supported.
SWITCHES = {
    "causal": True,
    "context_norm": "robust",
    "head_future_conv": True,
    "head_kind": "gather",
    "head_output_mode": "direct",
    "head_seasonal_fill_mode": "phase_mean",
    "level_affine": False,
    "periodic_phase": True,
    "recency_encoding": True,
    "scale_cond": "film",
    "separable_conv": True,
    "share_stages": True,
}


def reads(config):
    """Return whether a configuration is one of Fracast."""
    model = config.get("model")
    return isinstance(model, dict) and model.get("family") == "fracast"


def load(config, tensors):
    """Load the model of a published checkpoint, see `kerastrans.models.pretrained.load`."""
    refuse_others(config.get("pyramid", {}), ratios=([],))
    config = read(read_section(config, "model"))
    layer = FracastLayers()
    network = build_network(layer, config)
    assign(tensors, layer.layout())
    return Fracast(network, config)


def read(config):
    """Check a configuration and return it with its defaults."""
    config = {**DEFAULTS, **config}
    refuse_others(config, **{name: (value,) for name, value in SWITCHES.items()})
    read_sizes(config, *SIZES)
    refuse_others(config, level_widths=([config["W"]],))
    return config


class Fracast(BlockModel):
    """Fracast-0, for series with at least eight observed values; each is forecast separately.

    The window is scaled to [0, 1] by its smallest and largest value. For a longer horizon than that
    of the network, the median is appended to the history as observed values.
    """

    equivariance = "affine"

    def __init__(self, network, config):
        super().__init__(network, config["quantiles"], config["W"], config["horizon"])

    def forecast(self, series, *args, **kwargs):
        for number, task in enumerate(as_tasks(series)):
            if np.isfinite(task[:, -self.max_context :]).sum(axis=1).min() < MIN_OBSERVED:
                raise ValueError(
                    f"series {number} has fewer than {MIN_OBSERVED} observed values among its "
                    f"last {self.max_context} steps, which {self.network.name} requires."
                )
        return super().forecast(series, *args, **kwargs)

    def filled(self, history):
        return ObservedValues()(history)[:2]

    def block(self, values, observed):
        # Move missing values out of the way of minimum and maximum.
        offset = ops.max(ops.abs(values), axis=1, keepdims=True) * (1 - observed)
        lowest = ops.min(values + 2 * offset, axis=1, keepdims=True)
        highest = ops.max(values - 2 * offset, axis=1, keepdims=True)
        width = ops.maximum(highest - lowest, MIN_RANGE)
        x = (values - lowest) / width * observed
        padding = [[0, 0], [self.max_context - values.shape[1], 0]]
        x = self.network([ops.pad(x, padding), ops.pad(observed, padding)])
        return rescaled(x, lowest, width)
