import keras
import numpy as np
import optuna
import pandas as pd
import pytest

from kerastrans import tuning, zoo
from kerastrans.data import WindowScaler
from kerastrans.heads import QuantileHead
from tests.helpers.frames import series

NAMES = [f"s{i:03d}" for i in range(100)]
STATIC = pd.DataFrame({"unique_id": NAMES, "size": np.arange(100.0)})
LONG = STATIC.rename(columns={"size": "y"}).assign(ds="2024-01-01", price=1.0, promo=2.0)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


@pytest.mark.parametrize("name", zoo.names())
def test_a_search_space_has_known_hyperparameters_with_several_values(name):
    space = zoo.info(name).search_space
    assert set(space) <= set(zoo.info(name).defaults)
    assert all(len(set(values)) > 1 for values in space.values())
    assert space or "baseline" in zoo.info(name).tags


@pytest.mark.slow
def test_the_best_trial_has_the_smallest_validation_loss():
    study, forecaster = tuning.tune(
        "nlinear",
        series("a", 120),
        14,
        7,
        validation_size=21,
        trials=3,
        epochs=2,
        head="normal",
        seed=0,
    )
    finished = [trial for trial in study.trials if trial.value is not None]
    assert len(study.trials) == 3
    assert study.best_value == min(trial.value for trial in finished)
    chosen = study.best_params
    assert repr(forecaster.config.hyperparameters["individual"]) == chosen["individual"]
    assert float(forecaster.config.optimizer.learning_rate) == pytest.approx(
        chosen["learning_rate"]
    )
    found = forecaster.fit(series("a", 120), epochs=1, verbose=0).predict(series("a", 120))
    assert np.isfinite(found["nlinear"]).all()


def test_invalid_arguments_are_refused_before_the_first_trial():
    options = {"validation_size": 21, "trials": 1}
    with pytest.raises(ValueError, match="unknown model 'nlinaer'"):
        tuning.tune("nlinaer", series("a", 120), 14, 7, **options)
    with pytest.raises(ValueError, match="nlinear has no hyperparameter 'depth'"):
        tuning.tune("nlinear", series("a", 120), 14, 7, space={"depth": (1, 2)}, **options)
    with pytest.raises(ValueError, match="trials must be an integer of at least 1"):
        tuning.tune("nlinear", series("a", 120), 14, 7, validation_size=21, trials=0)
    for wrong, message in (
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"optimizer": "sgd"}, "tune searches the learning rate of Adam"),
        ({"space": {"moving_average": 5}}, r"space\['moving_average'\] must be a tuple of values"),
        ({"space": {"size": "laptop"}}, r"space\['size'\] must be a tuple of values"),
        ({"space": {"moving_average": (3,)}, "moving_average": 7}, "are searched: leave them out"),
    ):
        with pytest.raises(ValueError, match=message):
            tuning.tune("dlinear", series("a", 120), 14, 7, **options | wrong)


def test_a_missing_optuna_is_reported_with_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(
        ImportError, match=r'tune requires an optional package: pip install "\.\[tune\]"'
    ):
        tuning.tune("nlinear", series("a", 60), 14, 7, validation_size=7)


def test_invalid_data_end_the_search():
    frame = series("a", 120)
    with pytest.raises(ValueError, match="validation_size=3 holds no whole forecast"):
        tuning.tune("nlinear", frame, 14, 7, validation_size=3, trials=2)
    with pytest.raises(ValueError, match="no window to train on"):
        tuning.tune("nlinear", frame[:9], 14, 7, validation_size=7, trials=2)


def test_trials_with_invalid_sizes_fail_with_a_warning():
    space = {"num_heads": (3,), "d_model": (16,)}
    with (
        pytest.warns(UserWarning, match=r"trial 0 failed: num_heads must divide d_model"),
        pytest.raises(ValueError, match="all 1 trials failed, the last one with: num_heads must"),
    ):
        tuning.tune("patchtst", series("a", 120), 16, 7, validation_size=7, trials=1, space=space)


@pytest.mark.slow
def test_a_stored_search_continues_with_the_same_settings_only(tmp_path):
    frame = series("a", 120)
    options = {"validation_size": 21, "trials": 1, "epochs": 1, "space": {}}
    options["storage"] = f"sqlite:///{tmp_path / 'trials.db'}"
    tuning.tune("nlinear", frame, 14, 7, **options)
    study, _ = tuning.tune("nlinear", frame, 14, 7, **options)
    assert len(study.trials) == 2
    for change, name in (
        ({"space": {"individual": (True, False)}}, "space"),
        ({"scaler": None}, "scaler"),
        ({"epochs": 2}, "epochs"),
    ):
        with pytest.raises(ValueError, match=f"a search with another {name}: give another storage"):
            tuning.tune("nlinear", frame, 14, 7, **(options | change))
    with pytest.raises(ValueError, match="a search with another frame"):
        tuning.tune("nlinear", frame.assign(y=frame["y"] * 1000), 14, 7, **options)


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("static", STATIC, STATIC.assign(size=STATIC["size"].where(STATIC.index != 50, -1))),
        ("frame", LONG, LONG.rename(columns={"price": "promo", "promo": "price"})),
        ("frame", LONG, LONG.rename(columns={"price": "y", "y": "price"})),
        ("frame", LONG, LONG.assign(y=LONG["y"] * 100)),
        ("head", QuantileHead([0.1, 0.5, 0.9]), QuantileHead([0.05, 0.5, 0.95])),
        ("scaler", WindowScaler("mase", season=7), WindowScaler("mase", season=12)),
        ("loss", keras.losses.Huber(delta=1.0), keras.losses.Huber(delta=50.0)),
    ],
)
def test_a_stored_search_of_other_data_or_options_is_refused(name, value, other):
    study = optuna.create_study()
    settings = {"frame": LONG, "static": STATIC, "head": "normal"}

    def check(**changes):
        found = settings | changes
        tuning._check_continued(study, found.pop("frame"), found)

    check(**{name: value})
    check(**{name: value})
    with pytest.raises(ValueError, match=f"a search with another {name}: give another storage"):
        check(**{name: other})


def test_a_rewritten_folder_of_a_stored_search_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    study, source = optuna.create_study(), tmp_path / "series"
    source.mkdir()
    LONG.to_parquet(source / "part-0.parquet")
    for path in (source, str(source)):
        tuning._check_continued(study, path, {})
    LONG.assign(y=LONG["y"] * 100).to_parquet(source / "part-0.parquet")
    with pytest.raises(ValueError, match="a search with another frame"):
        tuning._check_continued(study, str(source), {})


@pytest.mark.slow
def test_a_stored_search_whose_trials_failed_fails_again(tmp_path):
    options = {"validation_size": 21, "trials": 1, "epochs": 1}
    options |= {"space": {"num_heads": (3,)}, "d_model": 16}
    options["storage"] = f"sqlite:///{tmp_path / 'trials.db'}"
    for count in (1, 2):
        with (
            pytest.warns(UserWarning, match="num_heads"),
            pytest.raises(ValueError, match=f"all {count} trials failed, the last one with: num_"),
        ):
            tuning.tune("itransformer", series("a", 120), 14, 7, **options)
