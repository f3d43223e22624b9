"""N-BEATS and N-BEATSx of cchallu/nbeatsx.

In the cases with covariates all their steps are inputs of each block, by column and in order.
"""

import numpy as np

from tests.models.ports.maps import conv, linear
from tests.models.ports.nhits import coefficients


def arguments(settings):
    stacks, columns = settings["stacks"], (0,) * settings.get("columns", 0)
    settings.require("degree", 2)
    return {
        "stacks": tuple(stacks),
        "num_blocks": settings["blocks"],
        "shared_blocks": "all" if settings["shared"] else "none",
        "hidden_dim": settings["width"],
        "num_layers": settings["layers"],
        "harmonics": settings["harmonics"],
        "from_last_value": True,
        "reference_curves": True,
        "covariates": {"future": columns} if columns else None,
    }


def inputs(extra, settings):
    return {"future_covariates": extra["future"]} if settings.get("columns", 0) else {}


def weights(official, settings):
    context, count = settings["context"], settings["blocks"]
    num_blocks, number, wavenets = count * len(settings["stacks"]), 0, 0
    for i in range(num_blocks):
        kind, block = settings["stacks"][i // count], f"blocks.{i}"
        if settings["shared"] and i % count:  # the blocks of a stack are one module
            official.drop_copies(of=f"blocks.{i - 1}.", prefix=f"{block}.")
            continue
        if kind == "exogenous_wavenet":
            yield f"einsum_dense_{wavenets}/kernel", official.take(f"{block}.basis.weight")[0, :, 0]
            for j, module in enumerate((0, 4, 7, 10)):
                theirs = f"{block}.basis.wavenet.{module}"
                yield from conv(official, f"conv1d_{4 * wavenets + j}", theirs)
            wavenets += 1
        first = official.take(f"{block}.layers.0.weight")
        newest_first, covariates = np.split(first, [context], axis=1)
        columns = np.concatenate([newest_first[:, ::-1], covariates], axis=1)
        yield f"dense_{number}/kernel", columns.T
        yield f"dense_{number}/bias", official.take(f"{block}.layers.0.bias")
        number += 1
        for j in range(1, settings["layers"]):
            yield from linear(official, f"dense_{number}", f"{block}.layers.{2 * j}")
            number += 1
        last = f"{block}.layers.{2 * settings['layers']}"
        if kind == "generic":
            number = yield from coefficients(official, last, number, context, i, num_blocks)
            continue
        official.drop(f"{block}.basis.*")
        wave_order = order(kind, official.arrays[f"{last}.bias"], settings)
        width = official.arrays[f"{last}.weight"].shape[1]
        has_backcast = (settings["shared"] and count > 1) or i < num_blocks - 1
        left_out = len(official.arrays[f"{last}.bias"]) - (1 + has_backcast) * len(wave_order)
        kernel = official.take(f"{last}.weight", unused=left_out * width)
        bias = official.take(f"{last}.bias", unused=left_out)
        for part in (1, 0) if has_backcast else (0,):  # backcast, forecast
            rows = part * len(bias) // 2 + wave_order
            yield f"dense_{number}/kernel", kernel[rows].T
            yield f"dense_{number}/bias", bias[rows]
            number += 1


def order(kind, bias, settings):
    """Return the places of our coefficients among theirs, of a forecast or backcast."""
    count = len(bias) // 2
    if kind != "seasonality":
        return np.arange(count)
    # Theirs: cosines from 0, then sines from 0, the first of which is 0. Ours: 1, cos, sin, ...
    waves = count // 2
    pairs = [(wave, waves + wave) for wave in range(1, waves)]
    return np.array([0, *sum(pairs, ())])
