"""The public names, which are imported on first use."""

from . import data as data
from . import datasets as datasets
from .decoding import generation as generation
from .decoding.generation import (
    generate as generate,
    generate_steps as generate_steps,
    generate_tokens as generate_tokens,
)
from .decoding import inspection as inspection
from .decoding.inspection import (
    attention_scores as attention_scores,
    variable_importances as variable_importances,
)
from .decoding import samplers as samplers
from .decoding.samplers import (
    BeamSampler as BeamSampler,
    GreedySampler as GreedySampler,
    RandomSampler as RandomSampler,
)
from .decoding import sampling as sampling
from .decoding.sampling import generate_samples as generate_samples
from . import evaluation as evaluation
from .evaluation import ForecastError as ForecastError
from .evaluation import backtesting as backtesting
from .evaluation.scores import metrics as metrics
from .evaluation.scores import path_scores as path_scores
from .evaluation import plotting as plotting
from .evaluation import report as report
from . import export as export
from .export import (
    export_litert as export_litert,
    export_onnx as export_onnx,
    export_savedmodel as export_savedmodel,
)
from .forecasting import conformal as conformal
from .forecasting import forecaster as forecaster
from .forecasting.forecaster import Forecaster as Forecaster, Training as Training
from .forecasting import partitions as partitions
from .forecasting import paths as paths
from .forecasting.paths import (
    aggregate_paths as aggregate_paths,
    backtest_aggregates as backtest_aggregates,
    find_first_passages as find_first_passages,
    find_peaks as find_peaks,
)
from .forecasting import presets as presets
from .forecasting.presets import pretrained as pretrained
from .forecasting.presets.pretrained import from_pretrained as from_pretrained
from .forecasting.presets import upload as upload
from .forecasting.presets.upload import upload_preset as upload_preset
from .forecasting import selection as selection
from .forecasting.selection import select as select
from .forecasting.selection import combination as combination
from .forecasting.selection.combination import combine as combine
from .forecasting.selection import tuning as tuning
from . import heads as heads
from . import layers as layers
from .layers import (
    CachedMultiHeadAttention as CachedMultiHeadAttention,
    LearntPositionalEncoding as LearntPositionalEncoding,
    PositionalEncoding as PositionalEncoding,
    TransformerDecoder as TransformerDecoder,
    TransformerEncoder as TransformerEncoder,
)
from .layers import masks as masks
from .layers.masks import (
    combine_masks as combine_masks,
    create_look_ahead_mask as create_look_ahead_mask,
    create_padding_mask as create_padding_mask,
)
from . import lessons as lessons
from . import models as models
from .models import (
    build_seq2seq_transformer as build_seq2seq_transformer,
    build_transformer_model as build_transformer_model,
)
from .layers.transformer import blocks as blocks
from .layers.transformer.blocks import (
    transformer_decoder as transformer_decoder,
    transformer_encoder as transformer_encoder,
)
from .models.parts import regression as regression
from .models.parts.regression import regress as regress
from .models.parts import sublayers as sublayers
from .models.parts.sublayers import position_wise_ffn as position_wise_ffn
from . import serving as serving
from . import testing as testing
from . import text as text
from .utils import distribution as distribution
from .utils import precision as precision
from . import zoo as zoo

__version__: str
