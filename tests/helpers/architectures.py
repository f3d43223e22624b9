"""Every architecture of the zoo at a size that trains in a second.

A new file in `kerastrans/models` is tested without a change here, but for its closed form in
`tests/contract/test_parameters.py`; where its defaults are large, give it small ones in SMALL.
"""

import numpy as np
import pytest

import kerastrans
from kerastrans import zoo
from kerastrans.testing import example_windows
from kerastrans.utils.random import seeded

CONTEXT, HORIZON, CHANNELS = 24, 12, 3

_ATTENTION = {"d_model": 16, "num_heads": 2, "ff_dim": 24, "dropout": 0.0}
SMALL = {
    "seasonal_naive": {"season": 6},
    "tide": {"hidden_dim": 16, "temporal_hidden_dim": 8, "decoder_output_dim": 4, "dropout": 0.0},
    "tsmixer": {"ff_dim": 8, "dropout": 0.0},
    "nbeats": {"hidden_dim": 32, "num_layers": 2, "num_blocks": 2},
    "nhits": {"hidden_dim": 32, "downsampling": (6, 2, 1)},
    "timemixer": {"num_scales": 3, "dropout": 0.0},
    "sparsetsf": {"period": 4},
    "fits": {"num_frequencies": 6},
    "frets": {"embedding_dim": 8, "hidden_dim": 16},
    "softs": {"d_model": 16, "core_dim": 8, "ff_dim": 24, "num_blocks": 1},
    "amplifier": {"hidden_dim": 16, "moving_average": 7},
    "olinear": {
        "embedding_dim": 4,
        "d_model": 16,
        "ff_dim": 24,
        "num_blocks": 1,
        "dropout": 0.0,
        "output_dropout": 0.0,
    },
    "timebase": {"period": 5, "num_bases": 3},
    "timekan": {"d_model": 8, "num_blocks": 1, "dropout": 0.0},
    "wpmixer": {"patch_length": 6, "stride": 6, "d_model": 4, "dropout": 0.0},
    "cyclenet": {"cycle_length": 6},
    "time_series_transformer": {**_ATTENTION, "patch_length": 5},
    "direct_transformer": _ATTENTION,
    "informer": {**_ATTENTION, "factor": 2},
    "autoformer": {"d_model": 16, "ff_dim": 24, "moving_average": 5, "dropout": 0.0},
    "fedformer": {**_ATTENTION, "moving_average": 6, "modes": 6},
    "patchtst": {**_ATTENTION, "patch_length": 6, "stride": 3},
    "itransformer": _ATTENTION,
    "crossformer": {
        "d_model": 8,
        "num_heads": 2,
        "ff_dim": 8,
        "segment_length": 5,
        "num_scales": 1,
        "num_routers": 2,
        "dropout": 0.0,
    },
    "nonstationary_transformer": {**_ATTENTION, "projector_dims": (8,)},
    "pattn": {**_ATTENTION, "patch_length": 6, "stride": 3},
    "tqnet": {"cycle_length": 6, "hidden_dim": 16, "dropout": 0.0, "attention_dropout": 0.0},
    "decoder_transformer": {**_ATTENTION, "patch_length": 5},
    "timexer": {**_ATTENTION, "patch_length": 6},
    "tft": {"d_model": 16, "num_heads": 2, "dropout": 0.0},
    "tcn": {"filters": 16, "num_blocks": 3, "dropout": 0.0},
    "timesnet": {"d_model": 8, "ff_dim": 8, "num_periods": 2, "num_kernels": 3, "dropout": 0.0},
    "lstm_seq2seq": {"units": 24, "dropout": 0.0},
    "deepar": {"units": 16},
    "segrnn": {"segment_length": 6, "d_model": 24, "dropout": 0.0},
    "xpatch": {"patch_length": 6, "stride": 6},
    "micn": {"kernel_sizes": (4, 6), "d_model": 8, "dropout": 0.0},
    "mamba": {"d_model": 8, "state_dim": 4, "num_blocks": 1, "dropout": 0.0},
    "moderntcn": {
        "widths": (8,),
        "kernel_sizes": (5,),
        "small_kernel_sizes": (3,),
        "dropout": 0.0,
    },
    "timebridge": {**_ATTENTION, "period": 6, "moving_average": 2, "attention_dropout": 0.0},
    "xlstm_mixer": {"d_model": 16, "num_heads": 2, "ff_dim": 24, "dropout": 0.0},
    "timefilter": {**_ATTENTION, "patch_length": 6, "num_blocks": 1},
    "duet": {
        **_ATTENTION,
        "num_blocks": 1,
        "num_experts": 3,
        "hidden_dim": 8,
        "output_dropout": 0.0,
    },
    "multipatchformer": {**_ATTENTION, "patch_lengths": (5, 8), "attention_dropout": 0.0},
    "simpletm": {"d_model": 16, "ff_dim": 24, "dropout": 0.0, "projection_dropout": 0.0},
}
NAMES = zoo.names()
AUTOREGRESSIVE = zoo.names("autoregressive")
# Their closed forms in test_parameters.py hold for all hyperparameters, and all values are refused.
NEWEST = (
    "amplifier",
    "crossformer",
    "duet",
    "fits",
    "frets",
    "mamba",
    "micn",
    "moderntcn",
    "multipatchformer",
    "nonstationary_transformer",
    "olinear",
    "pattn",
    "simpletm",
    "softs",
    "timebase",
    "timebridge",
    "timefilter",
    "timekan",
    "tqnet",
    "wpmixer",
    "xlstm_mixer",
    "xpatch",
)
# One of each family, for what takes long: the others are in the slow tier.
FAMILIES = ("seasonal_naive", "rlinear", "nhits", "cyclenet", "itransformer", "tcn", "segrnn")
# Their building blocks are those of others: most of their tests are in the slow tier.
SLOW = NEWEST
# Whose way through a Forecaster is that of others: `make contract` has their longest tests.
EXHAUSTIVE = (
    *SLOW,
    *("autoformer", "direct_transformer", "fedformer", "informer", "timemixer", "timesnet"),
    *("nbeats", "time_series_transformer", "timexer", "tsmixer", "itransformer", "segrnn"),
    *("linear_regression", "dlinear", "nlinear", "sparsetsf", "cyclenet", "tcn", "tft"),
    *("last_value", "moving_average", "lstm_seq2seq"),
)
TRAINED = [name for name in NAMES if name not in ("last_value", "seasonal_naive", "moving_average")]


