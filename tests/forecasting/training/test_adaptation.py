"""Layers that are adapted to training rows: fits, refits, copies, files and exports."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, zoo
from kerastrans.forecasting.training import fit
from kerastrans.layers import CorrelationBasis
from kerastrans.layers.frequency.correlation_basis import adapt_layers
from tests.conftest import assert_same_numbers, to_numpy
from tests.helpers.frames import CONTEXT, HORIZON, series
from tests.helpers.runtimes import RUNTIMES

SMALL = {"embedding_dim": 2, "d_model": 8, "ff_dim": 8, "num_blocks": 1, "head": "point"}
FIT = {"epochs": 1, "batch_size": 16, "verbose": 0}


def forecaster(**options):
    return Forecaster("olinear", CONTEXT, HORIZON, **SMALL, **options)


def bases(model):
    layers = [layer for layer in model.layers if isinstance(layer, CorrelationBasis)]
    return [to_numpy(layer.basis) for layer in layers]


def check_bases(model, expected):
    for found, basis in zip(bases(model), expected, strict=True):
        assert_same_numbers(found, basis)


def expected_bases(rows):
    """Return the bases of context and horizon for the training rows of some series."""
    found = []
    for length in (CONTEXT, HORIZON):
        layer = CorrelationBasis()
        layer.build((None, length))
        layer.adapt([x.reshape(-1, 1) for x in rows])
        found.append(to_numpy(layer.basis))
    return found


@pytest.fixture(scope="module")
def frame():
    """Two series of different lengths."""
    return pd.concat([series("a", 90), series("b", 60)])


@pytest.fixture(scope="module")
def rows(frame):
    return [x["y"].to_numpy() for _, x in frame.groupby("unique_id")]


@pytest.fixture(scope="module")
def trained(frame):
    return forecaster().fit(frame, **FIT)


def test_a_new_model_is_adapted_to_all_its_training_rows(trained, rows):
    check_bases(trained.model, expected_bases(rows))


@pytest.mark.slow
def test_held_out_rows_are_no_training_rows(frame, rows):
    fitted = forecaster().fit(frame, **FIT, validation_size=2 * HORIZON)
    check_bases(fitted.model, expected_bases([x[: -2 * HORIZON] for x in rows]))


@pytest.mark.slow
def test_a_model_that_was_trained_keeps_its_bases(trained, frame, tmp_path):
    trained.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(frame), trained.predict(frame))
    before = bases(trained.model)
    other = series("c", 80, seed=5)
    loaded.fit(other, **FIT)
    check_bases(loaded.model, before)
    fresh = trained.clone().fit(other, **FIT)
    check_bases(fresh.model, expected_bases([other["y"].to_numpy()]))


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_exported_file_has_the_bases(runtime, trained, frame, rows, tmp_path):
    suffix, run = RUNTIMES[runtime]
    path = trained.export(tmp_path / f"file{suffix}")
    history = np.stack([x[-CONTEXT:, None] for x in rows]).astype("float32")
    found = run(path, history=history)["forecast"][..., 0]
    expected = trained.predict(frame)["olinear"].to_numpy().reshape(-1, HORIZON)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.slow
def test_a_first_fit_without_epochs_leaves_the_bases_to_the_next(frame, rows):
    fitted = forecaster().fit(frame, epochs=0, verbose=0)
    assert not fitted.model.get_layer("context_basis").is_adapted
    fitted.fit(frame, **FIT)
    check_bases(fitted.model, expected_bases(rows))


def built():
    size = CONTEXT, HORIZON, 1
    model = zoo.build("olinear", *size, embedding_dim=2, d_model=8, ff_dim=8, num_blocks=1)
    model.compile("sgd", "mse")
    return model


def train_with_keras(model, path):
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(8, CONTEXT, 1)), rng.normal(size=(8, HORIZON, 1)), verbose=0)
    return model


def read_weights(model, path):
    trained = train_with_keras(built(), path)
    trained.save_weights(path / "own.weights.h5")
    model.load_weights(path / "own.weights.h5")
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "options"),
    [
        (train_with_keras, {}),
        (train_with_keras, {"loss": "mae"}),
        (read_weights, {}),
    ],
)
def test_a_model_that_keras_trained_on_cosines_keeps_them(prepare, options, frame, tmp_path):
    model = prepare(built(), tmp_path)
    given = Forecaster(model, CONTEXT, HORIZON, **options)
    given.fit(frame, epochs=0, verbose=0)  # compiles the model again if a loss is given
    given.fit(frame, **FIT)
    assert not given.model.get_layer("context_basis").is_adapted


@pytest.mark.slow
def test_a_given_model_without_training_is_adapted_and_so_is_its_clone(frame, rows):
    given = Forecaster(built(), CONTEXT, HORIZON)
    for new in (given.fit(frame, **FIT), given.clone().fit(frame, **FIT)):
        check_bases(new.model, expected_bases(rows))


def test_a_fit_that_fails_does_not_adapt_a_given_model(frame, monkeypatch):
    model = built()
    given = Forecaster(model, CONTEXT, HORIZON)

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit, "fit_model", fail)
    with pytest.raises(KeyboardInterrupt):
        given.fit(frame, **FIT)
    assert not model.get_layer("context_basis").is_adapted


def test_layers_are_adapted_once_and_other_models_are_left_alone():
    rng = np.random.default_rng(0)
    one, other = (rng.normal(size=(90, 2)).cumsum(axis=0) for _ in range(2))
    model = zoo.build("olinear", 8, 4, 2, d_model=8)
    adapt_layers(model, lambda: iter([one]))
    first = bases(model)
    adapt_layers(model, lambda: [other])
    check_bases(model, first)

    def read():
        raise AssertionError("the rows of a model without such layers are not read")

    adapt_layers(zoo.build("dlinear", 8, 4, 2), read)
