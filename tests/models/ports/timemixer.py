"""TimeMixer of kwuking/TimeMixer."""

from tests.models.ports.maps import circular, linear


def arguments(settings):
    settings.ignore("top_k", "d_layers")
    settings.require("channel_independence", 1, 0)
    settings.require("down_sampling_window", 2)
    settings.require("down_sampling_method", "avg", "max")
    settings.require("decomp_method", "moving_avg")
    settings.require("use_future_temporal_feature", 0)
    return {
        "d_model": settings["d_model"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "num_scales": settings["down_sampling_layers"] + 1,
        "scale_pooling": settings["down_sampling_method"].replace("avg", "average"),
        "moving_average": settings["moving_avg"],
        "mix_channels": not settings["channel_independence"],
        "standardize": bool(settings["use_norm"]),
        "dropout": 0.0,
    }


def weights(official, settings):
    steps, blocks = settings["down_sampling_layers"], settings["e_layers"]
    independent = settings["channel_independence"]
    official.drop("enc_embedding.temporal_embedding.*", "enc_embedding.position_embedding.pe")
    is_normalised = settings["use_norm"]
    if not is_normalised:
        official.drop("normalize_layers.*")
    for i in range(steps + 1 if is_normalised else 0):
        ours = "window" if i == 0 else f"reversible_instance_normalization_{i - 1}"
        yield f"{ours}/gamma", official.take(f"normalize_layers.{i}.affine_weight")
        yield f"{ours}/beta", official.take(f"normalize_layers.{i}.affine_bias")
    yield from circular(official, "value_embedding_0", "enc_embedding.value_embedding.tokenConv")
    number = 0
    for i in range(blocks):
        block = f"pdm_blocks.{i}"
        official.drop(f"{block}.layer_norm.*")
        seasons = f"{block}.mixing_multi_scale_season.down_sampling_layers"
        trends = f"{block}.mixing_multi_scale_trend.up_sampling_layers"
        for maps in (seasons, trends):
            for j in range(steps):
                for layer in (0, 2):
                    name = f"{maps}.{j}.{layer}"
                    yield from linear(official, f"einsum_dense_{number}", name)
                    number += 1
        cross = "out_cross_layer" if independent else "cross_layer"
        yield from linear(official, f"dense_{2 * i}", f"{block}.{cross}.0")
        yield from linear(official, f"dense_{2 * i + 1}", f"{block}.{cross}.2")
        if not independent:
            official.drop(f"{block}.out_cross_layer.*")
    modules = ["predict_layers"]
    modules += [] if independent else ["out_res_layers", "regression_layers"]
    for module in modules:
        for i in range(steps + 1):
            yield from linear(official, f"einsum_dense_{number}", f"{module}.{i}")
            number += 1
    last = "head" if independent else f"dense_{2 * blocks}"
    yield from linear(official, last, "projection_layer")
