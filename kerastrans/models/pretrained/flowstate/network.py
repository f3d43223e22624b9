"""The layers of FlowState: state space models, each with a gated network and a normalisation."""

import numpy as np
from keras import layers, ops

from kerastrans.layers import StateSpace
from kerastrans.models.pretrained.checkpoint import linear
from kerastrans.utils.precision import full_precision


class FlowStateStack:
    """The layers of FlowState, which all sampling rates share.

    Args:
        layer: `KeyedLayers` that creates the layers.
        config: Dict, the checked configuration.
    """

    def __init__(self, layer, config):
        width = config["embedding_feature_dim"]
        self.embed = layer("model.embed.embed", layers.Dense, width)
        self.blocks = []
        gated = config.get("out_gating", False)
        mlp = _gated_mlp if config.get("mlp_type") == "transformer" else _gate
        for i in range(config["encoder_num_layers"]):
            key = f"model.encoder.layers.{i}"
            state_space = layer(f"{key}.ssm", StateSpace, config["encoder_state_dim"], gated=gated)
            norm = layer(f"{key}.norm", layers.LayerNormalization, epsilon=1e-5)
            self.blocks.append((state_space, mlp(layer, key, width), norm))
        size = len(config["quantiles"]) * config["decoder_dim"]
        self.decode = layer("model.decoder.lin", layers.Dense, size, dtype=full_precision())

    def __call__(self, steps, positions, scale, present=None):
        """Return the coefficients of the forecasts from some positions.

        Args:
            steps: `(batch, time, 2)`, values and whether they are missing.
            positions: Tuple of int, positions to forecast from.
            scale: float, length of a step.
            present: `(batch, time, 1)`, 0 for steps that must not affect the state.

        Returns:
            `(batch, len(positions), quantiles * decoder_dim)`.
        """
        x = self.embed(steps)
        for state_space, mlp, norm in self.blocks:
            # The last block computes only the positions that are forecast from.
            selected = positions if norm is self.blocks[-1][-1] else None
            y = state_space(x if present is None else x * present, scale=scale, positions=selected)
            y = norm(mlp(y))
            x = y + (x if selected is None else ops.take(x, selected, axis=1))
        return self.decode(x)


def _gate(layer, key, width):
    """Return the function of version 1.0 after a state space model: each feature has a gate."""
    gate = layer(f"{key}.out", layers.Dense, width, activation="sigmoid")

    def apply(x):
        x = ops.selu(x)
        return x * gate(x)

    return apply


def _gated_mlp(layer, key, width):
    """Return the function of version 1.1, a residual network whose hidden features have gates."""
    norm = layer(f"{key}.mlp", layers.RMSNormalization, epsilon=1e-6)
    gate, expand = (layer(f"{key}.mlp.{x}", layers.Dense, 2 * width) for x in ("w1", "w2"))
    contract = layer(f"{key}.mlp.w3", layers.Dense, width)

    def apply(x):
        y = norm(x)
        return x + contract(ops.silu(gate(y)) * expand(y))

    return apply


def _state_space_layout(key, layer):
    layout = {
        f"{key}.log_Lambda_real": layer.log_decay,
        f"{key}.Lambda_imag": layer.frequency,
        f"{key}.log_Delta": layer.log_step,
        f"{key}.D": layer.skip,
    }
    for part, weights in (
        ("B_tilde_r", layer.input_real),
        ("B_tilde_i", layer.input_imaginary),
        ("C_tilde_r", layer.output_real),
        ("C_tilde_i", layer.output_imaginary),
    ):
        layout[f"{key}.{part}"] = (weights, np.transpose)
    return {**layout, **linear(f"{key}.output_gate", layer.gate)} if layer.gated else layout


KINDS = {
    StateSpace: _state_space_layout,
    layers.RMSNormalization: lambda key, layer: {f"{key}.rms_weight": layer.scale},
}
