"""The network of TinyCast: causal filters of growing dilation, and periods found in the window."""

from keras import Input, Model, layers, ops

from kerastrans.layers import (
    CausalDepthwiseConvolution,
    DominantPeriods,
    PhaseEncoding,
    Recency,
    SeasonalFill,
)
from kerastrans.models.pretrained.filters import FilterLayers
from kerastrans.utils.precision import full_precision


class TinyCastLayers(FilterLayers):
    """The layers of the network, by their keys."""

    def stack(self, key, config, count):
        """Return blocks that share their gated network, as a function."""
        width = config["conv_dim"]
        gated = self.gated(f"{key}.0.ffn", width, int(width * config["ffn_mult"]))
        blocks = []
        for i in range(count):
            taps = config["kernel_size"]
            convolution = self(f"{key}.{i}.conv.0", CausalDepthwiseConvolution, taps)
            mix = self(f"{key}.{i}.conv.1", layers.Conv1D, width, 1)
            blocks.append(self.residual_block(f"{key}.{i}", convolution, mix, gated))

        def apply(x):
            for i, block in enumerate(blocks):
                x = block(x, dilation=2**i)
            return x

        return apply


def build_network(layer, config):
    """Build the network, from a window in [0, 1] to quantiles in the same units.

    Args:
        layer: `TinyCastLayers` that creates the layers.
        config: Dict, the checked configuration.

    Returns:
        Functional Keras model from `(batch, seq_len)` to `(batch, output_token_len, quantiles)`.
    """
    length, horizon, width = (config[x] for x in ("seq_len", "output_token_len", "conv_dim"))
    exact = {"dtype": full_precision()}
    values = Input((length,), name="values")
    observed = ops.ones_like(values)
    search = DominantPeriods(config["top_k_periods"], alpha=config["significance_alpha"], **exact)
    periods = search(values, observed)
    phases = PhaseEncoding(length + horizon, config["n_harmonics"], **exact)(periods)
    past, future = phases[:, :length], phases[:, length:]
    fill = SeasonalFill(horizon, config["phase_bins"], **exact)

    x = Recency(length)(ops.concatenate([values[..., None], past], axis=-1))
    x = layer.dense("model.core.in_proj", width)(x)
    x = layer.stack("model.core.encoder", config, config["n_layers"])(x)

    # What is known of each future step: its place, the window, and the window at its phases.
    summary = ops.concatenate([ops.mean(x, axis=1), x[:, -1]], axis=-1)
    profiles = [fill(x, observed, periods[:, i : i + 1]) for i in range(config["top_k_periods"])]
    profile = layer.dense("model.core.phase_mix", width)(ops.concatenate(profiles, axis=-1))
    place = Recency(length, start=length)(future)
    steps = [place, layers.RepeatVector(horizon)(summary), profile]
    steps = layer.dense("model.core.query_proj", width)(ops.concatenate(steps, axis=-1))

    # A second stack continues the encoded window on the mean values of the first period.
    naive = fill(values, observed, periods)[..., None]
    naive = Recency(length, start=length)(ops.concatenate([naive, future], axis=-1))
    naive = layer.dense("model.core.fc_in_proj", width)(naive)
    ahead = ops.concatenate([x[:, -config["future_conv_seed"] :], naive], axis=1)
    ahead = layer.stack("model.core.fc_blocks", config, config["future_conv_layers"])(ahead)
    steps = steps + layer.dense("model.core.fc_out", width)(ahead[:, -horizon:])

    for i in range(config["decoder_depth"]):
        gated = layer.gated(f"model.core.decoder_ffns.{i}", width, int(width * config["ffn_mult"]))
        steps = layer.norm(f"model.core.decoder_norms.{i}")(steps + gated(steps))
    quantiles = layer.dense("model.core.out_proj", len(config["quantiles"]))(steps)
    return Model(values, quantiles, name="tinycast")
