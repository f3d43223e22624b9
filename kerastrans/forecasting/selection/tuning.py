"""Hyperparameter search by Optuna over the search space of an architecture."""

import functools
from pathlib import Path

import keras
import numpy as np

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.training.loop import DivergedError
from kerastrans.models import registry
from kerastrans.utils.identity import differing, fingerprints
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers, import_extra

LEARNING_RATE = (1e-4, 1e-2)


def tune(
    name,
    frame,
    context_length,
    prediction_length,
    *,
    validation_size,
    trials=20,
    space=None,
    static=None,
    epochs=20,
    patience=3,
    batch_size=32,
    stride=1,
    seed=0,
    storage=None,
    **options,
):
    """Search the hyperparameters of an architecture and the learning rate by validation loss.

    Every trial is trained on all but the last `validation_size` steps of each series, with early
    stopping on these steps. Trials that are worse than the median are pruned. `frame` should not
    contain the test rows.

    Args:
        name: Name of an architecture, see `kerastrans.zoo.names`.
        frame: Long or wide frame, see `Forecaster.fit`.
        context_length: int, number of steps of history.
        prediction_length: int, number of steps to forecast.
        validation_size: int, number of last steps of each series to validate on.
        trials: int, number of trials.
        space: Dict of hyperparameter -> tuple of values; by default
            `zoo.info(name).search_space`. "size" chooses among named sizes of the architecture.
        static: Frame of static covariates, see `Forecaster.fit`.
        epochs: int, maximum number of epochs of a trial.
        patience: int, number of epochs without improvement after which a trial stops.
        batch_size: int, number of windows in a training step.
        stride: int, number of steps from one training window to the next.
        seed: int, seed of the search and of the trials.
        storage: URL of a database to store the trials in, such as "sqlite:///trials.db", so that a
            search of the same frame and settings can be continued. None to keep them in memory.
        **options: Additional arguments of `Forecaster`, such as `head` or `scaler`.

    Returns:
        `(study, forecaster)`: the Optuna study, whose `best_params` are the best values as text,
        and an untrained forecaster with these values.

    Raises:
        ImportError: If the extra `tune` is not installed.
        ValueError: If a name or hyperparameter is unknown, `Forecaster` refuses an option, or an
            option is searched: `optimizer`, or a hyperparameter of `space`.
        ValueError: If the storage holds a search with another frame or setting, or all trials fail.
    """
    optuna = import_extra("optuna", "tune", "tune")
    check_positive_integers(trials=trials, validation_size=validation_size, epochs=epochs)
    space = registry.info(name).search_space if space is None else space
    for key, values in space.items():
        if not isinstance(values, tuple | list) or not values:
            raise ValueError(f"space[{key!r}] must be a tuple of values, got {values!r}.")
    if "optimizer" in options:
        raise ValueError("tune searches the learning rate of Adam: leave out optimizer.")
    if both := sorted(options.keys() & space.keys()):
        raise ValueError(f"{both} are searched: leave them out, or out of space.")
    registry.check_hyperparameters(name, [key for key in space if key != "size"])
    for size in space.get("size", ()):
        registry.check_size(name, size)
    steps = context_length, prediction_length
    build = functools.partial(Forecaster, name, *steps, seed=seed, **options)
    training = {"static": static, "validation_size": validation_size, "epochs": epochs}
    training |= {"batch_size": batch_size, "stride": stride, "verbose": 0}
    search = _Search(optuna, build, space, patience, functools.partial(Forecaster.fit, **training))
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
        storage=storage,
        study_name=f"{name}-{context_length}-{prediction_length}",
        load_if_exists=True,
    )
    if storage is not None:
        settings = training | {"space": space, "patience": patience, **options}
        _check_continued(study, frame, settings)
    study.optimize(functools.partial(search.run_trial, frame=frame), n_trials=trials)
    if all(trial.state != optuna.trial.TrialState.COMPLETE for trial in study.trials):
        last = search.errors[-1] if search.errors else "they were pruned"
        raise ValueError(f"all {len(study.trials)} trials failed, the last one with: {last}")
    return study, search.build_forecaster(study.best_params)


@takes_any_frame
def _check_continued(study, frame, settings):
    """Raise ValueError if the trials of a stored study were of another frame or other settings."""
    found = fingerprints(settings | {"frame": Path(frame) if isinstance(frame, str) else frame})
    if others := differing(study.user_attrs.get("settings", found), found):
        raise ValueError(
            f"the storage holds trials of a search with another {others[0]}: give another storage."
        )
    study.set_user_attr("settings", found)


class _Search:
    """Trials of a search, and the errors of those that failed.

    Args:
        optuna: The module `optuna`.
        build: Function that builds a forecaster from hyperparameters and `optimizer`.
        space: Dict of hyperparameter -> tuple of values.
        patience: int, number of epochs without improvement after which a trial stops.
        fit: Function that trains a forecaster on a frame with `callbacks`.
    """

    def __init__(self, optuna, build, space, patience, fit):
        self.optuna, self.build, self.space = optuna, build, space
        self.patience, self.fit = patience, fit
        self.errors = []

    def build_forecaster(self, params):
        """Return an untrained forecaster with these parameters, whose values Optuna has as text."""
        optimizer = keras.optimizers.Adam(params["learning_rate"], clipnorm=1.0)
        values = {
            name: next(value for value in values if repr(value) == params[name])
            for name, values in self.space.items()
        }
        return self.build(optimizer=optimizer, **values)

    def run_trial(self, trial, frame):
        """Return the smallest validation loss of a trial; prune it if its sizes are invalid."""
        params = {"learning_rate": trial.suggest_float("learning_rate", *LEARNING_RATE, log=True)}
        for name, values in self.space.items():
            params[name] = trial.suggest_categorical(name, list(map(repr, values)))
        candidate = self.build_forecaster(params)
        config = candidate.config
        size = config.context_length, config.prediction_length, 1
        try:
            registry.build(config.architecture, *size, size=config.size, **config.hyperparameters)
        except ValueError as error:  # for example if num_heads does not divide d_model
            self._prune(trial, error)
        stop = keras.callbacks.EarlyStopping(patience=self.patience)
        try:
            self.fit(candidate, frame, callbacks=[stop, _PruningCallback(trial, self.optuna)])
        except DivergedError as error:
            self._prune(trial, error)
        return min(candidate.history.history["val_loss"])

    def _prune(self, trial, error):
        warn_user(f"trial {trial.number} failed: {error}")
        self.errors.append(error)
        raise self.optuna.TrialPruned from None


class _PruningCallback(keras.callbacks.Callback):
    """Callback that reports the validation loss of each epoch and stops pruned trials."""

    def __init__(self, trial, optuna):
        super().__init__()
        self.trial = trial
        self.optuna = optuna

    def on_epoch_end(self, epoch, logs=None):
        self.trial.report(np.inf if logs is None else logs["val_loss"], epoch)
        if self.trial.should_prune():
            raise self.optuna.TrialPruned
