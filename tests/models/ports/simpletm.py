"""SimpleTM of vsingh-group/SimpleTM."""

from tests.models.ports.maps import after_attention, linear, norm


def arguments(settings):
    settings.require("kernel_size", None)
    settings.require("requires_grad", True)
    return {
        "d_model": settings["d_model"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "wavelet": settings["wv"],
        "num_levels": settings["m"],
        "wedge_share": settings["alpha"],
        "attention_penalty": settings["l1_weight"],
        "activation": settings["activation"],
        "standardize": bool(settings["use_norm"]),
        "dropout": 0.0,
        "projection_dropout": 0.0,
    }


def filters(official, ours, theirs):
    """The two filters of a wavelet transform: (channels, 1, taps) there."""
    yield f"{ours}/low", official.take(f"{theirs}.h0")[:, 0]
    yield f"{ours}/high", official.take(f"{theirs}.h1")[:, 0]


def weights(official, settings):
    yield from linear(official, "embedding", "enc_embedding.value_embedding")
    for i in range(settings["e_layers"]):
        ours, theirs = f"encoder_{i}", f"encoder.attn_layers.{i}"
        for role in ("query", "key", "value"):
            yield from linear(official, f"{ours}_{role}", f"{theirs}.attention.{role}_projection.0")
        yield from linear(official, f"{ours}_output", f"{theirs}.attention.out_projection.0")
        yield from filters(official, f"{ours}_wavelets", f"{theirs}.attention.swt")
        yield from filters(official, f"{ours}_inverse", f"{theirs}.attention.out_projection.1")
        yield from after_attention(official, ours, theirs)
    yield from norm(official, "encoder_norm", "encoder.norm")
    yield from linear(official, "head", "projector")
