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
    for i in range(2):  # over channels, and over time
        for part, letter in (("real", "r"), ("imaginary", "i")):
            matrix = official.take(f"{letter}{i + 1}", unused=width * width - width)
            yield f"complex_dense_{i}/{part}", np.diag(matrix)
            yield f"complex_dense_{i}/{part}_bias", official.take(f"{letter}b{i + 1}")
    yield from linear(official, "hidden", "fc.0")
    yield from linear(official, "head", "fc.2")
