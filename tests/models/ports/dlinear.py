"""DLinear of cure-lab/LTSF-Linear."""

from tests.models.ports.maps import linear, linears


def arguments(settings):
    settings.ignore("moving_avg")
    return {"individual": settings["individual"], "moving_average": 25}


def weights(official, settings):
    for ours, theirs in [("einsum_dense_0", "Linear_Seasonal"), ("einsum_dense_1", "Linear_Trend")]:
        if settings["individual"]:
            yield from linears(official, ours, theirs, settings["channels"])
        else:
            yield from linear(official, ours, theirs)
