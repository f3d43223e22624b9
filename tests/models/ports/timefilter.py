"""TimeFilter of the Time-Series-Library."""

from keras import ops

from tests.models.ports.maps import linear, norm

MAPS = {
    "source": "graph_learner.proj_1",
    "target": "graph_learner.proj_2",
    "values": "graph_conv.proj",
}
GATES = {"gate": "graph_learner.mask_moe.gate", "gate_noise": "graph_learner.mask_moe.noise"}


def arguments(settings):
    left = settings["context"] % settings["patch_len"]
    assert not left, "the context is not a multiple of patch_len: patches there mix channels"
    return {
        "patch_length": settings["patch_len"],
        "positional_encoding": bool(settings["pos"]),
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "removed": settings["alpha"],
        "top_p": settings["top_p"],
        "balance": 0.0,  # the recorded step is without this loss
        "dropout": 0.0,
    }


def prepare(model, extra, settings):
    for i, noise in enumerate(extra.get("gate_noise", [])):  # none with top_p=0
        noise = noise.reshape(-1, settings["n_heads"], *noise.shape[1:])
        noise = ops.convert_to_tensor(noise)
        model.get_layer(f"filter_{i}").noise.draw = lambda logits, noise=noise: noise


def weights(official, settings):
    yield from linear(official, "embedding", "patch_embed.patch_proj")
    official.drop("patch_embed.pe.pe")
    for i in range(settings["e_layers"]):
        theirs, ours = f"backbone.blocks.{i}", f"encoder_{i}"
        for part, module in MAPS.items():
            yield from linear(official, f"filter_{i}/{part}", f"{theirs}.gnn.{module}")
        for part, module in GATES.items():
            yield from linear(official, f"filter_{i}/{part}", f"{theirs}.gnn.{module}", bias=False)
        yield from norm(official, f"{ours}_self_attention_norm", f"{theirs}.norm1")
        yield from linear(official, f"{ours}_ffn_expand", f"{theirs}.ffn.0")
        yield from linear(official, f"{ours}_ffn_contract", f"{theirs}.ffn.3")
        yield from norm(official, f"{ours}_ffn_norm", f"{theirs}.norm2")
    yield from linear(official, "head", "head")
