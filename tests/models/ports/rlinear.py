"""RevIN of yuqinie98/PatchTST around a linear map, which is RLinear."""

from tests.models.ports.maps import linear, linears


def arguments(settings):
    return {"individual": settings["individual"], "affine": bool(settings["affine"])}


def weights(official, settings):
    if settings["affine"]:
        yield "window/gamma", official.take("rev.affine_weight")
        yield "window/beta", official.take("rev.affine_bias")
    if settings["individual"]:
        yield from linears(official, "einsum_dense_0", "Linear", settings["channels"])
    else:
        yield from linear(official, "einsum_dense_0", "Linear")
