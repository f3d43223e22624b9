"""Informer of zhouhaoyi/Informer2020.

The calendar features are covariates; without marks they are zeros, and their biases count.
"""

import numpy as np

from tests.models.ports.maps import batch_norm, circular, conv, linear, norm, projections


def arguments(settings):
    settings.require("attn", "prob", "full")
    settings.require("mix", True)
    return {
        "label_length": settings["label_len"],
        "d_model": settings["d_model"],
        "num_heads": settings["n_heads"],
        "ff_dim": settings["d_ff"],
        "num_encoder_blocks": settings["e_layers"],
        "num_decoder_blocks": settings["d_layers"],
        "attention": "full" if settings.get("attn", "prob") == "full" else "prob_sparse",
        "factor": settings["factor"],
        "distil": bool(settings["distil"]),
        "reference_attention": True,
        "calendar_embedding": True,
        "covariates": {"future": (0,) * settings.num_calendar_columns},
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }


def inputs(extra, settings):
    steps = settings["context"] + settings["horizon"]
    return {"future_covariates": np.zeros((3, steps, settings.num_calendar_columns), "float32")}


def prepare(model, extra, settings):
    """Set the sampled keys, which are drawn at random; full attention has none."""
    if not extra:
        return
    layers = [layer for layer in model.layers if hasattr(layer, "_sample")]
    layers.sort(key=lambda layer: int(layer.name.rpartition("_")[2].replace("attention", "0")))
    for i, layer in enumerate(layers):
        layer._sample = lambda shape, training, sample=extra[f"sample_{i}"]: sample


def weights(official, settings):
    encoders, decoders = settings["e_layers"], settings["d_layers"]
    for i, part in enumerate(("enc", "dec")):
        official.drop(f"{part}_embedding.position_embedding.pe")
        name = f"{part}_embedding.value_embedding.tokenConv"
        yield from circular(official, f"value_embedding_{i}", name)
        yield f"value_embedding_{i}/bias", official.take(f"{name}.bias")
        yield from linear(official, f"dense_{i}", f"{part}_embedding.temporal_embedding.embed")
    for i in range(encoders):
        theirs = f"encoder.attn_layers.{i}"
        yield from projections(official, f"prob_sparse_attention_{i}", f"{theirs}.attention")
        yield from feed_forward(official, i, theirs)
        if settings["distil"] and i < encoders - 1:
            theirs = f"encoder.conv_layers.{i}"
            yield from conv(official, f"conv1d_{i}", f"{theirs}.downConv")
            yield from batch_norm(official, f"batch_normalization_{i}", f"{theirs}.norm")
    for i in range(decoders):
        theirs, number = f"decoder.layers.{i}", encoders + i
        name = f"prob_sparse_attention_{number}"
        yield from projections(official, name, f"{theirs}.self_attention")
        name = f"cached_multi_head_attention_{i}"
        yield from projections(official, name, f"{theirs}.cross_attention")
        yield from feed_forward(official, number, theirs)
    norms = [f"encoder.attn_layers.{i}.norm{j}" for i in range(encoders) for j in (1, 2)]
    norms += ["encoder.norm"]
    norms += [f"decoder.layers.{i}.norm{j}" for i in range(decoders) for j in (1, 2, 3)]
    for i, theirs in enumerate([*norms, "decoder.norm"]):
        yield from norm(official, f"layer_normalization_{i}", theirs)
    yield from linear(official, "head", "projection")


def feed_forward(official, number, theirs):
    for ours, conv_name in (("expand", "conv1"), ("contract", "conv2")):
        yield from linear(official, f"block_{number}_ffn_{ours}", f"{theirs}.{conv_name}")
