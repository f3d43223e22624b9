"""PAttn of the Time-Series-Library."""

from tests.models.ports.maps import encoder_layer, linear, norm


def arguments(settings):
    return {
        "patch_length": settings["patch_len"],
        "stride": settings["stride"],
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }


def weights(official, settings):
    yield from linear(official, "embedding", "in_layer")
    yield from encoder_layer(official, "encoder_0", "encoder.attn_layers.0")
    yield from norm(official, "layer_normalization_0", "encoder.norm")
    yield from linear(official, "head", "out_layer")