def build(name, context_length=CONTEXT, prediction_length=HORIZON, num_channels=CHANNELS, **more):
    hyperparameters = {**SMALL.get(name, {}), **more}
    with seeded(0):  # FEDformer's frequencies are drawn, and are no weights
        return zoo.build(name, context_length, prediction_length, num_channels, **hyperparameters)


def by_tier(names):
    """The names as parameters of a test, those of `SLOW` in the slow tier."""
    marks = dict.fromkeys(SLOW, pytest.mark.slow)
    return [pytest.param(name, marks=marks.get(name, ())) for name in names]


def all_in_slow_tier(names):
    """The names as parameters of a slow test, those of `EXHAUSTIVE` by `make contract` alone."""
    marks = {name: [pytest.mark.slow, pytest.mark.exhaustive] for name in EXHAUSTIVE}
    return [pytest.param(name, marks=marks.get(name, [pytest.mark.slow])) for name in names]


def build_shallow(name):
    """With one block of each kind: for what takes time block by block, and is the same in each."""
    depths = ("num_blocks", "num_encoder_blocks", "num_layers", "num_encoder_layers")
    known = zoo.info(name).defaults
    return build(name, **{depth: 1 for depth in depths if depth in known})


def example_inputs(model, history):
    """`history` as the model wants it, with its further inputs by name."""
    if len(model.inputs) == 1:
        return history
    return {"history": history, "position": np.arange(len(history), dtype="int32")}


def forecast(model, history):
    """`history` `(batch, context_length, num_channels)` -> NumPy forecast."""
    return model.predict_on_batch(example_inputs(model, np.asarray(history, "float32")))


def walks(count, length=CONTEXT, num_channels=CHANNELS):
    """Windows `(count, length, num_channels)`, see `example_windows`."""
    return example_windows(count, length, num_channels)


def encoder_decoder():
    """The Transformer of the lesson, which is exported with its decoding loop."""
    return kerastrans.build_transformer_model(
        (CONTEXT, CHANNELS),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        d_model=12,
    )


def moved(model):
    """The model with no weight at its start: zeros and ones would hide what they do."""
    random = np.random.default_rng(2)
    weights = [
        weight + 0.05 * np.abs(random.standard_normal(weight.shape))
        for weight in model.get_weights()
    ]
    model.set_weights(weights)
    return model


def lengths_of(name, size):
    """Return the lengths of a size: those of its script, or 96 steps to 96."""
    dataset, _, horizon = size.rpartition("_")
    if not horizon.isdigit():
        return 96, 96
    return zoo.info(name).settings(dataset, int(horizon))["context_length"], int(horizon)
