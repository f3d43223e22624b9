"""MambaSimple of the Time-Series-Library."""

from tests.models.ports.maps import linear, value_embedding


def arguments(settings):
    return {
        "d_model": settings["d_model"],
        "state_dim": settings["d_ff"],
        "expansion": settings["expand"],
        "kernel_size": settings["d_conv"],
        "num_blocks": settings["e_layers"],
        "dropout": 0.0,
    }


def weights(official, settings):
    yield from value_embedding(official, "value_embedding_0", "embedding")
    for i in range(settings["e_layers"]):
        theirs = f"layers.{i}.mixer"
        yield f"rms_normalization_{i}/scale", official.take(f"layers.{i}.norm.weight")
        yield from linear(official, f"dense_{2 * i}", f"{theirs}.in_proj", bias=False)
        ours = f"causal_depthwise_convolution_{i}"
        yield f"{ours}/kernel", official.take(f"{theirs}.conv1d.weight")[:, 0].T
        yield f"{ours}/bias", official.take(f"{theirs}.conv1d.bias")
        ours = f"selective_state_space_{i}"
        yield f"{ours}/log_rate", official.take(f"{theirs}.A_log")
        yield f"{ours}/skip", official.take(f"{theirs}.D")
        yield from linear(official, f"{ours}/select", f"{theirs}.x_proj", bias=False)
        yield from linear(official, f"{ours}/step", f"{theirs}.dt_proj")
        yield from linear(official, f"dense_{2 * i + 1}", f"{theirs}.out_proj", bias=False)
    ours = f"rms_normalization_{settings['e_layers']}"
    yield f"{ours}/scale", official.take("norm.weight")
    yield from linear(official, "head", "out_layer", bias=False)
