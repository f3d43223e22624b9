"""TQNet of ACAT-SCUT/TQNet."""

import numpy as np

from tests.models.ports.maps import linear


def arguments(settings):
    settings.ignore("model_type", "starts")  # `starts` are `cycle_index`
    return {
        "cycle_length": settings["cycle"],
        "hidden_dim": settings["d_model"],
        "standardize": bool(settings["use_revin"]),
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }


def inputs(extra, settings):
    return {"position": extra["cycle_index"].astype("int32")}


def weights(official, settings):
    yield "recurrent_cycle_0/cycle", official.take("temporalQuery")
    attention, theirs = "cached_multi_head_attention_0", "channelAggregator"
    for kind in ("weight", "bias"):
        parts = np.split(official.take(f"{theirs}.in_proj_{kind}"), 3)
        for name, part in zip(("query", "key", "value"), parts, strict=True):
            path = {"weight": "kernel"}.get(kind, kind)
            yield f"{attention}/{name}/{path}", part.T
    yield from linear(official, f"{attention}/output", f"{theirs}.out_proj")
    names = ("embedding", "input_proj"), ("hidden", "model.0"), ("residual", "model.2")
    for ours, theirs in (*names, ("head", "output_proj.1")):
        yield from linear(official, ours, theirs)
