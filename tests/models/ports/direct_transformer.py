"""The Transformer of the Time-Series-Library."""

from tests.models.ports.maps import decoder_layer, encoder_layer, linear, norm, value_embedding


def arguments(settings):
    settings.require("activation", "gelu")
    settings.ignore("factor")  # of sparse attention
    return {
        "label_length": settings["label_len"],
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_encoder_blocks": settings["e_layers"],
        "num_decoder_blocks": settings["d_layers"],
        "dropout": 0.0,
    }


def weights(official, settings):
    yield from value_embedding(official, "value_embedding_0", "enc_embedding")
    yield from value_embedding(official, "value_embedding_1", "dec_embedding")
    for i in range(settings["e_layers"]):
        yield from encoder_layer(official, f"encoder_{i}", f"encoder.attn_layers.{i}")
    for i in range(settings["d_layers"]):
        yield from decoder_layer(official, f"decoder_{i}", f"decoder.layers.{i}")
    yield from norm(official, "layer_normalization_0", "encoder.norm")
    yield from norm(official, "layer_normalization_1", "decoder.norm")
    yield from linear(official, "head", "decoder.projection")
