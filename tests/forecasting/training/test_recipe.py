"""The recipe of a forecaster: kept, followed, changed for one call, and made again."""

import ast
import inspect
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, Training, heads, zoo
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.training import fit as training_fit
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.windows import TrainingWindows
from kerastrans.utils.identity import differing, fingerprints
from tests.helpers.frames import series
from tests.helpers.weights import ZERO_1
from tools.checks import stubs

FRAME = series("a", 80), series("b", 70, seed=1)
FRAME = pd.concat(FRAME)[["unique_id", "ds", "y"]]
GIVEN = {"epochs": 2, "batch_size": 8, "stride": 2, "sampling": "scale"}
GIVEN |= {"window_sampling_limit": 60}


def other_value(field):
    """A valid value that is not the default."""
    if field.name == "sampling":
        return "series"
    return not field.default if isinstance(field.default, bool) else (field.default or 11) + 1


OTHER = {field.name: other_value(field) for field in fields(Training)}
pytestmark = pytest.mark.filterwarnings("ignore:epochs=")


@pytest.fixture
def trained_with(monkeypatch):
    """The recipes that models are trained with from here on."""
    recipes, train = [], training_fit.train

    def recorded(model, data, training, **options):
        recipes.append(training)
        return train(model, data, training, **options)

    monkeypatch.setattr(training_fit, "train", recorded)
    return recipes


def forecaster(**options):
    return Forecaster("nlinear", 12, 6, **options)


def test_a_refit_trains_as_the_first_fit(trained_with):
    model = forecaster().fit(FRAME, verbose=0, **GIVEN)
    with pytest.warns(UserWarning, match=r"not repeated: 1 further fit of 1 epoch\.$"):
        model.fit(FRAME, epochs=1, verbose=0).backtest(FRAME, windows=1, refit=True, verbose=0)
    assert trained_with == [Training(**GIVEN), Training(epochs=1), Training(**GIVEN)]
    assert model.config.training == Training()
    assert [call.is_new for call in model.fitted.fits] == [True, False]


def test_arguments_of_a_backtest_replace_fields_for_it_alone(trained_with):
    model = forecaster(training=Training(**GIVEN)).fit(FRAME, verbose=0)
    model.backtest(FRAME, windows=1, refit=True, epochs=1, verbose=0)
    model.backtest(FRAME, windows=1, refit=True, verbose=0)
    recipe = Training(**GIVEN)
    assert trained_with == [recipe, replace(recipe, epochs=1), recipe]


def test_a_fit_replaces_fields_of_the_recipe_for_this_call():
    model = forecaster(training=Training(**GIVEN)).fit(FRAME, epochs=1, verbose=0)
    assert model.fitted.fits[0].training == Training(**{**GIVEN, "epochs": 1})
    assert model.config.training == Training(**GIVEN)


def test_a_file_and_a_clone_know_how_the_model_was_trained(tmp_path):
    model = forecaster().fit(FRAME, verbose=0, **GIVEN)
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    assert loaded.fitted.fits == model.fitted.fits
    assert loaded.clone().config.training == Training(**GIVEN)
    assert Forecaster.from_config(loaded.clone().get_config()).config.training == Training(**GIVEN)
    stored = json.loads((tmp_path / "model" / "forecaster.json").read_text())
    assert stored["fitted"]["fits"][0]["training"]["stride"] == 2


def test_numbers_of_numpy_are_saved(tmp_path):
    recipe = Training(epochs=np.int64(1), restore_published=np.bool_(True))
    model = forecaster(training=recipe).fit(FRAME, time_limit=np.float32(60), verbose=0)
    model.save(tmp_path / "model")
    loaded = Forecaster.load(tmp_path / "model")
    assert loaded.config.training == Training(epochs=1)
    assert loaded.fitted.fits[0].training == Training(epochs=1, time_limit=60)


