"""WPMixer of the Time-Series-Library."""

import numpy as np

from kerastrans.layers.frequency.wavelets import WAVELETS, wavelet_filters
from tests.models.ports.maps import batch_norm, linear


def arguments(settings):
    settings.ignore("batch_size", "use_amp")
    settings.require("wavelet", *WAVELETS)
    return {
        "wavelet": settings["wavelet"],
        "num_levels": settings["level"],
        "patch_length": settings["patch_len"],
        "stride": settings["stride"],
        "d_model": settings["d_model"],
        "time_expansion": settings["tfactor"],
        "feature_expansion": settings["dfactor"],
        "dropout": 0.0,
    }


def weights(official, settings):
    core = "wpmixerCore"
    # The analysis filters are stored in the order in which they are applied.
    analysis, synthesis = wavelet_filters(settings["wavelet"])
    for low, other, names in (
        (analysis, synthesis, ("dwt.h0", "dwt.h1")),
        (synthesis, analysis, ("idwt.g0", "idwt.g1")),
    ):
        high = other[::-1] * (-1.0) ** np.arange(len(other))
        for name, expected in zip(names, (low, high), strict=True):
            found = official.take(f"{core}.Decomposition_model.{name}").ravel()
            np.testing.assert_allclose(found, expected, atol=1e-6)
    for i in range(settings["level"] + 1):
        branch, dense, normal = f"{core}.resolutionBranch.{i}", 9 * i, 6 * i
        names = ["patch_embedding_layer"]
        for mixer in ("mixer1", "mixer2"):
            for network in ("tMixer.layers", "embeddingMixer"):
                names += [f"{mixer}.{network}.3", f"{mixer}.{network}.0"]
        for j, theirs in enumerate(names):
            yield from linear(official, f"dense_{dense + j}", f"{branch}.{theirs}")
        last = f"level_{(i or settings['level'] + 1) - 1}_head"  # the approximation is first
        yield from linear(official, last, f"{branch}.head.1")
        names = ["patch_norm", "mixer1.norm1", "mixer1.norm2", "mixer2.norm1", "mixer2.norm2"]
        for j, theirs in enumerate([*names, "norm"]):
            yield from batch_norm(
                official, f"batch_normalization_{normal + j}", f"{branch}.{theirs}"
            )
