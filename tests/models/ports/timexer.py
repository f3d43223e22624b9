"""TimeXer of thuml/Time-Series-Library.

With features="M" all channels are exogenous variables; with "MS" the first columns of its input
are, here `extra/exogenous`, and the last one is the only channel.
"""

import numpy as np

from tests.models.ports.maps import feature_major, linear, norm, projections


def arguments(settings):
    settings.require("features", "M", "MS")
    settings.require("activation", "gelu")
    arguments = {
        "patch_length": settings["patch_len"],
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "standardize": bool(settings["use_norm"]),
        "dropout": 0.0,
    }
    columns = (0,) * settings.num_calendar_columns
    if settings["features"] == "MS":
        covariates = {"past": (0,) * settings["exogenous"]}
        covariates |= {"future": columns} if settings["marks"] else {}
        arguments |= {"covariates_only": True, "covariates": covariates}
    elif settings["marks"]:
        arguments |= {"shared_embedding": True, "covariates": {"past": columns}}
    return arguments


def inputs(extra, settings):
    if settings["features"] == "M":
        return {"past_covariates": extra["marks"]} if settings["marks"] else {}
    inputs = {"past_covariates": extra["exogenous"]}
    if settings["marks"]:  # those of the horizon are not read
        marks = np.pad(extra["marks"], [(0, 0), (0, settings["horizon"]), (0, 0)])
        inputs["future_covariates"] = marks
    return inputs


def weights(official, settings):
    blocks = settings["e_layers"]
    official.drop("en_embedding.position_embedding.pe")
    yield "global_token_0/tokens", official.take("en_embedding.glb_token")[:, :, 0]
    yield from linear(official, "patch_embedding", "en_embedding.value_embedding", bias=False)
    yield from linear(official, "channel_embedding", "ex_embedding.value_embedding")
    for i in range(blocks):
        theirs = f"encoder.layers.{i}"
        for j, name in enumerate(("self_attention", "cross_attention")):
            ours = f"cached_multi_head_attention_{2 * i + j}"
            yield from projections(official, ours, f"{theirs}.{name}")
        for j in range(3):
            yield from norm(official, f"layer_normalization_{3 * i + j}", f"{theirs}.norm{j + 1}")
        yield from linear(official, f"block_{i}_ffn_expand", f"{theirs}.conv1")
        yield from linear(official, f"block_{i}_ffn_contract", f"{theirs}.conv2")
    yield from norm(official, f"layer_normalization_{3 * blocks}", "encoder.norm")
    kernel = official.take("head.linear.weight")
    tokens = settings["context"] // settings["patch_len"] + 1
    yield "head/kernel", feature_major(kernel, tokens).T
    yield "head/bias", official.take("head.linear.bias")
