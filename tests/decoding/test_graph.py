import keras
import pytest

from kerastrans import zoo
from kerastrans.decoding.graph import missing_inputs, takes_missing
from kerastrans.models.parts.regression import regress


@pytest.mark.parametrize("name", ["rlinear", "nhits", "timemixer", "cyclenet", "last_value"])
def test_a_model_of_the_zoo_takes_missing_values(name):
    model = zoo.build(name, 48, 12, 2)
    assert takes_missing(model)
    assert takes_missing(keras.models.clone_model(model))


def test_covariates_around_a_model_do_not_hide_it():
    model = regress(zoo.build("nlinear", 48, 12, 2), {"past": (0,), "future": (3,)})
    assert missing_inputs(model) == {"history"}


def test_a_nested_model_answers_for_the_inputs_that_are_reached():
    inner = zoo.build("nhits", 48, 12, 2, covariates={"past": (0,)})
    inputs = [keras.Input(x.shape[1:], name=x.name) for x in inner.inputs]
    for given in (inputs, {x.name: x for x in inputs}):
        assert missing_inputs(keras.Model(inputs, inner(given))) == missing_inputs(inner)
    assert missing_inputs(inner) == {"history"}


def test_another_model_takes_them_only_where_all_that_reads_its_history_does():
    history = keras.Input((48, 2), name="history")
    assert not takes_missing(keras.Model(history, keras.layers.Dense(2)(history)))
    inner = zoo.build("nlinear", 48, 12, 2)
    both = inner(history) + keras.layers.Dense(2)(history[:, :12])
    assert not takes_missing(keras.Model(history, both))
    assert takes_missing(keras.Model(history, inner(history)))
