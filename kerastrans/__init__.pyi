"""Written by tools/checks/stubs.py from kerastrans/__init__.py."""

from kerastrans import data as data
from kerastrans import datasets as datasets
from kerastrans.decoding import generation as generation
from kerastrans.decoding.generation import generate as generate, generate_steps as generate_steps, generate_tokens as generate_tokens
from kerastrans.decoding import inspection as inspection
from kerastrans.decoding.inspection import attention_scores as attention_scores, variable_importances as variable_importances
from kerastrans.decoding import samplers as samplers
from kerastrans.decoding.samplers import BeamSampler as BeamSampler, GreedySampler as GreedySampler, RandomSampler as RandomSampler
from kerastrans.decoding import sampling as sampling
from kerastrans.decoding.sampling import generate_samples as generate_samples
from kerastrans import evaluation as evaluation
from kerastrans.evaluation import ForecastError as ForecastError
from kerastrans.evaluation import backtesting as backtesting
from kerastrans.evaluation.scores import metrics as metrics
from kerastrans.evaluation.scores import path_scores as path_scores
from kerastrans.evaluation import plotting as plotting
from kerastrans.evaluation import report as report
from kerastrans import export as export
from kerastrans.export import export_litert as export_litert, export_onnx as export_onnx, export_pt2 as export_pt2, export_savedmodel as export_savedmodel
from kerastrans.forecasting import conformal as conformal
from kerastrans.forecasting import forecaster as forecaster
from kerastrans.forecasting.forecaster import Forecaster as Forecaster, Training as Training
from kerastrans.forecasting import partitions as partitions
from kerastrans.forecasting import paths as paths
from kerastrans.forecasting.paths import aggregate_paths as aggregate_paths, backtest_aggregates as backtest_aggregates, find_first_passages as find_first_passages, find_peaks as find_peaks
from kerastrans.forecasting import presets as presets
from kerastrans.forecasting.presets import pretrained as pretrained
from kerastrans.forecasting.presets.pretrained import from_pretrained as from_pretrained
from kerastrans.forecasting.presets import upload as upload
from kerastrans.forecasting.presets.upload import upload_preset as upload_preset
from kerastrans.forecasting import selection as selection
from kerastrans.forecasting.selection import select as select
from kerastrans.forecasting.selection import combination as combination
from kerastrans.forecasting.selection.combination import combine as combine
from kerastrans.forecasting.selection import tuning as tuning
from kerastrans import heads as heads
from kerastrans import layers as layers
from kerastrans.layers import CachedMultiHeadAttention as CachedMultiHeadAttention, LearntPositionalEncoding as LearntPositionalEncoding, PositionalEncoding as PositionalEncoding, TransformerDecoder as TransformerDecoder, TransformerEncoder as TransformerEncoder
from kerastrans.layers import masks as masks
from kerastrans.layers.masks import combine_masks as combine_masks, create_look_ahead_mask as create_look_ahead_mask, create_padding_mask as create_padding_mask
from kerastrans import lessons as lessons
from kerastrans import models as models
from kerastrans.models import build_seq2seq_transformer as build_seq2seq_transformer, build_transformer_model as build_transformer_model
from kerastrans.layers.transformer import blocks as blocks
from kerastrans.layers.transformer.blocks import transformer_decoder as transformer_decoder, transformer_encoder as transformer_encoder
from kerastrans.models.parts import regression as regression
from kerastrans.models.parts.regression import regress as regress
from kerastrans.models.parts import sublayers as sublayers
from kerastrans.models.parts.sublayers import position_wise_ffn as position_wise_ffn
from kerastrans import serving as serving
from kerastrans import testing as testing
from kerastrans import text as text
from kerastrans.utils import distribution as distribution
from kerastrans.utils import precision as precision
from kerastrans import zoo as zoo

__version__: str
