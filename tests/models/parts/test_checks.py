import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.models.parts.checks import checked
from tests.conftest import to_numpy

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
        ("direct_transformer", {"d_model": 10, "num_heads": 4}, HEADS),
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
        ("nhits", {"pool_sizes": (2,)}, "must have one value per stack, got 1 and 3"),
        ("nhits", {"pool_sizes": (64, 2, 1)}, "pool_sizes must be at most context_length=32"),
        (
            "timemixer",
            {"num_scales": 7},
            "needs a context of at least 64 steps, got 32",
        ),
        ("timesnet", {"num_periods": 30}, "num_periods must be at most 20"),
        # Of these some builders did not look at every one.
        ("patchtst", {"ff_dim": 0}, "ff_dim must be an integer of at least 1, got 0"),
        ("tqnet", {"attention_dropout": 1}, r"attention_dropout must be a number in \[0, 1\)"),
        ("deepar", {"units": 2.0}, "units must be an integer of at least 1, got 2.0"),
        ("nlinear", {"individual": "no"}, "individual must be one of False, True, got 'no'"),
        ("nhits", {"pool_sizes": 2}, "pool_sizes must be a tuple or a list, got 2"),
        ("cyclenet", {"hidden_dim": 0}, "hidden_dim must be an integer of at least 1, got 0"),
        ("moving_average", {"window": 0}, "window must be an integer of at least 1, got 0"),
        ("informer", {"label_length": -1}, "label_length must be an integer of at least 0, got -1"),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_built(name, hyperparameters, message):
    with pytest.raises(ValueError, match=message):
        zoo.build(name, 32, 8, 2, **hyperparameters)


@pytest.mark.parametrize("name", zoo.names())
def test_sizes_that_no_machine_holds_are_refused_in_one_line(name):
    for position, size in enumerate(("context_length", "prediction_length", "num_channels")):
        for large in (10**12, 10**15):
            sizes = [96, 96, 7]
            sizes[position] = large
            with pytest.raises(ValueError, match=f"^{size}={large} and .* are too large") as error:
                zoo.build(name, *sizes)
            assert "\n" not in str(error.value)


def test_a_single_large_size_is_refused():
    with pytest.raises(ValueError, match=r"num_channels=1000000000000 and .*=1 are too large"):
        zoo.build("linear_regression", 1, 1, 10**12)


def test_a_model_that_does_not_fit_into_memory_is_refused_in_one_line():
    @checked
    def build_large_model(context_length, prediction_length, num_channels):
        raise MemoryError("Unable to allocate 51 GB")

    message = "memory for a model of context_length=8, prediction_length=4, num_channels=2"
    with pytest.raises(ValueError, match=message):
        build_large_model(8, 4, 2)

    @checked
    def build_faulty_model(context_length, prediction_length, num_channels):
        raise RuntimeError("another fault")

    with pytest.raises(RuntimeError, match="another fault"):
        build_faulty_model(8, 4, 2)


@pytest.mark.parametrize("name", ["nhits", "deepar", "decoder_transformer"])
def test_sizes_may_be_integers_of_numpy(name):
    assert zoo.build(name, *np.array([12, 4, 1])).output_shape[1:3] in ((4, 1), (None, 1))
    config = Forecaster(name, np.int64(12), np.int32(4), seed=np.int64(1)).config
    assert [type(x) for x in (config.context_length, config.prediction_length, config.seed)] == [
        *(int, int, int)
    ]


def test_a_builder_gets_its_head_as_a_head():
    @checked
    def build_heads_model(context_length, prediction_length, num_channels, *, head=None):
        history = keras.Input((context_length, num_channels), name="history")
        x = keras.layers.Dense(num_channels * head.size)(history[:, -prediction_length:])
        return keras.Model(history, head.forecast(x, prediction_length))

    assert build_heads_model(8, 4, 2).output_shape == (None, 4, 2)
    assert build_heads_model(8, 4, 2, head="normal").output_shape == (None, 4, 2, 2)
    assert build_heads_model(8, 4, 2, head=heads.NormalHead()).output_shape == (None, 4, 2, 2)
    with pytest.raises(ValueError, match="unknown head 'norml': did you mean 'normal'"):
        build_heads_model(8, 4, 2, head="norml")


def test_default_names_are_unique_so_that_two_models_fit_into_one():
    keras.backend.clear_session()
    models = [zoo.build("nlinear", 24, 6, 1) for _ in range(2)]
    assert [model.name for model in models] == ["nlinear", "nlinear_1"]
    history = keras.Input((24, 1))
    both = keras.Model(history, keras.layers.Add()([model(history) for model in models]))
    x = np.random.default_rng(0).standard_normal((2, 24, 1), "float32")
    expected = sum(to_numpy(model(x)) for model in models)
    np.testing.assert_allclose(to_numpy(both(x)), expected, atol=1e-6)
    assert [zoo.build("nlinear", 24, 6, 1, name="own").name for _ in range(2)] == ["own", "own"]
    frame = pd.DataFrame({"y": np.arange(60.0)}, index=pd.date_range("2020", periods=60))
    fitted = Forecaster("nlinear", 24, 6).fit(frame, epochs=1, verbose=0)
    assert fitted.model.name == "nlinear"


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.names())
def test_every_builder_takes_its_name(name):
    assert zoo.build(name, 48, 12, 2, name="own").name == "own"
