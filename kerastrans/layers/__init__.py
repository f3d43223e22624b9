"""Keras layers for sequence forecasting, one idea per file."""

from kerastrans.utils.lazy import names_of

HOMES = {
    "attention.auto_correlation": ("AutoCorrelation",),
    "attention.cached_attention": ("CachedMultiHeadAttention",),
    "attention.fourier_attention": ("FourierCrossAttention",),
    "attention.grouped_attention": ("GroupedQueryAttention",),
    "attention.prompted_attention": ("PromptedAttention",),
    "attention.relative_position_bias": ("RelativePositionBias",),
    "attention.unscaled_attention": ("UnscaledAttention",),
    "causal_convolution": (
        "CausalDepthwiseConvolution",
        "WeightNormalizedConvolution",
    ),
    "covariates.centered_covariates": ("CenteredCovariates",),
    "covariates.covariate_effects": ("CovariateEffects",),
    "covariates.recency": ("Recency",),
    "dropout": ("Dropout",),
    "embedding.channel_embedding": ("ChannelEmbedding",),
    "embedding.lagged_patches": (
        "LaggedPatches",
        "UnfoldPatches",
    ),
    "embedding.patching": ("Patching",),
    "embedding.phases": (
        "PhaseEncoding",
        "SeasonalFill",
    ),
    "embedding.position_layers": (
        "PositionEmbedding",
        "RotaryEmbedding",
        "SinePositionEncoding",
    ),
    "embedding.positional_encoding": (
        "EndPositionalEncoding",
        "LearntPositionalEncoding",
        "PositionalEncoding",
    ),
    "embedding.value_embedding": ("ValueEmbedding",),
    "frequency.basis": ("BasisExpansion",),
    "frequency.complex_dense": ("ComplexDense",),
    "frequency.correlation_basis": ("CorrelationBasis",),
    "frequency.dominant_periods": ("DominantPeriods",),
    "frequency.fourier": ("FourierBlock",),
    "frequency.lagged": (
        "LagChanges",
        "SamePhase",
    ),
    "frequency.multiwavelets": ("MultiwaveletBlock",),
    "frequency.octave_lags": ("OctaveLags",),
    "frequency.stationary_wavelets": (
        "InverseStationaryWavelets",
        "StationaryWavelets",
    ),
    "gating": (
        "GateNoise",
        "TopKGate",
    ),
    "graph_filter": ("GraphFilter",),
    "history_loss": ("HistoryLoss",),
    "linear_interpolation": ("LinearInterpolation",),
    "normalization.decomposition": ("SeriesDecomposition",),
    "normalization.observed_normalization": ("ObservedNormalization",),
    "normalization.observed_values": ("ObservedValues",),
    "normalization.reversible_normalization": ("ReversibleInstanceNormalization",),
    "recurrent.delta_rule": ("DeltaRule",),
    "recurrent.recurrent_cycle": ("RecurrentCycle",),
    "recurrent.state_space": ("StateSpace",),
    "transformer.decoder": ("TransformerDecoder",),
    "transformer.encoder": ("TransformerEncoder",),
}
__getattr__, __dir__, __all__ = names_of(__name__, HOMES, with_modules=False)
