"""Written by tools/checks/stubs.py from kerastrans/layers/__init__.py."""

from kerastrans.layers.attention.auto_correlation import AutoCorrelation as AutoCorrelation
from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention as CachedMultiHeadAttention
from kerastrans.layers.attention.fourier_attention import FourierCrossAttention as FourierCrossAttention
from kerastrans.layers.attention.grouped_attention import GroupedQueryAttention as GroupedQueryAttention
from kerastrans.layers.attention.prompted_attention import PromptedAttention as PromptedAttention
from kerastrans.layers.attention.relative_position_bias import RelativePositionBias as RelativePositionBias
from kerastrans.layers.attention.unscaled_attention import UnscaledAttention as UnscaledAttention
from kerastrans.layers.causal_convolution import CausalDepthwiseConvolution as CausalDepthwiseConvolution, WeightNormalizedConvolution as WeightNormalizedConvolution
from kerastrans.layers.covariates.centered_covariates import CenteredCovariates as CenteredCovariates
from kerastrans.layers.covariates.covariate_effects import CovariateEffects as CovariateEffects
from kerastrans.layers.covariates.recency import Recency as Recency
from kerastrans.layers.dropout import Dropout as Dropout
from kerastrans.layers.embedding.channel_embedding import ChannelEmbedding as ChannelEmbedding
from kerastrans.layers.embedding.lagged_patches import LaggedPatches as LaggedPatches, UnfoldPatches as UnfoldPatches
from kerastrans.layers.embedding.patching import Patching as Patching
from kerastrans.layers.embedding.phases import PhaseEncoding as PhaseEncoding, SeasonalFill as SeasonalFill
from kerastrans.layers.embedding.position_layers import PositionEmbedding as PositionEmbedding, RotaryEmbedding as RotaryEmbedding, SinePositionEncoding as SinePositionEncoding
from kerastrans.layers.embedding.positional_encoding import EndPositionalEncoding as EndPositionalEncoding, LearntPositionalEncoding as LearntPositionalEncoding, PositionalEncoding as PositionalEncoding
from kerastrans.layers.embedding.value_embedding import ValueEmbedding as ValueEmbedding
from kerastrans.layers.frequency.basis import BasisExpansion as BasisExpansion
from kerastrans.layers.frequency.complex_dense import ComplexDense as ComplexDense
from kerastrans.layers.frequency.correlation_basis import CorrelationBasis as CorrelationBasis
from kerastrans.layers.frequency.dominant_periods import DominantPeriods as DominantPeriods
from kerastrans.layers.frequency.fourier import FourierBlock as FourierBlock
from kerastrans.layers.frequency.lagged import LagChanges as LagChanges, SamePhase as SamePhase
from kerastrans.layers.frequency.multiwavelets import MultiwaveletBlock as MultiwaveletBlock
from kerastrans.layers.frequency.octave_lags import OctaveLags as OctaveLags
from kerastrans.layers.frequency.stationary_wavelets import InverseStationaryWavelets as InverseStationaryWavelets, StationaryWavelets as StationaryWavelets
from kerastrans.layers.gating import GateNoise as GateNoise, TopKGate as TopKGate
from kerastrans.layers.graph_filter import GraphFilter as GraphFilter
from kerastrans.layers.history_loss import HistoryLoss as HistoryLoss
from kerastrans.layers.linear_interpolation import LinearInterpolation as LinearInterpolation
from kerastrans.layers.normalization.decomposition import SeriesDecomposition as SeriesDecomposition
from kerastrans.layers.normalization.observed_normalization import BatchNormalization as BatchNormalization, ObservedNormalization as ObservedNormalization
from kerastrans.layers.normalization.observed_values import ObservedValues as ObservedValues
from kerastrans.layers.normalization.reversible_normalization import ReversibleInstanceNormalization as ReversibleInstanceNormalization
from kerastrans.layers.recurrent.delta_rule import DeltaRule as DeltaRule
from kerastrans.layers.recurrent.recurrent_cycle import RecurrentCycle as RecurrentCycle
from kerastrans.layers.recurrent.state_space import StateSpace as StateSpace
from kerastrans.layers.transformer.block_layers import TransformerDecoder as TransformerDecoder, TransformerEncoder as TransformerEncoder
