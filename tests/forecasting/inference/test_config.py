import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, heads, zoo
from kerastrans.forecasting.inference.config import Config

SIZES = {"context_length": 24, "prediction_length": 6}


@pytest.mark.parametrize(
    ("model", "head"),
    [
        ("nhits", heads.QuantileHead),
        ("deepar", heads.StudentTHead),
        ("last_value", heads.PointHead),
    ],
)
def test_the_head_by_default_is_one_that_the_architecture_takes(model, head):
    assert isinstance(Config(model=model, **SIZES).resolved_head, head)


def test_a_built_model_has_its_own_sizes():
    config = Forecaster(zoo.build("nlinear", 24, 12, 1)).config
    assert (config.context_length, config.prediction_length) == (24, 12)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("h", "prediction_length"),
        ("horizon", "prediction_length"),
        ("input_size", "context_length"),
        ("levels", r"predict\(frame, levels=\[80\]\)"),
    ],
)
@pytest.mark.parametrize("model", ["nhits", "auto"])
def test_names_of_other_libraries_are_answered_with_the_right_ones(model, name, right):
    with pytest.raises(ValueError, match=f"'{name}' is not an argument of Forecaster: use {right}"):
        Forecaster(model, **{name: 30})


def test_a_misspelt_argument_is_answered_before_a_missing_one():
    for name in ("prediction_lenght", "prediction_length_"):
        with pytest.raises(ValueError, match=f"'{name}' is .*: did you mean 'prediction_length'"):
            Forecaster("nhits", **{name: 30})


def test_a_sequential_model_is_taken_and_its_output_is_described():
    layers = keras.Input((24, 1)), keras.layers.Flatten(), keras.layers.Dense(6)
    model = keras.Sequential([*layers, keras.layers.Reshape((6, 1))], name="mine")
    forecaster = Forecaster(model)
    assert (forecaster.context_length, forecaster.prediction_length) == (24, 6)
    assert forecaster.alias == "mine"
    assert forecaster.model.weights[0] is model.weights[0]
    listed = keras.Model(model.inputs, [model.outputs[0]], name="listed")
    listed.compile("sgd", "mse")
    frame = pd.DataFrame({"y": np.arange(60.0)}, pd.date_range("2024-01-01", periods=60))
    for trained in (forecaster, Forecaster(listed)):
        rows = trained.fit(frame, epochs=1, verbose=0).predict(frame)
        assert rows[trained.alias].notna().sum() == 6
    assert isinstance(trained.model.optimizer, keras.optimizers.SGD)
    message = r"must be .*, got \(None, 6\): end it with keras.layers.Reshape\(\(6, 1\)\)"
    with pytest.raises(ValueError, match=message):
        Forecaster(keras.Sequential(layers))
    with pytest.raises(ValueError, match=r"has no input shape: begin it with keras\.Input"):
        Forecaster(keras.Sequential([keras.layers.Dense(6)]))
