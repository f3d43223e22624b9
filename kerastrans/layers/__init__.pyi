"""The public names, which are imported on first use."""

from .attention.auto_correlation import AutoCorrelation as AutoCorrelation
from .attention.cached_attention import CachedMultiHeadAttention as CachedMultiHeadAttention
from .attention.fourier_attention import FourierCrossAttention as FourierCrossAttention
from .attention.grouped_attention import GroupedQueryAttention as GroupedQueryAttention
from .attention.prompted_attention import PromptedAttention as PromptedAttention
from .attention.relative_position_bias import RelativePositionBias as RelativePositionBias
from .attention.unscaled_attention import UnscaledAttention as UnscaledAttention
from .causal_convolution import (
    CausalDepthwiseConvolution as CausalDepthwiseConvolution,
    WeightNormalizedConvolution as WeightNormalizedConvolution,
)
from .covariates.centered_covariates import CenteredCovariates as CenteredCovariates
from .covariates.covariate_effects import CovariateEffects as CovariateEffects
from .covariates.recency import Recency as Recency
from .dropout import Dropout as Dropout
from .embedding.channel_embedding import ChannelEmbedding as ChannelEmbedding
from .embedding.lagged_patches import LaggedPatches as LaggedPatches, UnfoldPatches as UnfoldPatches
from .embedding.patching import Patching as Patching
from .embedding.phases import PhaseEncoding as PhaseEncoding, SeasonalFill as SeasonalFill
from .embedding.position_layers import (
    PositionEmbedding as PositionEmbedding,
    RotaryEmbedding as RotaryEmbedding,
    SinePositionEncoding as SinePositionEncoding,
)
from .embedding.positional_encoding import (
    EndPositionalEncoding as EndPositionalEncoding,
    LearntPositionalEncoding as LearntPositionalEncoding,
    PositionalEncoding as PositionalEncoding,
)
from .embedding.value_embedding import ValueEmbedding as ValueEmbedding
from .frequency.basis import BasisExpansion as BasisExpansion
from .frequency.complex_dense import ComplexDense as ComplexDense
from .frequency.correlation_basis import CorrelationBasis as CorrelationBasis
from .frequency.dominant_periods import DominantPeriods as DominantPeriods
from .frequency.fourier import FourierBlock as FourierBlock
from .frequency.lagged import LagChanges as LagChanges, SamePhase as SamePhase
from .frequency.multiwavelets import MultiwaveletBlock as MultiwaveletBlock
from .frequency.octave_lags import OctaveLags as OctaveLags
from .frequency.stationary_wavelets import (
    InverseStationaryWavelets as InverseStationaryWavelets,
    StationaryWavelets as StationaryWavelets,
)
from .gating import GateNoise as GateNoise, TopKGate as TopKGate
from .graph_filter import GraphFilter as GraphFilter
from .history_loss import HistoryLoss as HistoryLoss
from .linear_interpolation import LinearInterpolation as LinearInterpolation
from .normalization.decomposition import SeriesDecomposition as SeriesDecomposition
from .normalization.observed_normalization import ObservedNormalization as ObservedNormalization
from .normalization.observed_values import ObservedValues as ObservedValues
from .normalization.reversible_normalization import (
    ReversibleInstanceNormalization as ReversibleInstanceNormalization,
)
from .recurrent.delta_rule import DeltaRule as DeltaRule
from .recurrent.recurrent_cycle import RecurrentCycle as RecurrentCycle
from .recurrent.state_space import StateSpace as StateSpace
from .transformer.block_layers import (
    TransformerDecoder as TransformerDecoder,
    TransformerEncoder as TransformerEncoder,
)
