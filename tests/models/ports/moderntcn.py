"""ModernTCN of luodhhh/ModernTCN."""

from itertools import count

from tests.models.ports.maps import batch_norm, feature_major


def arguments(settings):
    stages = len(settings["num_blocks"])
    settings.ignore("dw_dims", "stem_ratio", "use_multi_scale", "head_dropout", "freq")
    settings.require("small_kernel_merged", False)
    settings.require("downsample_ratio", 2)
    settings.require("individual", 0)  # fails there
    center = "last" if settings.get("subtract_last", 0) else "mean"
    moving_average = settings["kernel_size"]
    return {
        "patch_length": settings["patch_size"],
        "stride": settings["patch_stride"],
        "widths": settings["dims"][:stages],
        "depths": settings["num_blocks"],
        "kernel_sizes": settings["large_size"],
        "small_kernel_sizes": settings["small_size"],
        "expansion": settings["ffn_ratio"],
        "center": center if settings["revin"] else None,
        "affine": bool(settings["affine"]),
        "moving_average": moving_average if settings["decomposition"] else None,
        "dropout": 0.0,
    }


def grouped(official, ours, theirs, groups):
    """A grouped convolution of width 1: (groups * out, in, 1) there, (groups, in, out) here."""
    kernel = official.take(f"{theirs}.weight")[..., 0]
    yield f"{ours}/kernel", kernel.reshape(groups, -1, kernel.shape[-1]).transpose(0, 2, 1)
    yield f"{ours}/bias", official.take(f"{theirs}.bias").reshape(groups, -1)


def weights(official, settings):
    numbers = {name: count() for name in ("normalization", "dense", "convolution", "map")}
    if settings["decomposition"]:
        for i, (theirs, part) in enumerate((("model_res", "season"), ("model_trend", "trend"))):
            ours = f"reversible_instance_normalization_{i}"
            yield from network(official, settings, ours, theirs, numbers, f"{part}_head")
    else:
        yield from network(official, settings, "window", "model", numbers, "head")


def network(official, settings, window, theirs, numbers, last):
    """One network; `numbers` count the layers that have no name."""

    def norm(name):
        number = next(numbers["normalization"])
        return batch_norm(official, f"batch_normalization_{number}", f"{theirs}.{name}")

    def dense(kernel, name, ours=None):
        ours = ours or f"dense_{next(numbers['dense'])}"
        yield f"{ours}/kernel", kernel
        yield f"{ours}/bias", official.take(f"{theirs}.{name}.bias")

    if settings["revin"] and settings["affine"]:
        yield f"{window}/gamma", official.take(f"{theirs}.revin_layer.affine_weight")
        yield f"{window}/beta", official.take(f"{theirs}.revin_layer.affine_bias")
    for i, blocks in enumerate(settings["num_blocks"]):
        stem, (first, second) = f"downsample_layers.{i}", (1, 0) if i == 0 else (0, 1)
        yield from norm(f"{stem}.{first}")
        kernel = official.take(f"{theirs}.{stem}.{second}.weight")  # (out, in, kernel)
        yield from dense(kernel.transpose(2, 1, 0).reshape(-1, len(kernel)), f"{stem}.{second}")
        for j in range(blocks):
            block = f"stages.{i}.blocks.{j}"
            for part in ("lkb_origin", "small_conv"):
                kernel = official.take(f"{theirs}.{block}.dw.{part}.conv.weight")
                ours = f"depthwise_conv1d_{next(numbers['convolution'])}"
                yield f"{ours}/kernel", kernel.transpose(2, 0, 1)
                yield from norm(f"{block}.dw.{part}.bn")
            yield from norm(f"{block}.norm")
            for part, groups in (("ffn1", settings["channels"]), ("ffn2", settings["dims"][i])):
                for k in (1, 2):
                    ours, name = f"einsum_dense_{next(numbers['map'])}", f"{block}.{part}pw{k}"
                    yield from grouped(official, ours, f"{theirs}.{name}", groups)
    head = official.take(f"{theirs}.head.linear.weight")
    width = settings["dims"][len(settings["num_blocks"]) - 1]
    yield from dense(feature_major(head, head.shape[1] // width).T, "head.linear", last)
    unused = ("te_patch", "lat_layer", "smooth_layer", "up_sample_conv", "downsample_layers")
    official.drop(*(f"{theirs}.{name}.*" for name in unused))
