"""CycleNet of ACAT-SCUT/CycleNet."""

from tests.models.ports.maps import linear


def arguments(settings):
    settings.require("model_type", "linear", "mlp")
    width = settings["d_model"]
    mlp = settings["model_type"] == "mlp"
    return {
        "cycle_length": settings["cycle"],
        "hidden_dim": width if mlp else None,
        "standardize": bool(settings["use_revin"]),
    }


def inputs(extra, settings):
    settings.ignore("starts")  # the same as the phase
    return {"position": extra["cycle_index"]}


def weights(official, settings):
    yield "recurrent_cycle_0/cycle", official.take("cycleQueue.data")
    if settings["model_type"] == "mlp":
        yield from linear(official, "einsum_dense_0", "model.0")
        yield from linear(official, "einsum_dense_1", "model.2")
    else:
        yield from linear(official, "einsum_dense_0", "model")
