"""DUET of decisionintelligence/DUET."""

import numpy as np
from keras import ops

from tests.models.ports.maps import encoder_layer, linear, norm


def arguments(settings):
    settings.ignore("fc_dropout")
    settings.require("noisy_gating", True)
    return {
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "num_experts": settings["num_experts"],
        "num_chosen_experts": settings["k"],
        "hidden_dim": settings["hidden_size"],
        "shared_gates": not settings["CI"],
        "moving_average": settings["moving_avg"],
        "balance": 0.0,  # the recorded step is without this loss
        "draw_always": True,
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
        "output_dropout": 0.0,
    }


def prepare(model, extra, settings):
    channels = settings["channels"]
    rows = channels if settings["CI"] else 1
    noise = extra["gate_noise"].reshape(-1, rows, settings["num_experts"])
    noise = ops.convert_to_tensor(noise)
    model.get_layer("gates").noise.draw = lambda logits: noise
    if channels > 1:
        gumbel = (extra["gumbel"][:, 0] - extra["gumbel"][:, 1]).reshape(-1, channels, channels)
        gumbel = ops.convert_to_tensor(gumbel)
        model.get_layer("similar_channels").draw = lambda logits: gumbel


def weights(official, settings):
    yield "window/gamma", official.take("cluster.revin.affine_weight")
    yield "window/beta", official.take("cluster.revin.affine_bias")
    for ours, theirs in (("gate", "gate"), ("gate_noise", "noise")):
        for i, suffix in ((0, "_hidden"), (2, "")):
            name = f"cluster.{theirs}.distribution_fit.{i}"
            yield from linear(official, f"{ours}{suffix}", name, bias=False)
    yield "gates/mixing", official.take("cluster.W_h")
    experts = [f"cluster.experts.{i}" for i in range(settings["num_experts"])]
    for ours, theirs in (("season", "Linear_Seasonal"), ("trend", "Linear_Trend")):
        kernels = [official.take(f"{expert}.{theirs}.weight").T for expert in experts]
        yield f"{ours}/kernel", np.stack(kernels)
        biases = [official.take(f"{expert}.{theirs}.bias") for expert in experts]
        yield f"{ours}/bias", np.stack(biases)
    if settings["channels"] > 1:
        yield "similar_channels/metric", official.take("mask_generator.A")
        for i in range(settings["e_layers"]):
            theirs = f"Channel_transformer.attn_layers.{i}"
            yield from encoder_layer(official, f"encoder_{i}", theirs)
        yield from norm(official, "layer_normalization_0", "Channel_transformer.norm")
    official.drop("mask_generator.*", "Channel_transformer.*")
    yield from linear(official, "head", "linear_head.0")
    official.drop("cluster.mean", "cluster.std")
