"""Recipe of a training, which a forecaster keeps, and the calls of `fit` that have followed one."""

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TypedDict

import numpy as np

from kerastrans.data.sampling import SAMPLINGS
from kerastrans.utils.peer_words import answer
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_choice, check_positive_integers

_REPLACED = {
    "validation_split": "validation_size, the last steps of each series",
    "validation_data": "validation, a frame",
    "learning_rate": "Forecaster(..., optimizer=keras.optimizers.Adam(learning_rate))",
    "shuffle": "seed: windows are always shuffled",
    "x": "a frame",
    "y": "a frame",
    "loss": "Forecaster(..., loss=...)",
    "optimizer": "Forecaster(..., optimizer=...)",
    "initial_epoch": "checkpoint, which continues a training that was interrupted",
    "sample_weight": 'sampling="series" or "scale", which draw some windows more often',
    "class_weight": "Forecaster(..., loss=...), since targets have no classes",
}
_COUNTS = (int, int | None)  # types of the fields that are numbers of something


@dataclass(frozen=True, kw_only=True)
class Training:
    """Recipe of a training, which a `kerastrans.Forecaster` keeps and `fit` follows.

    Args:
        epochs: int, number of epochs; by default training stops early. The end of each series is
            held out, or some of many short series, see `training.defaults.choose_hold_out`. If the
            loss there has not improved for 3 to 10 epochs of at most 250 steps, the best weights
            are restored and the learning rate is reduced. After the third time, or 100 epochs,
            training stops, and the spread of the forecast is scaled so that its intervals cover
            what they say on the hold-out set, see `training.spread.solve_spread`. Finally the model
            is trained on the hold-out set too, for a tenth of the steps, at most 500, at the last
            learning rate; its forecasts there keep their spread. Rows of `validation` and
            `validation_size` are never trained on. With a given optimizer, the learning rate is not
            changed: training stops the first time, and not on the hold-out set.
            With `epochs`, nothing is held out unless `validation` or `validation_size` is given, on
            which the spread is then measured as well. Without such rows, or with too few, `fit`
            warns that intervals are often too narrow.
        batch_size: int, number of windows in a training step.
        stride: int, number of steps from one training window to the next.
        sampling: "windows" to train on each window once per epoch; "series" to draw windows so that
            all series are equally likely; "scale" to draw them with probability proportional to the
            mean absolute value of their series, see `kerastrans.data.sampling`.
        window_sampling_limit: int, number of last steps of each series in which the forecasts of
            training windows begin; they may reach beyond the end, where steps do not count in the
            loss. None for all steps.
        validation_size: int, number of last steps of each series that are held out for `val_loss`.
        time_limit: float, seconds that `fit` takes at most if `epochs` is not given; None for no
            limit. An epoch ends early if the measured time of a step leaves no more than the
            validation, the spread and the final steps need. A limit that is shorter than compiling
            and one step is exceeded by these, and little time is left for the spread, which is then
            measured on fewer forecasts; "auto" is kerastrans-zero 2, untrained, instead. A warning
            says if the limit was exceeded by more than a tenth, and how long the compilation took,
            and if it ended the training of another model within the first epoch.
        restore_published: bool, whether published weights are restored unless the quantile loss of
            held-out windows is lower after the training, by more than its standard error. The
            windows are those that early stopping monitors, also if `epochs` is given. One line says
            which weights were kept; `fine_tuning` has the figures. The model "auto" is replaced by
            kerastrans-zero 2, without training, or by the average of both, by the rule of
            `training.comparison.Comparison.decide`. The trained model is kept if this is False, if
            another field than `time_limit` differs from its default, or if `fit` gets a
            `validation` frame, callbacks, a checkpoint or `distribute`.
        steps_per_epoch: int, number of training steps in an epoch; by default all windows, at most
            250 steps if training stops early.
        validation_steps: int, number of batches of the validation; by default all.
        validation_freq: int, number of epochs from one validation to the next, with `epochs`.
        validation_batch_size: int, number of windows in a batch of the validation.

    Raises:
        ValueError: If a field has a wrong type or value.

    Example:
        >>> import kerastrans
        >>> recipe = kerastrans.Training(epochs=1, stride=2)
        >>> forecaster = kerastrans.Forecaster("nlinear", 24, 12, training=recipe)
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> forecaster.fit(frame, batch_size=16, verbose=0).fitted.fits[0].training
        Training(epochs=1, batch_size=16, stride=2)
    """

    epochs: int | None = None
    batch_size: int = 32
    stride: int = 1
    sampling: str = "windows"
    window_sampling_limit: int | None = None
    validation_size: int | None = None
    time_limit: float | None = 900
    restore_published: bool = True
    steps_per_epoch: int | None = None
    validation_steps: int | None = None
    validation_freq: int = 1
    validation_batch_size: int | None = None

    def __post_init__(self):
        check_choice("sampling", self.sampling, SAMPLINGS)
        check_choice("restore_published", self.restore_published, (False, True))
        limit = self.time_limit
        is_number = isinstance(limit, Real) and not isinstance(limit, bool)
        if limit is not None and not (is_number and limit > 0):
            raise ValueError(f"time_limit must be seconds above 0 or None, got {limit!r}.")
        counts = {x.name: getattr(self, x.name) for x in fields(self) if x.type in _COUNTS}
        counts = {name: value for name, value in counts.items() if value is not None}
        may_be_0 = ("epochs", "validation_size")
        check_positive_integers(
            **{name: x for name, x in counts.items() if not (name in may_be_0 and x == 0)}
        )
        # Files have the numbers of Python, not those of NumPy.
        found = {name: int(value) for name, value in counts.items()}
        for name in ("time_limit", "restore_published"):
            if isinstance(value := getattr(self, name), np.generic):
                found[name] = value.item()
        for name, value in found.items():
            object.__setattr__(self, name, value)
        if self.epochs is None and self.validation_freq != 1:
            raise ValueError(
                f"validation_freq={self.validation_freq!r} and epochs=None cannot be combined: "
                "early stopping monitors every epoch. Give epochs."
            )

    def __repr__(self):
        changed = [f"{name}={getattr(self, name)!r}" for name in self.changes]
        return f"Training({', '.join(changed)})"

    @property
    def changes(self):
        """Dict of the fields that differ from their defaults."""
        pairs = [(x, getattr(self, x.name)) for x in fields(self)]
        return {x.name: value for x, value in pairs if value != x.default}

    @property
    def says_how(self):
        """True if a field says how to train, so that "auto" keeps the model that it trains."""
        return bool(self.changes.keys() - {"time_limit"})

    def check_horizon(self, prediction_length):
        """Raise ValueError for a hold-out set that holds no whole forecast."""
        if self.validation_size and self.validation_size < prediction_length:
            raise ValueError(
                f"validation_size={self.validation_size} holds no whole forecast of "
                f"prediction_length={prediction_length} steps: give at least that many."
            )


