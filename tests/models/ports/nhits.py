"""N-HiTS of Nixtla/neuralforecast, whose blocks begin with a linear map without activation.

In some cases this map is an identity ("plain_first"), as in the authors' code: it is left out.
"""

import numpy as np

from tests.models.ports.maps import linear

KINDS = ("past", "future", "static")


def arguments(settings):
    widths = settings["mlp_units"]
    return {
        "pool_sizes": tuple(settings["pools"]),
        "downsampling": tuple(settings["downsample"]),
        "hidden_dim": tuple(width for _, width in widths),
        "num_layers": len(widths),
        "input_dim": None if settings["plain_first"] else widths[0][0],
        "covariates": {kind: (0,) * settings.get(kind, 0) for kind in given(settings)} or None,
    }


def given(settings):
    """Return the kinds of covariates of a case."""
    return [kind for kind in KINDS if settings.get(kind, 0)]


def inputs(extra, settings):
    return {f"{kind}_covariates": extra[kind] for kind in given(settings)}


def weights(official, settings):
    context, pools, number = settings["context"], settings["pools"], 0
    for i, pool in enumerate(pools):
        block, columns = f"blocks.{i}.layers", order(settings, pool)
        if settings["plain_first"]:
            official.drop(f"{block}.0.*")
            kernel = official.arrays[f"{block}.1.weight"]
            unused = kernel[:, len(columns) :].size
            kernel = official.take(f"{block}.1.weight", unused=unused)
            first, modules = "1", [3 + 2 * j for j in range(len(settings["mlp_units"]) - 1)]
        else:
            kernel = official.take(f"{block}.0.weight")
            first, modules = "0", [1 + 2 * j for j in range(len(settings["mlp_units"]))]
        yield f"dense_{number}/kernel", kernel[:, columns].T
        yield f"dense_{number}/bias", official.take(f"{block}.{first}.bias")
        number += 1
        for module in modules:
            yield from linear(official, f"dense_{number}", f"{block}.{module}")
            number += 1
        last = 1 + 2 * len(settings["mlp_units"])
        number = yield from coefficients(
            official, f"{block}.{last}", number, context, i, len(pools)
        )


def order(settings, pool):
    """Return the places of our inputs of a block among theirs."""
    context, horizon = settings["context"], settings["horizon"]
    start = -(-context // pool)
    columns = [np.arange(start)[::-1]]  # newest first there
    for kind, length in {"past": context, "future": context + horizon, "static": pool}.items():
        pools, count = -(-length // pool), settings.get(kind, 0)
        # (pools, columns) there, (columns, pools) here
        columns.append(start + np.arange(pools * count).reshape(pools, count).T.ravel())
        start += pools * count
    return np.concatenate(columns)


def coefficients(official, theirs, number, context, block, num_blocks):
    """Map the coefficients of a backcast, newest first, and of a forecast; return the number."""
    is_last = block == num_blocks - 1
    width = official.arrays[f"{theirs}.weight"].shape[1]
    kernel = official.take(f"{theirs}.weight", unused=is_last * context * width)
    bias = official.take(f"{theirs}.bias", unused=is_last * context)
    if not is_last:
        yield f"dense_{number}/kernel", kernel[:context][::-1].T
        yield f"dense_{number}/bias", bias[:context][::-1]
        number += 1
    yield f"dense_{number}/kernel", kernel[context:].T
    yield f"dense_{number}/bias", bias[context:]
    return number + 1
