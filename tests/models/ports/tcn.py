"""TemporalConvNet of locuslab/TCN, with a linear head on the last step."""

from tests.models.ports.maps import conv, linear


def arguments(settings):
    return {
        "filters": tuple(settings["filters"]),
        "num_blocks": len(settings["filters"]),
        "kernel_size": settings["kernel"],
        "weight_norm": bool(settings["weight_norm"]),
        "dropout": 0.0,
    }


def weights(official, settings):
    width, number = settings["channels"], 0
    for i, filters in enumerate(settings["filters"]):
        block = f"tcn.network.{i}"
        for j, copy in enumerate((0, 4)):
            theirs = f"{block}.conv{j + 1}"
            official.drop_copies(of=f"{theirs}.", prefix=f"{block}.net.{copy}.")
            if settings["weight_norm"]:
                ours = f"weight_normalized_convolution_{2 * i + j}"
                yield f"{ours}/direction", official.take(f"{theirs}.weight_v").transpose(2, 1, 0)
                yield f"{ours}/scale", official.take(f"{theirs}.weight_g").ravel()
                yield f"{ours}/bias", official.take(f"{theirs}.bias")
            else:
                yield from conv(official, f"conv1d_{2 * i + j}", theirs)
        if width != filters:
            yield from linear(official, f"dense_{number}", f"{block}.downsample")
            width, number = filters, number + 1
    yield from linear(official, "head", "head")
