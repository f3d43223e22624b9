"""FreTS of aikunyi/FreTS."""

import numpy as np

from tests.models.ports.maps import linear


def arguments(settings):
    return {
        "embedding_dim": settings["embed_size"],
        "hidden_dim": settings["hidden_size"],
        "mix_channels": settings["channel_independence"] == "1",
        "diagonal": True,
    }


def weights(official, settings):
    width = settings["embed_size"]
    yield "embedding/kernel", official.take("embeddings")[0]
    networks = (1, 2) if settings["channel_independence"] == "1" else (2,)  # channels, time
    for i, theirs in enumerate(networks):
        for part, letter in (("real", "r"), ("imaginary", "i")):
            matrix = official.take(f"{letter}{theirs}", unused=width * width - width)
            yield f"complex_dense_{i}/{part}", np.diag(matrix)
            yield f"complex_dense_{i}/{part}_bias", official.take(f"{letter}b{theirs}")
    official.drop("r1", "i1", "rb1", "ib1")
    yield from linear(official, "hidden", "fc.0")
    yield from linear(official, "head", "fc.2")
