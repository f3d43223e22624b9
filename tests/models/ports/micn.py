"""MICN of the Time-Series-Library."""

from tests.models.ports.maps import conv, linear, norm, value_embedding


def arguments(settings):
    settings.ignore("n_heads")
    return {
        "kernel_sizes": settings["conv_kernel"],
        "d_model": settings["d_model"],
        "num_blocks": settings["d_layers"],
        "dropout": 0.0,
    }


def weights(official, settings):
    yield from linear(official, "trend", "regression")
    yield from value_embedding(official, "value_embedding_0", "dec_embedding")
    scales = len(settings["conv_kernel"])
    for i in range(settings["d_layers"]):
        block = f"conv_trans.mic.{i}"
        for j in range(scales):
            down = official.take(f"{block}.conv.{j}.weight")  # not a reshape: the steps are first
            yield f"scales_{i}_local_{j}/kernel", down.transpose(2, 1, 0).reshape(-1, len(down))
            yield f"scales_{i}_local_{j}/bias", official.take(f"{block}.conv.{j}.bias")
            yield from conv(official, f"scales_{i}_global_{j}", f"{block}.isometric_conv.{j}")
            up = official.take(f"{block}.conv_trans.{j}.weight")
            yield f"scales_{i}_steps_{j}/kernel", up.transpose(0, 2, 1)
            yield f"scales_{i}_steps_{j}/bias", official.take(f"{block}.conv_trans.{j}.bias")
        merge = official.take(f"{block}.merge.weight")[..., 0]
        yield f"scales_{i}_merge/kernel", merge.transpose(2, 1, 0).reshape(-1, len(merge))
        yield f"scales_{i}_merge/bias", official.take(f"{block}.merge.bias")
        for j, theirs in enumerate(("norm", "norm1", "norm2")):
            yield from norm(official, f"layer_normalization_{3 * i + j}", f"{block}.{theirs}")
        yield from linear(official, f"scales_{i}_expand", f"{block}.conv1")
        yield from linear(official, f"scales_{i}_contract", f"{block}.conv2")
    yield from linear(official, "head", "conv_trans.projection")
