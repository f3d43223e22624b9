"""TiDE of thuml/Time-Series-Library; the authors' own code is in TensorFlow.

Without marks, its feature encoder gets columns of zeros.
"""

import numpy as np

from tests.models.ports.maps import linear, norm

WIDTH = 2  # of the encoding of the marks


def arguments(settings):
    return {
        "hidden_dim": settings["d_model"],
        "num_encoder_layers": settings["e_layers"],
        "num_decoder_layers": settings["d_layers"],
        "decoder_output_dim": settings["channels"],
        "temporal_hidden_dim": settings["d_ff"],
        "last_layer_norm": bool(settings["last_norm"]),
        "variant": "time_series_library",
        "covariate_dim": WIDTH,
        "covariates": {"future": (0,) * settings.num_calendar_columns},
        "dropout": 0.0,
    }


def inputs(extra, settings):
    steps = settings["context"] + settings["horizon"]
    if not settings["marks"]:
        return {"future_covariates": np.zeros((3, steps, settings.num_calendar_columns), "float32")}
    marks = [extra["marks"], extra["future_marks"]]
    return {"future_covariates": np.concatenate(marks, axis=1)}


def weights(official, settings):
    encoders, decoders = settings["e_layers"], settings["d_layers"]
    for module, count, first in (("encoders", encoders, 1), ("decoders", decoders - 1, 0)):
        for i in range(first + 1, count):  # one module repeated
            official.drop_copies(of=f"{module}.{first}.", prefix=f"{module}.{i}.")
    modules = ["feature_encoder", "encoders.0"]
    modules += ["encoders.1"] if encoders > 1 else []
    modules += ["decoders.0"] if decoders > 1 else []
    modules += [f"decoders.{decoders - 1}", "temporalDecoder"]
    number = 0
    for i, module in enumerate(modules):
        for j in range(3):
            is_head = module == "temporalDecoder" and j == 0
            yield from linear(
                official, "head" if is_head else f"dense_{number}", f"{module}.fc{j + 1}"
            )
            number += not is_head
        if module != "temporalDecoder" or settings["last_norm"]:
            yield from norm(official, f"layer_normalization_{i}", f"{module}.ln")
    yield from linear(official, f"dense_{number}", "residual_proj")
