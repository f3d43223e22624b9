"""Validated, immutable constructor arguments of a Forecaster."""

import copy
import difflib
import inspect
import math
from dataclasses import dataclass, field, fields

import keras

from kerastrans import heads
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.missing import FILLS
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input
from kerastrans.forecasting.inference.losses import check_loss
from kerastrans.forecasting.inference.recipe import Training
from kerastrans.heads.bounded import check_bounds
from kerastrans.models import registry
from kerastrans.models.parts.checks import SIZES
from kerastrans.models.parts.contract import check_contract
from kerastrans.utils.peer_words import PEER_WORDS
from kerastrans.utils.validation import (
    check_choice,
    check_column_names,
    check_positive_integers,
    check_seed,
)

SHORT = ("pad", "refuse")
SETTINGS = ("context_length", "prediction_length", "head", "scaler", "past", "future", "seed")
AUTO = "auto"  # the model that `fit` chooses, see `kerastrans.forecasting.training.defaults`
_OTHER_PLACES = {
    **{word: name for word, name in PEER_WORDS.items() if name in SETTINGS},
    "stat_exog_list": "fit(frame, static=...)",
    "n_epochs": "fit(frame, epochs=...)",
    "max_steps": "fit(frame, epochs=...) or fit(frame, time_limit=...)",
    "level": "predict(frame, levels=[80]), and calibrate for a model of points",
    "levels": "predict(frame, levels=[80]), and calibrate for a model of points",
    "freq": "fit(frame, freq=...)",
    "learning_rate": "optimizer=keras.optimizers.Adam(learning_rate)",
    "lr": "optimizer=keras.optimizers.Adam(learning_rate)",
    "epochs": "fit(frame, epochs=...)",
    "batch_size": "fit(frame, batch_size=...)",
    "metrics": "backtest and kerastrans.backtesting.score",
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Arguments of a `kerastrans.Forecaster`, see there.

    Attributes:
        model: Name of an architecture, a Keras model, or a function that builds one.
        size: Name of a size of the architecture, or None for its defaults.
        hyperparameters: Dict of hyperparameters of the architecture.

    Raises:
        ValueError: If a name or option is unknown, a size is below 1, or options cannot be
            combined.
    """

    model: object
    context_length: int | None
    prediction_length: int
    head: object = None
    loss: object = None
    optimizer: object = "adam"
    scaler: WindowScaler = field(default_factory=WindowScaler)
    fill: str | None = None
    past: tuple = ()
    future: tuple = ()
    calendar: bool | None = None
    short: str = "pad"
    num_samples: int = 100
    seed: int = 0
    alias: str | None = None
    bounds: tuple | None = None
    size: object = None
    training: Training = field(default_factory=Training)
    hyperparameters: dict = field(default_factory=dict)

    def __post_init__(self):
        self._check_names()
        object.__setattr__(self, "model", _as_functional(self.model))
        if self.prediction_length is None and self.is_built and len(self.model.output_shape) > 2:
            object.__setattr__(self, "prediction_length", self.model.output_shape[1])
        check_positive_integers(
            prediction_length=self.prediction_length, num_samples=self.num_samples
        )
        check_seed(self.seed)
        if not isinstance(self.training, Training):
            raise ValueError(f"training must be a kerastrans.Training, got {self.training!r}.")
        self.training.check_horizon(self.prediction_length)
        if self.context_length is None and self.is_built:
            object.__setattr__(self, "context_length", history_input(self.model).shape[1])
        if self.context_length is not None:
            check_positive_integers(context_length=self.context_length)
        for name in ("context_length", "prediction_length", "num_samples", "seed"):
            value = getattr(self, name)
            object.__setattr__(self, name, value if value is None else int(value))
        object.__setattr__(self, "bounds", check_bounds(self.bounds))
        check_choice("short", self.short, SHORT)
        check_choice("fill", self.fill, FILLS)
        check_choice("calendar", self.calendar, (None, False, True))
        if not isinstance(self.scaler, WindowScaler):
            object.__setattr__(self, "scaler", WindowScaler(self.scaler))
        for kind in ("past", "future"):
            check_column_names(**{kind: getattr(self, kind)})
            object.__setattr__(self, kind, tuple(getattr(self, kind)))
        for name in ("loss", "optimizer", "alias"):
            if isinstance(value := getattr(self, name), dict):
                raise ValueError(f"{name}={value} is neither a name nor an object.")
        frozen = {name: _frozen(value) for name, value in self.hyperparameters.items()}
        object.__setattr__(self, "hyperparameters", frozen)
        self._check_columns()
        self._check_scaler()
        self._check_model()
        check_loss(self)

    @property
    def limits(self):
        """Names of the columns that bound the series."""
        return tuple(bound for bound in self.bounds or () if isinstance(bound, str))

    def bounds_in(self, panel, rows):
        """Return the lower and the upper bound in these rows of a panel.

        Args:
            panel: `Panel` of frames with the columns of the bounds.
            rows: Ints `(...)`.

        Returns:
            For each bound None, a number, or an array `(..., 1)` of the values of its column.
        """
        return tuple(
            panel.limits[rows][..., [self.limits.index(bound)]] if isinstance(bound, str) else bound
            for bound in self.bounds or (None, None)
        )

    @property
    def is_built(self):
        """Whether the model was given as a Keras model."""
        return isinstance(self.model, keras.Model)

    @property
    def architecture(self):
        """Name of the architecture; None for a custom model."""
        return self.model if isinstance(self.model, str) else None

    @property
    def mixes_channels(self):
        """True if the forecast of a channel may depend on others, as in any custom model."""
        return self.architecture is None or registry.info(self.architecture).mixes_channels

    @property
    def name(self):
        """Name of the forecast column."""
        if self.alias is not None:
            return self.alias
        return self.architecture or getattr(self.model, "name", None) or self.model.__name__

    @property
    def builder_arguments(self):
        """Names of the arguments of the function that builds the model."""
        if self.model == AUTO:
            return (*SIZES, "head")
        builder = registry.info(self.model).builder if self.architecture else self.model
        return tuple(inspect.signature(builder).parameters)

    @property
    def resolved_head(self):
        """Head of the model, or the head to build it with."""
        if self.is_built:
            return heads.of(self.model)
        if self.head is None:
            if "head" not in self.builder_arguments:
                return heads.get("point")
            known = self.architecture in registry.names()
            return heads.get(registry.info(self.architecture).head if known else "quantiles")
        return heads.get(self.head)

    def _check_columns(self):
        reserved = {ID, TIME, TARGET} & {*self.past, *self.future, *self.limits}
        if reserved:
            raise ValueError(
                f"{sorted(reserved)} cannot be covariates or bounds: they hold the series."
            )
        both = sorted(set(self.past) & set(self.future))
        if both:
            raise ValueError(f"{both} cannot be both past and future covariates.")

    def _check_scaler(self):
        context_length = self.context_length or math.inf
        if self.scaler.kind == "mase" and self.scaler.season >= context_length:
            raise ValueError(
                f"scaler 'mase' needs a season below context_length={self.context_length}, got "
                f"season={self.scaler.season}."
            )
        head = self.resolved_head if self.is_built or self.head is not None else None
        if head is not None and not head.takes_scaled_windows and not self.scaler.is_identity:
            raise ValueError(
                f"{type(head).__name__} and scaler={self.scaler.kind!r} cannot be combined: counts "
                "are forecast without scaling, give scaler=None."
            )

    def _check_names(self):
        """Raise ValueError for a hyperparameter that is an argument of another name or method."""
        has_builder = callable(self.model) or (isinstance(self.model, str) and self.model != AUTO)
        known = self.builder_arguments if has_builder and not self.is_built else ()
        moved = sorted(set(self.hyperparameters) & set(_OTHER_PLACES) - set(known))
        if moved:
            raise ValueError(
                f"{moved[0]!r} is not an argument of Forecaster: use {_OTHER_PLACES[moved[0]]}."
            )
        arguments = [x.name for x in fields(self)]
        for name in sorted(set(self.hyperparameters) - set(known)):
            near = difflib.get_close_matches(name, [*known, *arguments], n=1, cutoff=0.85)
            if near and near[0] in arguments:
                raise ValueError(
                    f"{name!r} is not an argument of Forecaster: did you mean {near[0]!r}?"
                )

    def _check_model(self):
        if self.is_built:
            if self.head is not None:
                raise ValueError("head and a Keras model cannot be combined: the model has a head.")
            if self._sizing:
                names = sorted(self._sizing)
                raise ValueError(f"a Keras model takes no hyperparameters, got {names}.")
            # Static covariates are given to `fit`, which fills an input for them.
            names = [tensor.name for tensor in getattr(self.model, "inputs", None) or ()]
            kinds = {"past": self.past, "future": self.future or self.calendar}
            kinds["static"] = "static_covariates" in names
            kinds = [kind for kind, columns in kinds.items() if columns]
            sizes = self.context_length, self.prediction_length
            check_contract(self.model, *sizes, covariates=kinds)
        elif self.model == AUTO:
            if self._sizing:
                raise ValueError(f"model='auto' takes no {sorted(self._sizing)}: name a model.")
        elif isinstance(self.model, str):
            self._check_sizing()
            points = isinstance(self.resolved_head, heads.PointHead)
            if "head" not in self.builder_arguments and not points:
                raise ValueError(f"{self.model} cannot be trained: use head='point' and calibrate.")
        elif callable(self.model) and not isinstance(self.model, type):
            first = self.builder_arguments[:3]
            if first != SIZES:
                raise ValueError(
                    f"a builder takes {', '.join(SIZES)} first, {self.model.__name__} takes "
                    f"{', '.join(first)}."
                )
            self._check_sizing()
        else:
            raise ValueError(
                "model must be the name of an architecture, a Keras model or a builder function, "
                f"got {self.model!r}."
            )

    @property
    def _sizing(self):
        """Names of the arguments that only a builder takes and that were given."""
        return [*self.hyperparameters, *(["size"] if self.size is not None else [])]

    def _check_sizing(self):
        registry.check_hyperparameters(self.model, self.hyperparameters)
        if self.size is not None:
            registry.check_size(self.model, self.size)

    def changed(self, **fields):
        """Return a copy with other values, which are not checked again."""
        copied = copy.copy(self)
        for name, value in fields.items():
            object.__setattr__(copied, name, value)
        return copied

    def with_published(self, model, name, calendar=None):
        """Return the config of "auto" with a model of published weights and their settings.

        Args:
            model: Keras model.
            name: str, alias if none was given.
            calendar: bool, whether the model reads the calendar.
        """
        return self.changed(
            model=model,
            context_length=history_input(model).shape[1],
            scaler=WindowScaler(None),
            optimizer=fine_tuning_optimizer(),
            calendar=calendar,
            alias=self.alias or name,
        )

    def arguments(self):
        """Return the constructor arguments as a dict, including the hyperparameters."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return named | named.pop("hyperparameters")


def fine_tuning_optimizer():
    """Return a new optimizer that trains published weights by default."""
    return keras.optimizers.Adam(1e-4, clipnorm=1.0)


def _frozen(value):
    """Return lists as tuples, as they are read from a file."""
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _with_one_output(model):
    """Return a functional model whose output is a tensor, compiled as the given model is."""
    functional = keras.Model(model.inputs, model.outputs[0], name=model.name)
    if model.compiled:
        functional.compile(model.optimizer, model.loss)
    return functional


def _as_functional(model):
    """Return a model as a functional one with one output, not a list of it; they share weights.

    Raises:
        ValueError: If it has no input shape, or any model has an output that is not of rank 3 or 4.
    """
    if isinstance(model, keras.Sequential):
        if not model.built:
            raise ValueError(
                f"the Sequential model {model.name!r} has no input shape: begin it with "
                "keras.Input((context_length, num_channels))."
            )
        model = _with_one_output(model)
    elif isinstance(getattr(model, "output", None), list | tuple) and len(model.outputs) == 1:
        model = _with_one_output(model)
    if isinstance(model, keras.Model) and len(getattr(model, "output_shape", (0,) * 3)) < 3:
        steps = model.output_shape[-1]
        raise ValueError(
            f"the output of a model must be (batch, prediction_length, num_channels), got "
            f"{model.output_shape}: end it with keras.layers.Reshape(({steps}, 1))."
        )
    return model
