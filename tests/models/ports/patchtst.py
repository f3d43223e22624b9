"""PatchTST of yuqinie98/PatchTST, the supervised model."""

from tests.models.ports.maps import attention, batch_norm, feature_major, linear


def arguments(settings):
    settings.ignore("activation", "fc_dropout", "head_dropout")
    settings.require("padding_patch", "end", None)
    settings.require("individual", 0)
    center = "last" if settings.get("subtract_last", 0) else "mean"
    moving_average = settings["kernel_size"]
    return {
        "patch_length": settings["patch_len"],
        "stride": settings["stride"],
        "pad_end": settings["padding_patch"] == "end",
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "center": center if settings["revin"] else None,
        "affine": bool(settings["affine"]),
        "moving_average": moving_average if settings["decomposition"] else None,
        "residual_attention": bool(settings.get("res_attention", True)),
        "dropout": 0.0,
    }


def weights(official, settings):
    if not settings["decomposition"]:
        yield from network(official, settings, "", "model", "window", 0)
        return
    for i, (ours, theirs) in enumerate((("season_", "model_res"), ("trend_", "model_trend"))):
        window = f"reversible_instance_normalization_{i}"
        yield from network(official, settings, ours, theirs, window, i)


def network(official, settings, prefix, model, window, number):
    if settings["revin"] and settings["affine"]:
        yield f"{window}/gamma", official.take(f"{model}.revin_layer.affine_weight")
        yield f"{window}/beta", official.take(f"{model}.revin_layer.affine_bias")
    backbone = f"{model}.backbone"
    yield from linear(official, f"{prefix}embedding", f"{backbone}.W_P")
    positions = official.take(f"{backbone}.W_pos")
    yield f"learnt_positional_encoding_{number}/embeddings", positions
    for i in range(settings["e_layers"]):
        theirs, ours = f"{backbone}.encoder.layers.{i}", f"{prefix}encoder_{i}"
        maps = [f"{theirs}.self_attn.{x}" for x in ("W_Q", "W_K", "W_V", "to_out.0")]
        yield from attention(official, f"{ours}_self_attention", *maps)
        official.drop(f"{theirs}.self_attn.sdp_attn.scale")
        yield from batch_norm(official, f"{ours}_self_attention_norm", f"{theirs}.norm_attn.1")
        yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.ff.0")
        yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.ff.3")
        yield from batch_norm(official, f"{ours}_ffn_norm", f"{theirs}.norm_ffn.1")
    kernel = official.take(f"{model}.head.linear.weight")
    yield f"{prefix}head/kernel", feature_major(kernel, len(positions)).T
    yield f"{prefix}head/bias", official.take(f"{model}.head.linear.bias")
