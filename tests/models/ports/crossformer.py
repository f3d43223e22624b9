"""Crossformer of the Time-Series-Library."""

from tests.models.ports.maps import linear, norm, projections


def arguments(settings):
    return {
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_scales": settings["e_layers"],
        "num_routers": settings["factor"],
        "pad_end": True,
        "dropout": 0.0,
    }


def sublayer(official, ours, attends, normal):
    """An attention and the normalisation of its sum."""
    yield from projections(official, ours, attends)
    yield from norm(official, f"{ours}_norm", normal)


def network(official, ours, theirs, normal):
    """A feed-forward network and the normalisation of its sum."""
    yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.0")
    yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.2")
    yield from norm(official, f"{ours}_ffn_norm", normal)


def two_stages(official, ours, theirs):
    routers = official.take(f"{theirs}.router")
    yield f"{ours}_routers/embeddings", routers.reshape(-1, routers.shape[-1])
    yield from sublayer(official, f"{ours}_time", f"{theirs}.time_attention", f"{theirs}.norm1")
    yield from network(official, f"{ours}_time", f"{theirs}.MLP1", f"{theirs}.norm2")
    yield from projections(official, f"{ours}_send", f"{theirs}.dim_sender")
    yield from sublayer(official, f"{ours}_receive", f"{theirs}.dim_receiver", f"{theirs}.norm3")
    yield from network(official, f"{ours}_channels", f"{theirs}.MLP2", f"{theirs}.norm4")


def weights(official, settings):
    width = settings["d_model"]
    yield from linear(official, "embedding", "enc_value_embedding.value_embedding", bias=False)
    official.drop("enc_value_embedding.position_embedding.*")
    for ours, theirs in (
        ("positions", "enc_pos_embedding"),
        ("future_positions", "dec_pos_embedding"),
    ):
        yield f"{ours}/embeddings", official.take(theirs).reshape(-1, width)
    yield from norm(official, "norm", "pre_norm")
    for i in range(settings["e_layers"]):
        ours, theirs = f"encoder_{i}", f"encoder.encode_blocks.{i}"
        if i:
            yield from norm(official, f"{ours}_merge_norm", f"{theirs}.merge_layer.norm")
            yield from linear(official, f"{ours}_merge", f"{theirs}.merge_layer.linear_trans")
        yield from two_stages(official, ours, f"{theirs}.encode_layers.0")
    for i in range(settings["e_layers"] + 1):
        ours, theirs = f"decoder_{i}", f"decoder.decode_layers.{i}"
        yield from two_stages(official, ours, f"{theirs}.self_attention")
        cross = f"{ours}_cross"
        yield from sublayer(official, cross, f"{theirs}.cross_attention", f"{theirs}.norm1")
        yield from network(official, cross, f"{theirs}.MLP1", f"{theirs}.norm2")
        yield from linear(official, f"{ours}_head", f"{theirs}.linear_pred")
