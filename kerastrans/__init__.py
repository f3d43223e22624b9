"""kerastrans: sequence-forecasting architectures as plain Keras 3 functional models."""

import importlib
import sys
from pathlib import Path

__version__ = "0.1.0"

_HOMES = {
    "blocks": ("position_wise_ffn", "transformer_decoder", "transformer_encoder"),
    "covariates": ("regress",),
    "evaluation": ("ForecastError",),
    "export": ("export_litert", "export_onnx", "export_savedmodel"),
    "forecaster": ("Forecaster",),
    "generation": ("generate", "generate_samples", "generate_tokens"),
    "inspection": ("attention_scores", "variable_importances"),
    "layers": ("CachedMultiHeadAttention", "LearntPositionalEncoding", "PositionalEncoding"),
    "masks": ("combine_masks", "create_look_ahead_mask", "create_padding_mask"),
    "models": ("build_seq2seq_transformer", "build_transformer_model"),
    "samplers": ("BeamSampler", "GreedySampler", "RandomSampler"),
}
_ROOMS = {
    *_HOMES,
    "backtesting",
    "conformal",
    "data",
    "distribution",
    "heads",
    "datasets",
    "metrics",
    "plotting",
    "precision",
    "zoo",
}
_HOME_OF = {name: room for room, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF), *sorted(_ROOMS)]


def __getattr__(name):
    """Import a public name on first use."""
    if name in _ROOMS:
        return importlib.import_module(f"kerastrans.{name}")
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"kerastrans.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'kerastrans' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


# `keras.saving.load_model` knows our layers only once they are imported. The command line alone
# waits with that, so that `kerastrans --help` answers before TensorFlow could be loaded.
if Path(sys.argv[0]).stem != "kerastrans":
    importlib.import_module("kerastrans.models")
