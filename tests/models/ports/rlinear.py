"""RevIN of yuqinie98/PatchTST around a linear map, which is RLinear."""

from tests.models.ports.maps import linear, linears


def arguments(settings):
    settings.require("affine", 1, True)
    return {"individual": settings["individual"]}


def weights(official, settings):
    yield "window/gamma", official.take("rev.affine_weight")
    yield "window/beta", official.take("rev.affine_bias")
    if settings["individual"]:
        yield from linears(official, "einsum_dense_0", "Linear", settings["channels"])
    else:
        yield from linear(official, "einsum_dense_0", "Linear")
