"""Keras layers, one idea a file."""

import keras  # noqa: F401  first, so that `kerastrans._register` finds no module half imported

from kerastrans.layers.attention import CachedMultiHeadAttention
from kerastrans.layers.auto_correlation import AutoCorrelation
from kerastrans.layers.basis import BasisExpansion
from kerastrans.layers.causal_convolution import CausalDepthwiseConvolution
from kerastrans.layers.centered_covariates import CenteredCovariates
from kerastrans.layers.channel_embedding import ChannelEmbedding
from kerastrans.layers.continued_attention import ContinuedAttention
from kerastrans.layers.decomposition import SeriesDecomposition
from kerastrans.layers.dilation_condition import DilationCondition
from kerastrans.layers.dominant_periods import DominantPeriods
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.fourier import FourierBlock
from kerastrans.layers.fourier_attention import FourierCrossAttention
from kerastrans.layers.future_clock import FutureClock
from kerastrans.layers.global_token import GlobalToken
from kerastrans.layers.grid_attention import GridAttention
from kerastrans.layers.grouped_attention import GroupedQueryAttention
from kerastrans.layers.interpretable_attention import InterpretableMultiHeadAttention
from kerastrans.layers.lagged import LagChanges, SamePhase
from kerastrans.layers.last_tokens import LastTokens
from kerastrans.layers.legendre import LegendreExpansion
from kerastrans.layers.linear_interpolation import LinearInterpolation
from kerastrans.layers.median import Median
from kerastrans.layers.missing_history import MissingHistory
from kerastrans.layers.observed_normalization import ObservedNormalization
from kerastrans.layers.observed_values import ObservedValues
from kerastrans.layers.octave_lags import OctaveLags
from kerastrans.layers.padded_normalization import PaddedNormalization
from kerastrans.layers.padding_mask import PaddingMask
from kerastrans.layers.patching import Patching
from kerastrans.layers.periodic_convolution import PeriodicConvolution
from kerastrans.layers.phases import PhaseEncoding, SeasonalFill
from kerastrans.layers.positional_encoding import (
    EndPositionalEncoding,
    LearntPositionalEncoding,
    PositionalEncoding,
)
from kerastrans.layers.prob_sparse_attention import ProbSparseAttention
from kerastrans.layers.recency import Recency
from kerastrans.layers.recurrent_cycle import RecurrentCycle
from kerastrans.layers.recurrent_decoder import RecurrentDecoder
from kerastrans.layers.recurrent_forecaster import RecurrentForecaster
from kerastrans.layers.relative_position_bias import RelativePositionBias
from kerastrans.layers.residual_attention import ResidualAttention
from kerastrans.layers.reversible_normalization import ReversibleInstanceNormalization
from kerastrans.layers.segment_embedding import ChannelSegmentEmbedding
from kerastrans.layers.state_space import StateSpace
from kerastrans.layers.unscaled_attention import UnscaledAttention
from kerastrans.layers.value_embedding import ValueEmbedding
from kerastrans.layers.weighted_residual import WeightedResidual

__all__ = [
    "AutoCorrelation",
    "BasisExpansion",
    "CachedMultiHeadAttention",
    "CausalDepthwiseConvolution",
    "CenteredCovariates",
    "ChannelEmbedding",
    "ChannelSegmentEmbedding",
    "ContinuedAttention",
    "DilationCondition",
    "DominantPeriods",
    "Dropout",
    "EndPositionalEncoding",
    "FourierBlock",
    "FourierCrossAttention",
    "FutureClock",
    "GlobalToken",
    "GridAttention",
    "GroupedQueryAttention",
    "InterpretableMultiHeadAttention",
    "LagChanges",
    "LastTokens",
    "LearntPositionalEncoding",
    "LegendreExpansion",
    "LinearInterpolation",
    "Median",
    "MissingHistory",
    "ObservedNormalization",
    "ObservedValues",
    "OctaveLags",
    "PaddedNormalization",
    "PaddingMask",
    "Patching",
    "PeriodicConvolution",
    "PhaseEncoding",
    "PositionalEncoding",
    "ProbSparseAttention",
    "Recency",
    "RecurrentCycle",
    "RecurrentDecoder",
    "RecurrentForecaster",
    "RelativePositionBias",
    "ResidualAttention",
    "ReversibleInstanceNormalization",
    "SamePhase",
    "SeasonalFill",
    "SeriesDecomposition",
    "StateSpace",
    "UnscaledAttention",
    "ValueEmbedding",
    "WeightedResidual",
]
