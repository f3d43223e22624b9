"""Amplifier of aikunyi/Amplifier."""

import numpy as np

from tests.models.ports.maps import linear

MAPS = {"season": "linear_seasonal", "trend": "linear_trend"}
MIXING_MAPS = {
    "pattern": "extract_common_pattern",
    "common": "model_common_pattern",
    "specific": "model_spacific_pattern",
}


def arguments(settings):
    return {"hidden_dim": settings["hidden_size"], "mix_channels": bool(settings["SCI"])}


def weights(official, settings):
    yield "window/gamma", official.take("revin_layer.affine_weight")
    yield "window/beta", official.take("revin_layer.affine_bias")
    yield "amplification/kernel", official.take("mask_matrix").T
    kernel, bias = official.take("freq_linear.weight").T, official.take("freq_linear.bias")
    for part, array in (("real", np.real), ("imaginary", np.imag)):
        yield f"restoration/{part}", array(kernel)
        yield f"restoration/{part}_bias", array(bias)
    maps = MAPS | MIXING_MAPS if settings["SCI"] else MAPS
    for ours, theirs in maps.items():
        yield from linear(official, f"{ours}_hidden", f"{theirs}.0")
        yield from linear(official, ours, f"{theirs}.2")
    official.drop(*(f"{theirs}.*" for theirs in MIXING_MAPS.values()))
