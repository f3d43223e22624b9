"""SparseTSF of lss-1138/SparseTSF."""

from tests.models.ports.maps import conv, linear


def arguments(settings):
    settings.require("model_type", "linear", "mlp")
    width = settings["d_model"]
    mlp = settings["model_type"] == "mlp"
    return {"period": settings["period_len"], "hidden_dim": width if mlp else None}


def weights(official, settings):
    yield from conv(official, "conv1d_0", "conv1d", bias=False)
    if settings["model_type"] == "mlp":
        yield from linear(official, "dense_0", "mlp.0")
        yield from linear(official, "dense_1", "mlp.2")
    else:
        yield from linear(official, "dense_0", "linear", bias=False)
