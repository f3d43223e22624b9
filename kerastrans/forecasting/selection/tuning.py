"""Hyperparameters by search: Optuna over the space that each architecture declares."""

import functools

import keras
import numpy as np

from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.training.loop import DivergedError
from kerastrans.models import registry
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
    """Search an architecture's hyperparameters and the learning rate by the validation loss.

    Every trial is trained on all but the last `validation_size` steps of each series, with early
    stopping on those; trials that fall behind the median are cut short. The test rows should not
    be in `frame`.

    Args:
        name: of an architecture, see `kerastrans.zoo.names`.
        frame: as `Forecaster.fit` takes it.
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        validation_size: int, last steps of each series that judge.
        trials: int.
        space: dict of hyperparameter -> tuple of values; `zoo.info(name).search_space` by default.
        static: as `Forecaster.fit` takes it.
        epochs: int, at most, of every trial.
        patience: int, epochs without a better loss that end a trial.
        batch_size: int, windows in a training step.
        stride: int, steps from one training window to the next.
        seed: int, of the search and the trials.
        storage: where Optuna keeps the trials, such as "sqlite:///trials.db": the search goes on
            there. None for memory.
        **options: of `Forecaster`: head, scaler, covariates ...

    Returns:
        `(study, forecaster)`: Optuna's study, whose `best_params` are the choice, as text, and a
        forecaster with them, not yet trained.

    Raises:
        ImportError: the extra `tune` is not installed.
        ValueError: an unknown name or hyperparameter; what `Forecaster` refuses.
    """
    optuna = import_extra("optuna", "tune", "tune")
    check_positive_integers(trials=trials, validation_size=validation_size)
    space = registry.info(name).search_space if space is None else space
    registry.check_hyperparameters(name, space)
    make = functools.partial(
        Forecaster, name, context_length, prediction_length, seed=seed, **options
    )
    training = {
        "static": static,
        "validation_size": validation_size,
        "epochs": epochs,
        "batch_size": batch_size,
        "stride": stride,
        "verbose": 0,
    }
    search = _Search(optuna, make, space, patience, functools.partial(Forecaster.fit, **training))
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2),
        storage=storage,
        study_name=f"{name}-{context_length}-{prediction_length}",
        load_if_exists=True,
    )
    study.optimize(functools.partial(search.judge, frame=frame), n_trials=trials)
    left_out = search.left_out
    if left_out and len(left_out) == len(study.trials):
        raise ValueError(f"all {len(left_out)} trials were left out, the last one: {left_out[-1]}")
    return study, search.forecaster(study.best_params)


class _Search:
    """The trials of one search.

    Args:
        optuna: the module.
        make: function of hyperparameters and `optimizer` that returns a forecaster.
        space: dict of hyperparameter -> tuple of values.
        patience: int, epochs without a better loss that end a trial.
        fit: function of a forecaster, a frame and `callbacks`.
    """

    def __init__(self, optuna, make, space, patience, fit):
        self.optuna, self.make, self.space = optuna, make, space
        self.patience, self.fit = patience, fit
        self.left_out = []

    def forecaster(self, chosen):
        """The forecaster of some parameters, values by their text: Optuna stores no tuples."""
        optimizer = keras.optimizers.Adam(chosen["learning_rate"], clipnorm=1.0)
        values = {
            name: next(value for value in values if repr(value) == chosen[name])
            for name, values in self.space.items()
        }
        return self.make(optimizer=optimizer, **values)

    def judge(self, trial, frame):
        """The least validation loss of a trial; it is pruned where the sizes do not go together."""
        chosen = {"learning_rate": trial.suggest_float("learning_rate", *LEARNING_RATE, log=True)}
        for name, values in self.space.items():
            chosen[name] = trial.suggest_categorical(name, list(map(repr, values)))
        candidate = self.forecaster(chosen)
        config = candidate.config
        size = config.context_length, config.prediction_length, 1
        try:
            registry.build(config.architecture, *size, **config.hyperparameters)
        except ValueError as error:  # such as heads that do not divide the width
            self._leave_out(trial, error)
        stop = keras.callbacks.EarlyStopping(patience=self.patience)
        try:
            self.fit(candidate, frame, callbacks=[stop, _Prune(trial, self.optuna)])
        except DivergedError as error:
            self._leave_out(trial, error)
        return min(candidate.history.history["val_loss"])

    def _leave_out(self, trial, error):
        warn_user(f"trial {trial.number} is left out: {error}")
        self.left_out.append(error)
        raise self.optuna.TrialPruned from None


class _Prune(keras.callbacks.Callback):
    """Reports each epoch's validation loss, and ends a trial that Optuna gives up."""

    def __init__(self, trial, optuna):
        super().__init__()
        self.trial = trial
        self.optuna = optuna

    def on_epoch_end(self, epoch, logs=None):
        self.trial.report(np.inf if logs is None else logs["val_loss"], epoch)
        if self.trial.should_prune():
            raise self.optuna.TrialPruned
