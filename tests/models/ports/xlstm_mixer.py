"""xLSTM-Mixer: the last commit of its author, in a fork."""

import numpy as np

from tests.models.ports.maps import linear

GATES = ("fgate", "igate", "zgate", "ogate")  # of input, forget, cell, output: two are exchanged


def arguments(settings):
    return {
        "d_model": settings["embedding"],
        "num_heads": settings["heads"],
        "num_blocks": settings["blocks"],
        "num_memory_tokens": settings["mem_tokens"] or None,
        "kernel_size": settings["conv_kernel"] or None,
        "dropout": 0.0,
    }


def recurrent(official, ours, theirs, heads):
    """An sLSTM; (heads, out, in) there, (heads, in, gates * out) here."""
    maps = [official.take(f"{theirs}.{gate}.weight") for gate in GATES]
    yield f"{ours}/kernel", np.concatenate(maps, axis=1).transpose(0, 2, 1)
    kernel = official.take(f"{theirs}.slstm_cell._recurrent_kernel_")
    yield f"{ours}/recurrence/cell/recurrent_kernel", kernel.transpose(0, 2, 1)
    bias = official.take(f"{theirs}.slstm_cell._bias_").reshape(len(GATES), heads, -1)
    yield f"{ours}/bias", bias.transpose(1, 0, 2).reshape(heads, -1)
    yield f"{ours}/scale", 1 + official.take(f"{theirs}.group_norm.weight")


def weights(official, settings):
    yield from linear(official, "linear", "Linear")
    yield from linear(official, "embedding", "pre_encoding")
    if settings["mem_tokens"]:
        yield "memory/embeddings", official.take("mem_tokens")
    norms = []
    for i in range(settings["blocks"]):
        block = f"xlstm.blocks.{i}"
        if settings["conv_kernel"]:
            ours, theirs = f"scalar_lstm_{i}/convolution", f"{block}.xlstm.conv1d.conv"
            yield f"{ours}/kernel", official.take(f"{theirs}.weight")[:, 0].T
            yield f"{ours}/bias", official.take(f"{theirs}.bias")
        yield from recurrent(official, f"scalar_lstm_{i}", f"{block}.xlstm", settings["heads"])
        for j, part in enumerate(("proj_up", "proj_down")):
            yield from linear(official, f"dense_{2 * i + j}", f"{block}.ffn.{part}", bias=False)
        norms += [f"{block}.xlstm_norm", f"{block}.ffn_norm"]
    for i, theirs in enumerate([*norms, "xlstm.post_blocks_norm"]):
        yield f"layer_normalization_{i}/gamma", 1 + official.take(f"{theirs}.weight")
    yield from linear(official, "head", "fc")
    official.drop("mlp_in.*", "mlp_in_trend.*")
