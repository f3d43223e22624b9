"""FITS of VEWOXIC/FITS."""

import numpy as np


def arguments(settings):
    return {
        "num_frequencies": settings["cut_freq"],
        "individual": settings["individual"],
        "even_length": True,
    }


def weights(official, settings):
    name = "freq_upsampler"
    if settings["individual"]:
        names = [f"{name}.{i}" for i in range(settings["channels"])]
        kernel = np.stack([official.take(f"{name}.weight").T for name in names])
        bias = np.stack([official.take(f"{name}.bias") for name in names])
    else:
        kernel, bias = official.take(f"{name}.weight").T, official.take(f"{name}.bias")
    for part, array in (("real", np.real), ("imaginary", np.imag)):
        yield f"complex_dense_0/{part}", array(kernel)
        yield f"complex_dense_0/{part}_bias", array(bias)
