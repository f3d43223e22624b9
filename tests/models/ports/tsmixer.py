"""TSMixer of Nixtla/neuralforecast; the authors' own code is in TensorFlow.

That keeps the biased variance of a batch, as our model does, and PyTorch the unbiased one.
"""

from tests.models.ports.maps import batch_norm, linear

MOMENTUM = 0.99


def statistics(before, after, count):
    """Return the recorded statistics with the biased variance of `count` windows."""
    found = dict(after)
    for name in (name for name in after if name.endswith("running_var")):
        old = MOMENTUM * before[name]
        found[name] = old + (after[name] - old) * (count - 1) / count
    return found


def arguments(settings):
    return {
        "ff_dim": settings["ff_dim"],
        "num_blocks": settings["n_block"],
        "standardize": bool(settings["revin"]),
        "dropout": 0.0,
    }


def weights(official, settings):
    channels = settings["channels"]
    if settings["revin"]:
        yield "window/gamma", official.take("norm.affine_weight")[0, 0]
        yield "window/beta", official.take("norm.affine_bias")[0, 0]
    for i in range(settings["n_block"]):
        theirs = f"mixing_layers.{i}"
        name = f"{theirs}.temporal_mixer.temporal_norm"
        for path, value in batch_norm(official, f"batch_normalization_{2 * i}", name):
            yield path, value.reshape(channels, -1).T.ravel()  # channel-major to time-major
        yield from linear(official, f"einsum_dense_{i}", f"{theirs}.temporal_mixer.temporal_lin")
        name = f"{theirs}.feature_mixer.feature_norm"
        yield from batch_norm(official, f"batch_normalization_{2 * i + 1}", name)
        for j in range(2):
            name = f"{theirs}.feature_mixer.feature_lin_{j + 1}"
            yield from linear(official, f"dense_{2 * i + j}", name)
    yield from linear(official, "head", "out")
