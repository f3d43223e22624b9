"""xPatch of stitsyuk/xPatch."""

from tests.models.ports.maps import batch_norm, linear, norm

DECOMPOSITIONS = {"ema": "simple", "dema": "double", "reg": "none"}
MAPS = {
    "expand": "fc1",
    "skip": "fc2",
    "pointwise": "conv2",
    "season_hidden": "fc3",
    "season": "fc4",
    "trend_expand": "fc5",
    "trend": "fc7",
    "head": "fc8",
}


def arguments(settings):
    settings.require("padding_patch", "end", None)
    settings.require("beta_", 0.3)
    settings.require("ma_type", *DECOMPOSITIONS)
    return {
        "patch_length": settings["patch_len"],
        "stride": settings["stride"],
        "pad_end": settings["padding_patch"] == "end",
        "decomposition": DECOMPOSITIONS[settings["ma_type"]],
        "smoothing": settings["alpha_"],
        "standardize": bool(settings["revin"]),
    }


def weights(official, settings):
    if settings["revin"]:
        yield "window/gamma", official.take("revin_layer.affine_weight")
        yield "window/beta", official.take("revin_layer.affine_bias")
    else:
        official.drop("revin_layer.*")
    kept = settings["horizon"] // 2 * 2  # the average of pairs leaves the last of an odd number out
    for ours, theirs in (("kernel", "weight"), ("bias", "bias")):
        name = f"net.fc6.{theirs}"
        array = official.take(name, unused=official.arrays[name][kept:].size)
        yield f"trend_hidden/{ours}", array[:kept].T
    for ours, theirs in MAPS.items():
        yield from linear(official, ours, f"net.{theirs}")
    yield "depthwise/kernel", official.take("net.conv1.weight")[:, 0]
    yield "depthwise/bias", official.take("net.conv1.bias")
    for i in range(3):
        yield from batch_norm(official, f"batch_normalization_{i}", f"net.bn{i + 1}")
    for i in range(2):
        yield from norm(official, f"layer_normalization_{i}", f"net.ln{i + 1}")
