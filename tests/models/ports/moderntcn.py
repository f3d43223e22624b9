"""ModernTCN of luodhhh/ModernTCN."""

from tests.models.ports.maps import batch_norm, feature_major


def arguments(settings):
    settings.require("revin", 1)
    settings.require("decomposition", 0)
    stages = len(settings["num_blocks"])
    settings.require("dw_dims", settings["dims"])
    return {
        "patch_length": settings["patch_size"],
        "stride": settings["patch_stride"],
        "widths": settings["dims"][:stages],
        "depths": settings["num_blocks"],
        "kernel_sizes": settings["large_size"],
        "small_kernel_sizes": settings["small_size"],
        "downsampling": settings["downsample_ratio"],
        "expansion": settings["ffn_ratio"],
        "affine": bool(settings["affine"]),
        "dropout": 0.0,
    }


def grouped(official, ours, theirs, groups):
    """A grouped convolution of width 1: (groups * out, in, 1) there, (groups, in, out) here."""
    kernel = official.take(f"{theirs}.weight")[..., 0]
    yield f"{ours}/kernel", kernel.reshape(groups, -1, kernel.shape[-1]).transpose(0, 2, 1)
    yield f"{ours}/bias", official.take(f"{theirs}.bias").reshape(groups, -1)


def weights(official, settings):
    if settings["affine"]:
        yield "window/gamma", official.take("model.revin_layer.affine_weight")
        yield "window/beta", official.take("model.revin_layer.affine_bias")
    norms = maps = convolutions = 0
    for i, blocks in enumerate(settings["num_blocks"]):
        stem, (first, second) = f"model.downsample_layers.{i}", (1, 0) if i == 0 else (0, 1)
        yield from batch_norm(official, f"batch_normalization_{norms}", f"{stem}.{first}")
        kernel = official.take(f"{stem}.{second}.weight")  # (out, in, kernel)
        yield f"dense_{i}/kernel", kernel.transpose(2, 1, 0).reshape(-1, len(kernel))
        yield f"dense_{i}/bias", official.take(f"{stem}.{second}.bias")
        norms += 1
        for j in range(blocks):
            block = f"model.stages.{i}.blocks.{j}"
            for part in ("lkb_origin", "small_conv"):
                kernel = official.take(f"{block}.dw.{part}.conv.weight")
                yield f"depthwise_conv1d_{convolutions}/kernel", kernel.transpose(2, 0, 1)
                yield from batch_norm(
                    official, f"batch_normalization_{norms}", f"{block}.dw.{part}.bn"
                )
                convolutions, norms = convolutions + 1, norms + 1
            yield from batch_norm(official, f"batch_normalization_{norms}", f"{block}.norm")
            norms += 1
            for network, groups in (("ffn1", settings["channels"]), ("ffn2", settings["dims"][i])):
                for k in (1, 2):
                    name = f"{block}.{network}pw{k}"
                    yield from grouped(official, f"einsum_dense_{maps}", name, groups)
                    maps += 1
    head = official.take("model.head.linear.weight")
    last = settings["dims"][len(settings["num_blocks"]) - 1]
    yield f"dense_{i + 1}/kernel", feature_major(head, head.shape[1] // last).T
    yield f"dense_{i + 1}/bias", official.take("model.head.linear.bias")
    unused = ("te_patch", "lat_layer", "smooth_layer", "up_sample_conv", "downsample_layers")
    official.drop(*(f"model.{name}.*" for name in unused))
