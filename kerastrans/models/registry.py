"""The registry of architectures: list, describe and build them by name.

An architecture is a file `<name>.py` of this folder with three parts: the literal `ARCHITECTURE`
(its registry entry), the literal `SEARCH_SPACE` (hyperparameters worth a search; a model without
weights has none) and the function `build_<name>_model`. The entries are read from the source, so
that architectures can be listed and described without importing them.
"""

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerastrans.models.architecture import OPTIONS, Architecture, read_architecture
from kerastrans.models.parts.contract import check_contract
from kerastrans.utils.deprecation import warn_former_name
from kerastrans.utils.types import CovariateSizes, HeadOrName, ModelOrName
from kerastrans.utils.validation import suggest

if TYPE_CHECKING:
    import keras

__all__ = ["Architecture", "build", "check_contract", "check_hyperparameters", "info", "names"]

FAMILIES = ("baseline", "linear", "mlp", "attention", "convolution", "recurrent")
_FOLDER = Path(__file__).parent
# "transformer" is a former name. `build_transformer_model` is the lesson's, a different model.
_FORMER_NAMES = {"transformer": "direct_transformer"}


def names(tag: str | None = None) -> list[str]:
    """Return the names of the architectures: baselines first, each family by year.

    Args:
        tag: Tag that the architectures must have, see `Architecture`; None for all architectures.

    Raises:
        ValueError: If `tag` is unknown; the nearest known one is suggested.

    Example:
        >>> names("recurrent")
        ['tft', 'lstm_seq2seq', 'deepar', 'mamba', 'segrnn']
    """
    architectures = _architectures()
    if tag is None:
        return list(architectures)
    tags = sorted({tag for architecture in architectures.values() for tag in architecture.tags})
    if tag not in tags:
        raise ValueError(f"unknown tag {tag!r}: {suggest(tag, tags)}")
    return [name for name, architecture in architectures.items() if tag in architecture.tags]


def info(name: str) -> Architecture:
    """Return the `Architecture` of this name.

    Raises:
        ValueError: If `name` is unknown; the nearest known one is suggested.

    Example:
        >>> info("patchtst").summary
        'Transformer over patches'
    """
    architectures = _architectures()
    if name in _FORMER_NAMES:
        former, name = name, _FORMER_NAMES[name]
        warn_former_name("architecture", former, name, since="0.2", until="0.4")
    if name not in architectures:
        raise ValueError(f"unknown model {name!r}: {suggest(name, architectures)}")
    return architectures[name]


def build(
    name: ModelOrName,
    /,
    context_length: int,
    prediction_length: int,
    num_channels: int,
    *,
    head: HeadOrName | None = None,
    covariates: CovariateSizes | None = None,
    **hyperparameters: Any,
) -> "keras.Model":
    """Build an architecture by its name, or by a custom builder.

    Args:
        name: Name of an architecture, see `names`; or a function `(context_length,
            prediction_length, num_channels, **hyperparameters)` that returns a Keras model, see
            `check_contract`.
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        head: None for point forecasts, or a head of `kerastrans.heads` or its name.
        covariates: Dict of "past", "future", "static": for each column 0 if it holds numbers,
            otherwise the number of categories. If the architecture does not take covariates, they
            are added by `kerastrans.regress`.
        **hyperparameters: Hyperparameters of the builder, see `info(name).defaults`.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`, with a last axis for the parameters of a head.
        If `info(name).inputs` has more than "history", or with covariates, its input is a dict.

    Raises:
        ValueError: If the name or a hyperparameter is unknown.
        ValueError: If the builder refuses a value, such as a size below 1 or too large.
        ValueError: If a head is given and the builder does not take one.
        ValueError: If the model of a custom builder does not keep the contract.

    Example:
        >>> model = build("dlinear", 24, 12, 3, moving_average=7)
        >>> model.output_shape
        (None, 12, 3)
    """
    # Imported here because they load Keras, which listing architectures does not need.
    from kerastrans import heads
    from kerastrans.models.parts import regression as covariate_models

    check_hyperparameters(name, hyperparameters)
    parameters = _parameters(name)
    if "head" in parameters:
        hyperparameters["head"] = head
    elif not isinstance(heads.get(head), heads.PointHead):
        missing = "argument 'head'" if callable(name) else "weights to learn a head"
        raise ValueError(f"{_title(name)} has no {missing}: put conformal intervals around it.")
    native = covariates and "covariates" in parameters
    if native:
        hyperparameters["covariates"] = covariates
    builder = name if callable(name) else info(name).builder
    model = builder(context_length, prediction_length, num_channels, **hyperparameters)
    if callable(name):
        kinds = covariates if native else ()
        check_contract(model, context_length, prediction_length, num_channels, covariates=kinds)
    return covariate_models.regress(model, covariates) if covariates and not native else model


def check_hyperparameters(name, hyperparameters):
    """Raise ValueError for an unknown architecture, or a hyperparameter that it does not have.

    Args:
        name: Name of an architecture or a builder, as in `build`.
        hyperparameters: Iterable of names.

    Example:
        >>> check_hyperparameters("dlinear", {"moving_averag": 7})
        Traceback (most recent call last):
            ...
        ValueError: dlinear has no hyperparameter 'moving_averag': did you mean 'moving_average'? \
known are moving_average, individual, name, head, covariates.
    """
    parameters = [parameter for parameter in _parameters(name) if parameter not in OPTIONS]
    for hyperparameter in hyperparameters:
        if hyperparameter not in parameters:
            hint = suggest(hyperparameter, [*parameters, *OPTIONS])
            raise ValueError(f"{_title(name)} has no hyperparameter {hyperparameter!r}: {hint}")


def _title(name):
    return getattr(name, "__name__", name)


def _parameters(name):
    """Return the names of the arguments that a builder takes after the three sizes."""
    if not callable(name):
        return list(info(name).parameters)
    parameters = list(inspect.signature(name).parameters)
    if len(parameters) < 3:
        raise ValueError(
            f"{_title(name)} must take context_length, prediction_length and num_channels, got "
            f"({', '.join(parameters)})."
        )
    return parameters[3:]


@functools.cache
def _architectures():
    """Return a dict of name -> `Architecture`, in the order of `names`."""
    entries = filter(None, map(read_architecture, _FOLDER.glob("*.py")))
    in_order = sorted(entries, key=lambda x: (FAMILIES.index(x.tags[0]), x.year, x.name))
    return {architecture.name: architecture for architecture in in_order}
