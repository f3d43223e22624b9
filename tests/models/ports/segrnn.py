"""SegRNN of lss-1138/SegRNN."""

import numpy as np

from tests.models.ports.maps import linear


def arguments(settings):
    settings.require("dec_way", "pmf", "rmf")
    return {
        "segment_length": settings["seg_len"],
        "d_model": settings["d_model"],
        "cell": settings["rnn_type"],
        "decoding": "parallel" if settings["dec_way"] == "pmf" else "recurrent",
        "channel_embedding": bool(settings["channel_id"]),
        "standardize": bool(settings["revin"]),
        "dropout": 0.0,
    }


def weights(official, settings):
    yield from linear(official, "embedding", "valueEmbedding.0")
    for ours, theirs in [("input_gates", "ih"), ("state_gates", "hh")]:
        kernel, bias = (official.take(f"rnn.{part}_{theirs}_l0") for part in ("weight", "bias"))
        if settings["rnn_type"] == "gru":
            kernel, bias = update_first(kernel), update_first(bias)
        yield f"{ours}/kernel", kernel.T
        yield f"{ours}/bias", bias
    if settings["dec_way"] == "pmf":
        ours = "channel_segment_embedding_0"
        yield f"{ours}/segments", official.take("pos_emb")[None, None]
        if settings["channel_id"]:
            yield f"{ours}/channels", official.take("channel_emb")[None, :, None]
    yield from linear(official, "head", "predict.1")


def update_first(rows):
    """Reorder the gates reset, update, candidate to update, reset, candidate."""
    reset, update, candidate = np.split(rows, 3)
    return np.concatenate([update, reset, candidate])
