"""Architectures: one per file, with one function `build_<file>_model`, imported on first use."""

import importlib

# Layers in the file of the only model that uses them.
HOMES = {
    "deepar": ("RecurrentDecoder", "RecurrentForecaster"),
    "duet": ("ChannelMask", "MaskedChannelAttention"),
    "fedformer": ("MultiwaveletCrossAttention",),
    "informer": ("ProbSparseAttention",),
    "mamba": ("SelectiveStateSpace",),
    "nonstationary_transformer": ("DestationaryAttention",),
    "olinear": ("NormalizedMixing",),
    "parts.ensemble": ("Median",),
    "parts.forecast_graph": ("Unscaling", "WindowScaling"),
    "parts.normalized_window": ("MissingHistory",),
    "parts.patch_tokens": ("KnownFeatures",),
    "patchtst": ("ResidualAttention",),
    "pretrained.base": ("SeriesStart",),
    "pretrained.chronos.v2_network": ("GridAttention", "LastTokens"),
    "pretrained.flowstate.port": ("LegendreExpansion",),
    "pretrained.fracast.network": ("DilationCondition",),
    "pretrained.patchtst_fm.port": ("PaddedNormalization",),
    "pretrained.reverso.network": ("CircularConvolution",),
    "pretrained.timesfm.network": ("ContinuedAttention",),
    "pretrained.toto.network": ("WeightedResidual",),
    "pretrained.zero.cycles": ("CycleRegression",),
    "pretrained.zero.drift": ("DriftForecasts",),
    "pretrained.zero.windows": ("PhaseForecasts",),
    "segrnn": ("ChannelSegmentEmbedding",),
    "seq2seq_transformer": ("PaddingMask",),
    "simpletm": ("GeometricAttention",),
    "softs": ("StochasticPooling",),
    "tft": ("InterpretableMultiHeadAttention", "FutureClock"),
    "timebase": ("OrthogonalityLoss",),
    "timebridge": ("Detrending",),
    "timekan": ("ChebyshevDense",),
    "timesnet": ("PeriodicConvolution",),
    "timexer": ("GlobalToken",),
    "xlstm_mixer": ("ScalarLSTM",),
    "xpatch": ("ExponentialDecomposition",),
}


def __getattr__(name):
    """Import `build_<file>_model` from `<file>.py`."""
    if name == "build_seq2seq_transformer":
        return importlib.import_module(f"{__name__}.seq2seq_transformer").build_seq2seq_transformer
    file = name.removeprefix("build_").removesuffix("_model")
    if name != f"build_{file}_model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{file}"), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
