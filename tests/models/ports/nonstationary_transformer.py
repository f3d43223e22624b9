"""Nonstationary_Transformer of the Time-Series-Library."""

from tests.models.ports.maps import (
    circular,
    decoder_layer,
    encoder_layer,
    linear,
    norm,
    value_embedding,
)


def arguments(settings):
    settings.require("p_hidden_layers", len(settings["p_hidden_dims"]))
    return {
        "label_length": settings["label_len"] or settings["context"],  # of [-0:]
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_encoder_blocks": settings["e_layers"],
        "num_decoder_blocks": settings["d_layers"],
        "projector_dims": settings["p_hidden_dims"],
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }


def weights(official, settings):
    hidden = len(settings["p_hidden_dims"])
    for i, theirs in enumerate(("tau_learner", "delta_learner")):
        yield from circular(official, f"value_embedding_{i}", f"{theirs}.series_conv")
        for j in range(hidden + 1):
            ours = f"dense_{i * (hidden + 1) + j}"
            yield from linear(official, ours, f"{theirs}.backbone.{2 * j}", bias=j < hidden)
    yield from value_embedding(official, "value_embedding_2", "enc_embedding")
    yield from value_embedding(official, "value_embedding_3", "dec_embedding")
    for i in range(settings["e_layers"]):
        yield from encoder_layer(official, f"encoder_{i}", f"encoder.attn_layers.{i}")
    for i in range(settings["d_layers"]):
        yield from decoder_layer(official, f"decoder_{i}", f"decoder.layers.{i}")
    yield from norm(official, "layer_normalization_0", "encoder.norm")
    yield from norm(official, "layer_normalization_1", "decoder.norm")
    yield from linear(official, "head", "decoder.projection")