def test_a_clone_of_published_weights_has_had_no_fit():
    zero = kerastrans.from_pretrained(ZERO_1, 6, 64, verbose=False)
    assert len(zero.fit(FRAME, epochs=0, verbose=0).fitted.fits) == 1
    assert zero.clone().fitted.fits == ()


def test_a_baseline_has_no_training_to_repeat(recwarn):
    model = Forecaster("seasonal_naive", 12, 6, season=7).fit(FRAME, verbose=0)
    model.fit(FRAME, verbose=0).clone()
    assert not [x for x in recwarn if "not repeated" in str(x.message)]


def test_a_failed_fit_is_not_a_call():
    model = forecaster().fit(FRAME, verbose=0, **GIVEN)
    with pytest.raises(ValueError, match="no window to train on"):
        model.fit(FRAME.groupby("unique_id").head(4), epochs=1, verbose=0)
    assert len(model.fitted.fits) == 1


def test_weights_that_were_not_trained_are_new_for_the_next_fit(trained_with):
    model = forecaster().fit(FRAME, epochs=0, verbose=0).fit(FRAME, verbose=0, **GIVEN)
    assert [call.is_new for call in model.fitted.fits] == [False, True]
    assert model.clone().config.training == Training(**GIVEN)


def test_a_trained_keras_model_has_no_call_with_new_weights():
    model = zoo.build("nlinear", 12, 6, 1)
    model.compile("adam", heads.of(model).loss())
    model.fit(np.zeros((4, 12, 1)), np.zeros((4, 6, 1)), verbose=0)
    trained = Forecaster(model).fit(FRAME, verbose=0, **GIVEN)
    assert not trained.fitted.fits[0].is_new
    with pytest.warns(UserWarning, match="not repeated: 1 further fit of 2 epochs"):
        assert trained.clone().config.training == Training()


def test_a_refit_says_what_fit_does_not_keep():
    stop = keras.callbacks.EarlyStopping("loss")
    later = FRAME.groupby("unique_id").tail(20)
    model = forecaster().fit(
        FRAME.groupby("unique_id").head(50), epochs=1, callbacks=stop, validation=later, verbose=0
    )
    with pytest.warns(UserWarning, match="without callbacks and a validation frame"):
        model.clone()


def test_an_unknown_argument_is_answered_with_one_that_fit_has():
    with pytest.raises(TypeError, match="'samplng': did you mean 'sampling'") as error:
        forecaster().fit(FRAME, samplng="scale")
    known = str(error.value)
    for name in [*(x.name for x in fields(Training)), "checkpoint", "distribute", "callbacks"]:
        assert name in known
    for name in ("sample_weight", "class_weight"):
        assert name not in known
        with pytest.raises(ValueError, match=f"fit takes no '{name}': use "):
            forecaster().fit(FRAME, **{name: {0: 1.0}})


@pytest.mark.parametrize("field", [x.name for x in fields(Training)])
def test_a_checkpoint_knows_every_field_that_decides_the_weights(field):
    config = forecaster().config
    reader, panel = Reader.first(config, FRAME, None, None)
    data = TrainingData(reader, [panel])
    model = zoo.build("nlinear", 12, 6, 1)
    options = {"epochs": 5} if field == "validation_freq" else {}
    recipes = Training(**options), Training(**options, **{field: OTHER[field]})
    one, other = (fingerprints(TrainingWindows(model, data, x).facts()) for x in recipes)
    # What is held out is a fact of the data.
    ends = "time_limit", "restore_published", "validation_size"
    assert differing(one, other) == ([] if field in ends else [field])


