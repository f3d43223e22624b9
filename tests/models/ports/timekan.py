"""TimeKAN of huangst21/TimeKAN."""

from tests.models.ports.maps import linear, value_embedding


def arguments(settings):
    settings.ignore("channel_independence", "use_future_temporal_feature", "moving_avg")
    settings.require("down_sampling_window", 2)
    return {
        "d_model": settings["d_model"],
        "num_blocks": settings["e_layers"],
        "num_scales": settings["down_sampling_layers"] + 1,
        "num_terms": settings["begin_order"] + 1,
        "standardize": bool(settings.get("use_norm", 1)),
        "dropout": 0.0,
    }


def weights(official, settings):
    scales = settings["down_sampling_layers"] + 1
    is_normalised = settings.get("use_norm", 1)
    if not is_normalised:
        official.drop("normalize_layers.*")
    for i in range(scales if is_normalised else 0):
        ours = f"reversible_instance_normalization_{i - 1}" if i else "window"
        yield f"{ours}/gamma", official.take(f"normalize_layers.{i}.affine_weight")
        yield f"{ours}/beta", official.take(f"normalize_layers.{i}.affine_bias")
    yield from value_embedding(official, "value_embedding_0", "enc_embedding")
    official.drop("*.arange")
    for i in range(settings["e_layers"]):
        names = ["front_block", *(f"front_blocks.{j}" for j in range(scales - 1))]
        for j, name in enumerate(names):
            number, theirs = scales * i + j, f"add_blocks.{i}.{name}"
            coefficients = official.take(f"{theirs}.channel_mixer.0.fc1.cheby_coeffs")
            yield f"chebyshev_dense_{number}/coefficients", coefficients.transpose(2, 0, 1)
            kernel = official.take(f"{theirs}.conv.conv.weight")  # (d, 1, 3)
            yield f"depthwise_conv1d_{number}/kernel", kernel.transpose(2, 0, 1)
    yield from linear(official, "future", "predict_layer")
    yield from linear(official, "head", "projection_layer")
