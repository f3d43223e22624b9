"""TimeBridge of Hank0626/TimeBridge."""

from tests.models.ports.maps import attention, linear, norm


def arguments(settings):
    settings.ignore("revin", "attn_dropout")
    num_patches = settings["num_p"]
    return {
        "period": settings["period"],
        "num_patches": num_patches if settings["pd_layers"] else None,
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["ia_layers"],
        "num_downsampling_blocks": settings["pd_layers"],
        "num_channel_blocks": settings["ca_layers"],
        "moving_average": settings["stable_len"],
        "reference_attention": True,
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }


def projections(official, ours, theirs):
    maps = ("q_proj", "k_proj", "v_proj", "out")
    yield from attention(official, ours, *(f"{theirs}.{x}" for x in maps))


def after_attention(official, ours, theirs):
    yield from norm(official, f"{ours}_self_attention_norm", f"{theirs}.norm1")
    yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.fc1")
    yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.fc2")
    yield from norm(official, f"{ours}_ffn_norm", f"{theirs}.norm2")


def weights(official, settings):
    yield from linear(official, "embedding", "embedding.proj.0", bias=False)
    depth = settings["ia_layers"]
    for i in range(depth):
        theirs = f"encoder.attn_layers.{i}"
        yield from projections(official, f"patches_{i}_attention", f"{theirs}.attention")
        yield from after_attention(official, f"patches_{i}", theirs)
    for i in range(settings["pd_layers"]):
        ours, theirs = f"downsampling_{i}", f"encoder.attn_layers.{depth + i}"
        yield from projections(official, f"{ours}_attention", f"{theirs}.attention")
        for part, conv in (("merge", "conv1"), ("merge_again", "conv2")):
            yield from linear(official, f"{ours}_{part}", f"{theirs}.{conv}", bias=False)
        yield from after_attention(official, ours, theirs)
    depth += settings["pd_layers"]
    for i in range(settings["ca_layers"]):
        ours, theirs = f"channels_{i}", f"encoder.attn_layers.{depth + i}"
        yield from projections(official, f"{ours}_rows", f"{theirs}.attention1")
        yield from projections(official, f"{ours}_columns", f"{theirs}.attention2")
        yield from after_attention(official, ours, theirs)
        official.drop(f"{theirs}.norm0.*")
    yield from linear(official, "head", "decoder.1", bias=False)
