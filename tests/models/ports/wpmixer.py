"""WPMixer of the Time-Series-Library."""

import numpy as np

from kerastrans.layers.frequency.wavelets import daubechies
from tests.models.ports.maps import batch_norm, linear

WAVELETS = {"haar": 1, "sym2": 2, "sym3": 3, **{f"db{order}": order for order in range(1, 39)}}


def arguments(settings):
    settings.ignore("batch_size", "use_amp")
    wavelet = settings["wavelet"]
    assert wavelet in WAVELETS, f"wavelet={wavelet!r} cannot be expressed, only Daubechies'"
    return {
        "wavelet_order": WAVELETS[wavelet],
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
    low = daubechies(arguments(settings)["wavelet_order"])
    high = low[::-1] * (-1.0) ** np.arange(len(low))
    # The analysis filters are stored in the order in which they are applied.
    for name, expected in {"dwt.h0": low, "dwt.h1": high, "idwt.g0": low, "idwt.g1": high}.items():
        found = official.take(f"{core}.Decomposition_model.{name}").ravel()
        np.testing.assert_allclose(found, expected, atol=1e-6)
    for i in range(settings["level"] + 1):
        branch, dense, normal = f"{core}.resolutionBranch.{i}", 10 * i, 6 * i
        names = ["patch_embedding_layer"]
        for mixer in ("mixer1", "mixer2"):
            for network in ("tMixer.layers", "embeddingMixer"):
                names += [f"{mixer}.{network}.3", f"{mixer}.{network}.0"]
        for j, theirs in enumerate([*names, "head.1"]):
            yield from linear(official, f"dense_{dense + j}", f"{branch}.{theirs}")
        names = ["patch_norm", "mixer1.norm1", "mixer1.norm2", "mixer2.norm1", "mixer2.norm2"]
        for j, theirs in enumerate([*names, "norm"]):
            yield from batch_norm(
                official, f"batch_normalization_{normal + j}", f"{branch}.{theirs}"
            )
