"""Values that an architecture cannot be built with: refused by name, before weights are drawn.

`tests/contract/test_models.py` has the lengths and the number of channels of all architectures.
"""

import math

import keras
import pytest

from kerastrans import zoo
from tests.helpers.architectures import CHANNELS, CONTEXT, HORIZON, NAMES, NEWEST, SMALL

WRONG = {  # by the type of a default
    int: (0, -1, 2.5, "8", None),
    bool: ("yes", 2, None),
    float: (-0.1, math.nan, "x", None),
    tuple: ((0,), ("a",), (2.5,), (), 4, None),
    str: ("nonsense", 3, None),
    type(None): (0, -1, 2.5, "x"),
}
ALLOWED = {
    ("nonstationary_transformer", "projector_dims", ()),  # one linear map
    ("time_series_transformer", "lags", ()),
    ("tft", "static_channels", ()),
    ("patchtst", "center", None),  # windows as they are
    ("moderntcn", "center", None),
    ("multipatchformer", "strides", ()),
    ("timebridge", "num_blocks", 0),
    ("timebridge", "num_downsampling_blocks", 0),
    ("timebridge", "num_channel_blocks", 0),
    ("direct_transformer", "label_length", 0),
    ("fedformer", "skipped_levels", 0),
    ("informer", "label_length", 0),
}
# Lengths and hyperparameters that do not fit together, and the rule in the message.
LENGTHS = CONTEXT, HORIZON, CHANNELS
UNFIT = [
    (
        "fedformer",
        LENGTHS,
        {"version": "wavelets", "skipped_levels": 4},
        "skipped_levels must be less than the base 2 logarithm of the 24 steps",
    ),
    ("fits", LENGTHS, {"num_frequencies": 14}, r"num_frequencies must be at most .*=13, got 14"),
    ("timebase", LENGTHS, {"period": 25}, "period must be at most context_length=24, got 25"),
    ("wpmixer", LENGTHS, {"patch_length": 25}, "patch_length must be at most context_length=24"),
    ("pattn", LENGTHS, {"patch_length": 25}, "patch_length must be at most context_length=24"),
    ("pattn", LENGTHS, {"d_model": 6, "num_heads": 4}, "num_heads must divide d_model=6, got 4"),
    ("xpatch", LENGTHS, {"patch_length": 25}, "patch_length must be at most context_length=24"),
    ("xpatch", LENGTHS, {"smoothing": 1.5}, r"smoothing must be a number in \(0, 1\], got 1.5"),
    ("simpletm", LENGTHS, {"wavelet": "db0"}, "unknown wavelet 'db0'"),
    (
        "simpletm",
        LENGTHS,
        {"wedge_share": 1.1},
        r"wedge_share must be a number in \[0, 1\], got 1.1",
    ),
    (
        "timekan",
        (3, 4, 2),
        {"num_scales": 3},
        "needs a context of at least 4 steps, got 3",
    ),
    ("moderntcn", LENGTHS, {"patch_length": 25}, "patch_length must be at most context_length=24"),
    ("moderntcn", LENGTHS, {"stride": 9}, "stride must be at most patch_length=8, got 9"),
    ("moderntcn", LENGTHS, {"depths": (1, 1)}, "depths"),
    (
        "multipatchformer",
        LENGTHS,
        {"patch_lengths": (8, 25)},
        r"patch_lengths\[1\] must be at most",
    ),
    ("multipatchformer", LENGTHS, {"patch_lengths": (2, 3, 4)}, "must divide d_model=16, got 3"),
    ("multipatchformer", LENGTHS, {"patch_lengths": (8, 8)}, "must differ from each other"),
    (
        "multipatchformer",
        LENGTHS,
        {"patch_lengths": (4, 8), "strides": (4,)},
        "one number for each",
    ),
    ("timebridge", LENGTHS, {"period": 25}, "period must be at most context_length=24, got 25"),
    ("timebridge", LENGTHS, {"num_patches": 5}, "num_patches must be at most .*=4, got 5"),
    (
        "timebridge",
        LENGTHS,
        {"num_patches": 3, "num_downsampling_blocks": 0},
        "num_patches=3 requires a downsampling block, because the context has 4 patches, got",
    ),
    (
        "duet",
        LENGTHS,
        {"num_chosen_experts": 4},
        "num_chosen_experts must be at most num_experts=3",
    ),
    ("timefilter", LENGTHS, {"patch_length": 25}, "patch_length must be at most context_length=24"),
    ("timefilter", LENGTHS, {"removed": 1.0}, r"removed must be a number in \[0, 1\), got 1.0"),
]


@pytest.fixture(autouse=True)
def no_weights(monkeypatch):
    def fail(layer, *args, **kwargs):
        raise AssertionError(f"{layer.name} drew weights before the arguments were checked")

    monkeypatch.setattr(keras.layers.Layer, "add_weight", fail)


def wrong_values():
    """Yield the cases of all architectures; those of the older ones are slow."""
    for name in NAMES:
        marks = () if name in NEWEST else pytest.mark.slow
        for hyperparameter, default in zoo.info(name).defaults.items():
            for value in WRONG[type(default)]:
                accepted = value is None and default is None
                if not accepted and (name, hyperparameter, value) not in ALLOWED:
                    yield pytest.param(name, hyperparameter, value, marks=marks)


@pytest.mark.parametrize(("name", "hyperparameter", "value"), list(wrong_values()))
def test_a_wrong_value_is_refused_by_name(name, hyperparameter, value):
    hyperparameters = {**SMALL.get(name, {}), hyperparameter: value}
    with pytest.raises(ValueError, match=rf"{hyperparameter}|number_of_patch_lengths") as refusal:
        zoo.build(name, *LENGTHS, **hyperparameters)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("name", "lengths", "hyperparameters", "message"), UNFIT)
def test_what_does_not_fit_is_refused_with_the_rule(name, lengths, hyperparameters, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(name, *lengths, **{**SMALL.get(name, {}), **hyperparameters})
