"""TimeBase of hqh0728/TimeBase."""

from tests.models.ports.maps import linear, linears


def arguments(settings):
    settings.require("use_orthogonal", 0, 1)  # the recorded step is that of the error without it
    return {
        "period": settings["period_len"],
        "num_bases": settings["basis_num"],
        "center_phases": bool(settings["use_period_norm"]),
        "individual": bool(settings["individual"]),
        "orthogonality": 0,
    }


def weights(official, settings):
    for i, theirs in enumerate(("ts2basis", "basis2ts")):
        if settings["individual"]:
            yield from linears(official, f"einsum_dense_{i}", theirs, settings["channels"])
        else:
            yield from linear(official, f"einsum_dense_{i}", theirs)
