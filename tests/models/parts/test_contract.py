"""What a model that somebody built must keep to, and what each breach is told."""

import keras
import pytest
from keras import layers

from kerastrans import zoo
from kerastrans.models.parts.regression import regress


def make(output=None, history=(8, 2), **inputs):
    """A functional model "mine" of a history and further inputs, of these shapes."""
    tensors = {name: keras.Input(shape, name=name) for name, shape in inputs.items()}
    tensors = {"history": keras.Input(history, name="history"), **tensors}
    x = tensors["history"]
    x = x[:, -4:] if output is None else output(x)
    return keras.Model(tensors if inputs else tensors["history"], x, name="mine")


class Subclassed(keras.Model):
    def call(self, inputs):
        return inputs[:, -4:]


def test_every_architecture_keeps_the_contract():
    sizes = {"past": (0,), "future": (0, 3), "static": (4,)}
    for name, kwargs in {
        "nlinear": {},
        "cyclenet": {},
        "tft": {"d_model": 8, "covariates": sizes},
        "deepar": {"head": "normal", "units": 4, "covariates": {"future": (0, 3)}},
        "rlinear": {"head": "quantiles"},
    }.items():
        model = zoo.build(name, 8, 4, 2, **kwargs)
        zoo.check_contract(model, 8, 4, 2, covariates=kwargs.get("covariates", ()))
    model = regress(zoo.build("nlinear", 8, 4, 2), sizes)
    zoo.check_contract(model, 8, 4, 2, covariates=sizes)


def test_a_model_may_leave_sizes_open():
    zoo.check_contract(make(history=(None, 2)), 8, 4, 2)
    zoo.check_contract(make(history=(None, None)), 8, 4)
    zoo.check_contract(keras.Sequential([keras.Input((8, 2)), layers.Cropping1D((4, 0))]), 8, 4, 2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: make(lambda x: layers.Dense(24)(layers.Flatten()(x))),
            r"mine: output must have the shape \(batch, 4, 2\), got \(batch, 24\)\.",
        ),
        (lambda: make(lambda x: x[:, :3]), "mine was built for prediction_length=3, got 4"),
        (
            lambda: make(lambda x: x[:, :4, :1]),
            r"mine: output must have the shape \(batch, 4, 2\), got \(batch, 4, 1\)",
        ),
        (lambda: make(lambda x: [x, x]), "mine must have one output, got 2"),
        (
            lambda: make(history=(16, 2)),
            r"mine: input 'history' must have the shape \(batch, 8, 2\), got \(batch, 16, 2\)",
        ),
        (
            lambda: make(lambda x: x, history=(8,)),
            r"mine: input 'history' must have the shape \(batch, 8, 2\), got \(batch, 8\)",
        ),
        (
            lambda: make(weather=(8, 1)),
            "mine: inputs are named history, position, past_covariates, .*, got 'weather'",
        ),
        (
            lambda: make(typical_load=(1, 2)),
            "mine: inputs are named history, position, past_covariates, .*, got 'typical_load'",
        ),
        (
            lambda: make(future_covariates=(8, 3)),
            r"'future_covariates' must have the shape \(batch, 12, any\), got \(batch, 8, 3\)",
        ),
        (lambda: Subclassed(name="own"), r"own must be functional, .* got the subclass Subclassed"),
        (lambda: make, "a model must be a functional keras.Model, got make"),
        (lambda: 3, "a model must be a functional keras.Model, got int"),
    ],
)
def test_a_breach_is_told_in_one_line(model, message):
    with pytest.raises(ValueError, match=message) as error:
        zoo.check_contract(model(), 8, 4, 2)
    assert "\n" not in str(error.value)


def test_covariates_and_their_inputs_must_agree():
    with pytest.raises(ValueError, match=r"no input 'future_covariates', which .* a calendar need"):
        zoo.check_contract(make(), 8, 4, 2, covariates=("future",))
    with pytest.raises(ValueError, match="no input 'static_covariates', which static covariates"):
        zoo.check_contract(make(), 8, 4, 2, covariates=("static",))
    own = make(future_covariates=(12, 3))
    zoo.check_contract(own, 8, 4, 2)  # what it will be given is not known yet
    zoo.check_contract(own, 8, 4, 2, covariates=("future",))
    message = "an input 'future_covariates', but there are no future covariates"
    with pytest.raises(ValueError, match=message):
        zoo.check_contract(own, 8, 4, 2, covariates=())