class TrainingChanges(TypedDict, total=False):
    """Fields of `Training` as arguments of `fit`, written by `python -m tools.checks.stubs`."""

    epochs: int | None
    batch_size: int
    stride: int
    sampling: str
    window_sampling_limit: int | None
    validation_size: int | None
    time_limit: float | None
    restore_published: bool
    steps_per_epoch: int | None
    validation_steps: int | None
    validation_freq: int
    validation_batch_size: int | None


@dataclass(frozen=True)
class FitCall:
    """A call of `Forecaster.fit`.

    Attributes:
        training: `Training` that it followed.
        is_new: bool, whether it trained new weights; otherwise it trained a model further, or
            nothing.
        extras: Tuple of what it had besides, which is not kept: "callbacks", "a validation frame".
    """

    training: Training
    is_new: bool
    extras: tuple = ()

    @classmethod
    def from_dict(cls, stored):
        """Return the call that `dataclasses.asdict` converted."""
        return cls(Training(**stored["training"]), stored["is_new"], tuple(stored["extras"]))


def resolve_training(training, changes, arguments):
    """Return a `Training` with other values of some fields.

    Args:
        training: `Training`.
        changes: Dict of field -> value.
        arguments: Names of the arguments of `fit`, for the message about an unknown one.

    Raises:
        ValueError: If a value is invalid, or an argument of Keras has another name here.
        TypeError: If a field is unknown.
    """
    known = [x.name for x in fields(Training)]
    for name in sorted(changes.keys() - set(known)):
        if name in _REPLACED:
            raise ValueError(f"fit takes no {name!r}: use {_REPLACED[name]}.")
        raise TypeError(
            f"fit has no argument {name!r}: {answer(name, sorted({*arguments, *known}))}"
        )
    return replace(training, **changes)


def training_of(config, state):
    """Return the `Training` that made the model from new weights, to make it again.

    Args:
        config: `Config` that was given.
        state: `FittedState`, or None.
    """
    new = [call for call in state.fits if call.is_new] if state else []
    return new[0].training if new else config.training


def warn_not_repeated(state):
    """Warn of what a training from new weights leaves out: later calls of `fit`, and callbacks.

    Args:
        state: `FittedState`, or None.
    """
    # A model without weights learns nothing that could be repeated.
    calls = state.fits if state and state.model.trainable_weights else ()
    first = next((i for i, call in enumerate(calls) if call.is_new), -1)
    extras = " and ".join(calls[first].extras) if first >= 0 else ""
    if extras:
        warn_user(f"the model is trained again without {extras}, which fit does not keep.")
    further = [call.training for call in calls[first + 1 :] if call.training.epochs != 0]
    if further:
        lengths = ", ".join(_length_of(x) for x in further)
        fits = "further fit" if len(further) == 1 else "further fits"
        warn_user(f"not repeated: {len(further)} {fits} of {lengths}.")


def _length_of(training):
    """Return how long a training was, in words."""
    if training.epochs is None:
        return "epochs until the loss stopped improving"
    return f"{training.epochs} epoch{'s' if training.epochs > 1 else ''}"
