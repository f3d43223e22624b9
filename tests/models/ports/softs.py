"""SOFTS of Secilia-Cxy/SOFTS."""

from keras import ops

from kerastrans.models.softs import StochasticPooling
from tests.models.ports.maps import after_attention, linear


def arguments(settings):
    return {
        "d_model": settings["d_model"],
        "core_dim": settings["d_core"],
        "ff_dim": settings["d_ff"],
        "num_blocks": settings["e_layers"],
        "standardize": bool(settings["use_norm"]),
        "activation": settings.get("activation", "gelu"),
        "dropout": 0.0,
    }


def prepare(model, extra, settings):
    poolings = [layer for layer in model.layers if isinstance(layer, StochasticPooling)]
    for layer, channels in zip(poolings, extra["pooling_indices"], strict=True):
        channels = ops.convert_to_tensor(channels.reshape(-1, settings["d_core"]), "int32")
        layer.draw = lambda logits, channels=channels: channels


def weights(official, settings):
    yield from linear(official, "embedding", "enc_embedding.value_embedding")
    for i in range(settings["e_layers"]):
        theirs = f"encoder.attn_layers.{i}"
        for j in range(4):
            yield from linear(official, f"dense_{4 * i + j}", f"{theirs}.attention.gen{j + 1}")
        yield from after_attention(official, f"encoder_{i}", theirs)
    yield from linear(official, "head", "projection")
