"""NLinear of cure-lab/LTSF-Linear."""

from tests.models.ports.maps import linear, linears


def arguments(settings):
    return {"individual": settings["individual"]}


def weights(official, settings):
    if settings["individual"]:
        yield from linears(official, "einsum_dense_0", "Linear", settings["channels"])
    else:
        yield from linear(official, "einsum_dense_0", "Linear")
