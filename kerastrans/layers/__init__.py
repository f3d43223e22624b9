"""Keras layers for sequence forecasting, one idea per file."""

import keras  # noqa: F401  first, so that `kerastrans._register` finds every module fully imported

from kerastrans.layers.attention.auto_correlation import AutoCorrelation
from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention
from kerastrans.layers.attention.channel_mask import ChannelMask, MaskedChannelAttention
from kerastrans.layers.attention.continued_attention import ContinuedAttention
from kerastrans.layers.attention.destationary_attention import DestationaryAttention
from kerastrans.layers.attention.fourier_attention import FourierCrossAttention
from kerastrans.layers.attention.grid_attention import GridAttention
from kerastrans.layers.attention.grouped_attention import GroupedQueryAttention
from kerastrans.layers.attention.interpretable_attention import InterpretableMultiHeadAttention
from kerastrans.layers.attention.padding_mask import PaddingMask
from kerastrans.layers.attention.prob_sparse_attention import ProbSparseAttention
from kerastrans.layers.attention.prompted_attention import PromptedAttention
from kerastrans.layers.attention.relative_position_bias import RelativePositionBias
from kerastrans.layers.attention.residual_attention import ResidualAttention
from kerastrans.layers.attention.unscaled_attention import UnscaledAttention
from kerastrans.layers.causal_convolution import (
    CausalDepthwiseConvolution,
    WeightNormalizedConvolution,
)
from kerastrans.layers.chebyshev_dense import ChebyshevDense
from kerastrans.layers.covariates.centered_covariates import CenteredCovariates
from kerastrans.layers.covariates.covariate_effects import CovariateEffects
from kerastrans.layers.covariates.known_features import KnownFeatures
from kerastrans.layers.covariates.missing_history import MissingHistory
from kerastrans.layers.covariates.recency import Recency
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.embedding.channel_embedding import ChannelEmbedding
from kerastrans.layers.embedding.dilation_condition import DilationCondition
from kerastrans.layers.embedding.future_clock import FutureClock
from kerastrans.layers.embedding.global_token import GlobalToken
from kerastrans.layers.embedding.lagged_patches import LaggedPatches, UnfoldPatches
from kerastrans.layers.embedding.patching import Patching
from kerastrans.layers.embedding.phases import PhaseEncoding, SeasonalFill
from kerastrans.layers.embedding.position_layers import (
    PositionEmbedding,
    RotaryEmbedding,
    SinePositionEncoding,
)
from kerastrans.layers.embedding.positional_encoding import (
    EndPositionalEncoding,
    LearntPositionalEncoding,
    PositionalEncoding,
)
from kerastrans.layers.embedding.segment_embedding import ChannelSegmentEmbedding
from kerastrans.layers.embedding.value_embedding import ValueEmbedding
from kerastrans.layers.frequency.basis import BasisExpansion
from kerastrans.layers.frequency.complex_dense import ComplexDense
from kerastrans.layers.frequency.dominant_periods import DominantPeriods
from kerastrans.layers.frequency.fourier import FourierBlock
from kerastrans.layers.frequency.lagged import CycleLevels, LagChanges, SamePhase
from kerastrans.layers.frequency.legendre import LegendreExpansion
from kerastrans.layers.frequency.octave_lags import OctaveLags
from kerastrans.layers.frequency.periodic_convolution import PeriodicConvolution
from kerastrans.layers.gating import GateNoise, TopKGate
from kerastrans.layers.graph_filter import GraphFilter
from kerastrans.layers.history_loss import HistoryLoss
from kerastrans.layers.last_tokens import LastTokens
from kerastrans.layers.linear_interpolation import LinearInterpolation
from kerastrans.layers.median import Median
from kerastrans.layers.normalization.decomposition import SeriesDecomposition
from kerastrans.layers.normalization.detrending import Detrending
from kerastrans.layers.normalization.exponential_decomposition import ExponentialDecomposition
from kerastrans.layers.normalization.observed_normalization import ObservedNormalization
from kerastrans.layers.normalization.observed_values import ObservedValues
from kerastrans.layers.normalization.padded_normalization import PaddedNormalization
from kerastrans.layers.normalization.reversible_normalization import ReversibleInstanceNormalization
from kerastrans.layers.normalization.series_start import SeriesStart
from kerastrans.layers.orthogonality_loss import OrthogonalityLoss
from kerastrans.layers.recurrent.recurrent_cycle import RecurrentCycle
from kerastrans.layers.recurrent.recurrent_decoder import RecurrentDecoder
from kerastrans.layers.recurrent.recurrent_forecaster import RecurrentForecaster
from kerastrans.layers.recurrent.scalar_lstm import ScalarLSTM
from kerastrans.layers.recurrent.selective_state_space import SelectiveStateSpace
from kerastrans.layers.recurrent.state_space import StateSpace
from kerastrans.layers.stochastic_pooling import StochasticPooling
from kerastrans.layers.transformer.decoder import TransformerDecoder
from kerastrans.layers.transformer.encoder import TransformerEncoder
from kerastrans.layers.weighted_residual import WeightedResidual

__all__ = [
    "AutoCorrelation",
    "BasisExpansion",
    "CachedMultiHeadAttention",
    "CausalDepthwiseConvolution",
    "CenteredCovariates",
    "ChannelEmbedding",
    "ChannelMask",
    "ChannelSegmentEmbedding",
    "ChebyshevDense",
    "ComplexDense",
    "ContinuedAttention",
    "CovariateEffects",
    "CycleLevels",
    "DestationaryAttention",
    "Detrending",
    "DilationCondition",
    "DominantPeriods",
    "Dropout",
    "EndPositionalEncoding",
    "ExponentialDecomposition",
    "FourierBlock",
    "FourierCrossAttention",
    "FutureClock",
    "GateNoise",
    "GlobalToken",
    "GraphFilter",
    "GridAttention",
    "GroupedQueryAttention",
    "HistoryLoss",
    "InterpretableMultiHeadAttention",
    "KnownFeatures",
    "LagChanges",
    "LaggedPatches",
    "LastTokens",
    "LearntPositionalEncoding",
    "LegendreExpansion",
    "LinearInterpolation",
    "MaskedChannelAttention",
    "Median",
    "MissingHistory",
    "ObservedNormalization",
    "ObservedValues",
    "OctaveLags",
    "OrthogonalityLoss",
    "PaddedNormalization",
    "PaddingMask",
    "Patching",
    "PeriodicConvolution",
    "PhaseEncoding",
    "PositionEmbedding",
    "PositionalEncoding",
    "ProbSparseAttention",
    "PromptedAttention",
    "Recency",
    "RecurrentCycle",
    "RecurrentDecoder",
    "RecurrentForecaster",
    "RelativePositionBias",
    "ResidualAttention",
    "ReversibleInstanceNormalization",
    "RotaryEmbedding",
    "SamePhase",
    "ScalarLSTM",
    "SeasonalFill",
    "SelectiveStateSpace",
    "SeriesDecomposition",
    "SeriesStart",
    "SinePositionEncoding",
    "StateSpace",
    "StochasticPooling",
    "TopKGate",
    "TransformerDecoder",
    "TransformerEncoder",
    "UnfoldPatches",
    "UnscaledAttention",
    "ValueEmbedding",
    "WeightNormalizedConvolution",
    "WeightedResidual",
]
