import keras
import pytest

import kerastrans
from kerastrans import zoo


def test_build_is_the_builder_with_the_same_arguments():
    keras.utils.set_random_seed(0)
    model = zoo.build("patchtst", 32, 8, 2, patch_length=8, d_model=8, name="mine")
    assert model.name == "mine"
    assert model.get_layer("embedding").units == 8
    again = kerastrans.models.build_patchtst_model(32, 8, 2, patch_length=8, d_model=8)
    assert again.count_params() == model.count_params()


def test_info_says_where_it_comes_from_and_what_it_takes():
    known = zoo.info("patchtst")
    assert (known.title, known.source, known.year) == ("PatchTST", "Nie et al.", 2023)
    assert known.defaults["patch_length"] == 16
    assert "context_length" not in known.defaults
    assert known.count_params(96, 24, 3, d_model=8) < known.count_params(96, 24, 3)
    assert zoo.info("cyclenet").inputs == ("history", "position")


def test_every_architecture_has_a_builder_of_its_own_name():
    for name in zoo.names():
        known = zoo.info(name)
        file = known.file or name
        assert known.builder is getattr(kerastrans.models, f"build_{file}_model")
        assert known.builder.__doc__.startswith("Build ")


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match="unknown model 'PatchTSD': did you mean 'patchtst'"):
        zoo.info("PatchTSD")
    with pytest.raises(ValueError, match="unknown model 'zzz': known are last_value, "):
        zoo.build("zzz", 8, 4, 1)
    message = "patchtst has no hyperparameter 'patch_len': did you mean 'patch_length'"
    with pytest.raises(ValueError, match=message):
        zoo.build("patchtst", 32, 8, 2, patch_len=8)
    with pytest.raises(AttributeError, match="no attribute 'build_zzz_model'"):
        kerastrans.models.build_zzz_model  # noqa: B018


HEADS = r"num_heads must divide d_model=10, got 4"


@pytest.mark.parametrize(
    ("name", "hyperparameters", "message"),
    [
        (
            "patchtst",
            {"patch_length": 40},
            "patch_length must be at most context_length=32, got 40",
        ),
        ("patchtst", {"stride": 0}, "stride must be an integer of at least 1, got 0"),
        ("patchtst", {"d_model": 10}, HEADS),
        ("patchtst", {"dropout": 1.0}, r"dropout must be a number in \[0, 1\), got 1.0"),
        ("timexer", {"patch_length": 33}, "patch_length must be at most context_length=32, got 33"),
        ("itransformer", {"d_model": 10, "num_heads": 4}, HEADS),
        ("transformer", {"d_model": 10, "num_heads": 4}, HEADS),
        ("informer", {"d_model": 10, "num_heads": 4}, HEADS),
        ("fedformer", {"d_model": 10, "num_heads": 4}, HEADS),
        ("tft", {"d_model": 10}, HEADS),
        (
            "informer",
            {"label_length": 33},
            "label_length must be at most context_length=32, got 33",
        ),
        ("seasonal_naive", {"season": 33}, "season must be at most context_length=32, got 33"),
        ("moving_average", {"window": 33}, "window must be at most context_length=32, got 33"),
        ("sparsetsf", {"period": 33}, "period must be at most context_length=32, got 33"),
        ("segrnn", {"segment_length": 33}, "segment_length must be at most context_length=32"),
        ("segrnn", {"segment_length": 8, "d_model": 7}, "d_model must be even, got 7"),
        ("cyclenet", {"cycle_length": 0}, "cycle_length must be an integer of at least 1, got 0"),
        ("nbeats", {"stacks": ("trends",)}, "stacks must be one of 'generic', 'trend', 'season"),
        ("nbeats", {"stacks": ()}, "stacks must name at least one stack, got none"),
        ("nhits", {"pool_sizes": (2,)}, "must have one value a stack, got 1 and 3"),
        ("nhits", {"pool_sizes": (64, 2, 1)}, "pool_sizes must be at most context_length=32"),
        ("timemixer", {"num_scales": 7}, "need a context of at least 64 steps, got 32"),
        ("timesnet", {"num_periods": 30}, "num_periods must be at most 20"),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_built(name, hyperparameters, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(name, 32, 8, 2, **hyperparameters)