@pytest.mark.parametrize("field", [x.name for x in fields(Training)])
def test_auto_is_told_how_to_train_by_every_field_but_the_time_limit(field):
    options = {"epochs": 5} if field == "validation_freq" else {}
    assert Training(**options, **{field: OTHER[field]}).says_how == (field != "time_limit")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": "3"}, "epochs must be an integer of at least 1, got '3'"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, got 0"),
        ({"stride": 1.5}, "stride must be an integer"),
        ({"sampling": "weeks"}, "sampling"),
        ({"window_sampling_limit": 0}, "window_sampling_limit must be an integer"),
        ({"validation_size": -1}, "validation_size must be an integer"),
        ({"time_limit": 0}, "time_limit must be seconds above 0 or None, got 0"),
        ({"time_limit": [1]}, r"time_limit must be seconds above 0 or None, got \[1\]"),
        ({"time_limit": True}, "time_limit must be seconds above 0 or None, got True"),
        ({"time_limit": "1 h"}, "time_limit must be seconds above 0 or None, got '1 h'"),
        ({"restore_published": "no"}, "restore_published"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be an integer"),
        ({"validation_steps": True}, "validation_steps must be an integer"),
        ({"validation_freq": 2}, "validation_freq=2 and epochs=None cannot be combined"),
        ({"validation_batch_size": 0.5}, "validation_batch_size must be an integer"),
    ],
)
def test_a_wrong_field_is_refused_where_it_is_given(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options)
    with pytest.raises(ValueError, match=message):
        forecaster().fit(FRAME, **options)


def test_all_fields_are_documented_in_their_order():
    arguments = inspect.getdoc(Training).partition("Args:")[2].partition("Raises:")[0]
    documented = re.findall(r"^    (\w+): ", arguments, re.MULTILINE)
    assert documented == [x.name for x in fields(Training)]


@pytest.mark.parametrize("field", [x.name for x in fields(Training)])
def test_every_field_is_read_by_the_training(field):
    files = set(Path(training_fit.__file__).parents[1].rglob("*.py")) - {stubs.RECIPE}
    nodes = [x for path in files for x in ast.walk(ast.parse(path.read_text("utf-8")))]
    read = {x.attr for x in nodes if isinstance(x, ast.Attribute)}
    assert field in read, f"nothing reads Training.{field}"


def test_a_recipe_must_be_one_and_hold_out_whole_forecasts():
    with pytest.raises(ValueError, match=r"training must be a kerastrans\.Training, got \{"):
        forecaster(training={"epochs": 1})
    with pytest.raises(ValueError, match="validation_size=3 holds no whole forecast"):
        forecaster(training=Training(validation_size=3))


def test_steps_and_batches_of_the_validation_are_those_of_the_recipe():
    recipe = Training(epochs=4, validation_size=20, validation_freq=2, validation_batch_size=2)
    history = forecaster(training=recipe).fit(FRAME, verbose=0).history.history
    assert (len(history["loss"]), len(history["val_loss"])) == (4, 2)
    one = forecaster().fit(FRAME, epochs=1, validation_size=20, verbose=0)
    first = forecaster().fit(
        FRAME, epochs=1, validation_size=20, validation_batch_size=2, validation_steps=1, verbose=0
    )
    assert one.history.history["loss"] == first.history.history["loss"]
    assert one.history.history["val_loss"] != first.history.history["val_loss"]


def test_a_file_of_an_older_format_says_which_it_is(tmp_path):
    forecaster().fit(FRAME, epochs=1, verbose=0).save(tmp_path / "model")
    path = tmp_path / "model" / "forecaster.json"
    content = json.loads(path.read_text())
    for number, hint in ((3, "train and save it anew"), (99, "install a newer kerastrans")):
        path.write_text(json.dumps(content | {"format": number}))
        with pytest.raises(ValueError, match=f"has format {number}, .* reads format 4: {hint}"):
            Forecaster.load(tmp_path / "model")


def test_a_fit_of_published_weights_is_not_one_of_new_weights():
    zero = kerastrans.from_pretrained(ZERO_1, 6, 64, verbose=False)
    assert zero.fitted.fits == ()
    zero.fit(FRAME, epochs=1, verbose=0, restore_published=False)
    assert [call.is_new for call in zero.fitted.fits] == [False]
