"""Autoformer of thuml/Time-Series-Library."""

from tests.models.ports.maps import circular, linear, norm, projections


def arguments(settings):
    settings.get("n_heads")  # all heads attend to the same delays
    settings.ignore("freq")
    settings.require("activation", "gelu")
    return {
        "label_length": settings["label_len"] or settings["context"],  # of [-0:]
        "d_model": settings["d_model"],
        "ff_dim": settings["d_ff"],
        "num_encoder_blocks": settings["e_layers"],
        "num_decoder_blocks": settings["d_layers"],
        "moving_average": settings["moving_avg"],
        "factor": settings["factor"],
        "reference_delays": True,
        "dropout": 0.0,
    }


def weights(official, settings):
    number = 0
    for i in range(settings["e_layers"]):
        theirs = f"encoder.attn_layers.{i}.attention"
        yield from projections(official, f"auto_correlation_{number}", theirs)
        number += 1
    for i in range(settings["d_layers"]):
        # The cross-attention is created first, because it is given to the block.
        for attention in ("cross_attention", "self_attention"):
            theirs = f"decoder.layers.{i}.{attention}"
            yield from projections(official, f"auto_correlation_{number}", theirs)
            number += 1
    layers = settings["e_layers"] + settings["d_layers"]
    yield from decomposition_transformer(official, settings, range(0, 2 * layers, 2), 2 * layers)


def decomposition_transformer(official, settings, feed_forwards, last):
    """Map everything but the attentions.

    `feed_forwards` are the numbers of the first dense layer of each feed-forward network, `last` is
    that of the projection of the season.
    """
    encoders, decoders = settings["e_layers"], settings["d_layers"]
    official.drop("*.temporal_embedding.*", "*.position_embedding.pe")
    for i, part in enumerate(("enc", "dec")):
        name = f"{part}_embedding.value_embedding.tokenConv"
        yield from circular(official, f"value_embedding_{i}", name)
    layers = [f"encoder.attn_layers.{i}" for i in range(encoders)]
    layers += [f"decoder.layers.{i}" for i in range(decoders)]
    for number, layer in zip(feed_forwards, layers, strict=True):
        for j in range(2):
            yield from linear(official, f"dense_{number + j}", f"{layer}.conv{j + 1}", bias=False)
    for i in range(decoders):
        yield from circular(official, f"value_embedding_{2 + i}", f"decoder.layers.{i}.projection")
    for i, part in enumerate(("encoder", "decoder")):
        yield from norm(official, f"layer_normalization_{i}", f"{part}.norm.layernorm")
    yield from linear(official, "head", "decoder.projection")
