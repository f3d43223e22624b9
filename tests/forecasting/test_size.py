"""`Forecaster(size=)`: a named size through save, load, clone, refits and searches."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, tuning, zoo
from kerastrans.forecasting.inference.model import build
from tests.helpers.frames import CONTEXT, HORIZON, series

SIZE = {"size": "etth1_720", "d_model": 8}
FIT = {"epochs": 1, "validation_size": HORIZON, "verbose": 0}


@pytest.fixture(scope="module")
def frame():
    return series("a", 60)


def width_of(model):
    """Return the hidden width of the feed-forward network of SOFTS."""
    return model.get_layer("encoder_0_ffn_expand").units


def test_given_hyperparameters_replace_those_of_the_size():
    forecaster = Forecaster("softs", CONTEXT, HORIZON, **SIZE)
    model = build(forecaster.config, 1, {})
    assert zoo.info("softs").defaults["ff_dim"] == 128
    assert width_of(model) == zoo.info("softs").sizes["etth1_720"]["ff_dim"] == 512
    assert model.get_layer("embedding").units == 8
    expected = f"Forecaster('softs', {CONTEXT}, {HORIZON}, size='etth1_720', d_model=8)"
    assert repr(forecaster) == expected


@pytest.mark.slow
def test_a_saved_forecaster_keeps_its_size(frame, tmp_path):
    trained = Forecaster("softs", CONTEXT, HORIZON, **SIZE).fit(frame, **FIT)
    trained.save(tmp_path / "saved")
    loaded = Forecaster.load(tmp_path / "saved")
    assert loaded.config.size == "etth1_720"
    pd.testing.assert_frame_equal(loaded.predict(frame), trained.predict(frame))
    rows = loaded.backtest(frame, windows=1, refit=True, **FIT)
    assert np.isfinite(rows["softs"]).all()
    assert width_of(build(loaded.clone().config, 1, {})) == 512


@pytest.mark.slow
def test_a_custom_builder_gets_its_own_size(frame, tmp_path):
    def build_own(context_length, prediction_length, num_channels, *, size=8, head=None):
        lengths = context_length, prediction_length, num_channels
        return zoo.build("softs", *lengths, d_model=size, ff_dim=8, head=head)

    forecaster = Forecaster(build_own, CONTEXT, HORIZON, size=16).fit(frame, **FIT)
    assert forecaster.model.get_layer("embedding").units == 16
    forecaster.save(tmp_path / "own")
    loaded = Forecaster.load(tmp_path / "own")  # a built model, which has no size
    assert loaded.config.size is None
    pd.testing.assert_frame_equal(loaded.predict(frame), forecaster.predict(frame))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("softs", "softs has no size 'etth1_69': did you mean 'etth1_96'"),
        ("auto", r"model='auto' takes no \['size'\]: name a model"),
        (lambda context_length, prediction_length, num_channels: ..., "no hyperparameter 'size'"),
    ],
)
def test_what_is_not_a_size_of_the_model_is_refused(model, message):
    with pytest.raises(ValueError, match=message):
        Forecaster(model, CONTEXT, HORIZON, size="etth1_69")


def test_a_built_model_takes_no_size():
    with pytest.raises(ValueError, match=r"takes no hyperparameters, got \['size'\]"):
        Forecaster(zoo.build("nlinear", 8, 4, 1), 8, 4, size="paper")


@pytest.mark.slow
def test_a_search_chooses_among_sizes(frame):
    options = {"validation_size": 14, "trials": 1, "epochs": 1}
    space = {"size": ("laptop", "paper")}
    _, forecaster = tuning.tune("softs", frame, 14, 7, space=space, d_model=8, **options)
    assert forecaster.config.size in space["size"]
    assert forecaster.config.hyperparameters == {"d_model": 8}
    with pytest.raises(ValueError, match="softs has no size 'huge'"):
        tuning.tune("softs", frame, 14, 7, space={"size": ("huge",)}, **options)
