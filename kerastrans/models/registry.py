"""The registry of architectures: what there is, where it comes from, how to build it.

An architecture is one file of this folder, `<name>.py`, with three things in it: the literal
`ARCHITECTURE` (what the registry says of it), the literal `SEARCH_SPACE` (which hyperparameters
are worth a search; a model without weights has none) and the function `build_<name>_model`. They
are read from the source: to list and describe architectures, nothing is imported.
"""

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerastrans.models.architecture import OPTIONS, Architecture, read
from kerastrans.models.parts.contract import check_contract
from kerastrans.utils.deprecation import warn_former_name
from kerastrans.utils.types import CovariateSizes, HeadOrName, ModelOrName
from kerastrans.utils.validation import suggest

if TYPE_CHECKING:
    import keras

__all__ = ["Architecture", "build", "check_contract", "check_hyperparameters", "info", "names"]

FAMILIES = ("baseline", "linear", "mlp", "attention", "convolution", "recurrent")
_FOLDER = Path(__file__).parent
# Two names of one architecture: `build_transformer_model` is the lesson's, which is another model.
_FORMER_NAMES = {"transformer": "direct_transformer"}


def names(tag: str | None = None) -> list[str]:
    """Names of the architectures: baselines first, each family by year.

    Args:
        tag: one of the tags of `Architecture`, for those that have it; None for all.

    Raises:
        ValueError: An unknown tag; the nearest known one is suggested.

    Example:
        >>> names("recurrent")
        ['tft', 'lstm_seq2seq', 'deepar', 'segrnn']
    """
    architectures = _architectures()
    if tag is None:
        return list(architectures)
    tags = sorted({tag for architecture in architectures.values() for tag in architecture.tags})
    if tag not in tags:
        raise ValueError(f"unknown tag {tag!r}: {suggest(tag, tags)}")
    return [name for name, architecture in architectures.items() if tag in architecture.tags]


def info(name: str) -> Architecture:
    """The `Architecture` of this name.

    Raises:
        ValueError: An unknown name; the nearest known one is suggested.

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
    """Build an architecture by its name, or by a builder of your own.

    Args:
        name: one of `names()`; or a function `(context_length, prediction_length, num_channels,
            **hyperparameters)` that returns a Keras model, see `check_contract`.
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        head: what is forecast: None for points, or a head of `kerastrans.heads` or its name.
        covariates: dict of "past", "future", "static": for each column 0 if it holds numbers, or
            how many categories there are. An architecture that has no place for them gets them
            by `kerastrans.regress`.
        **hyperparameters: of the builder; see `info(name).defaults`.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`, with a last axis for the parameters of a head;
        where `info(name).inputs` has more than "history", or with covariates, its input is a dict.

    Raises:
        ValueError: An unknown name or hyperparameter.
        ValueError: A value that the builder refuses, such as a size below 1 or too large.
        ValueError: A head for a builder that takes none.
        ValueError: Your builder's model does not keep the contract.

    Example:
        >>> model = build("dlinear", 24, 12, 3, moving_average=7)
        >>> model.output_shape
        (None, 12, 3)
    """
    from kerastrans import heads  # Keras is imported to build, not to list
    from kerastrans.models.parts import regression as covariate_models

    check_hyperparameters(name, hyperparameters)
    parameters = _parameters(name)
    if "head" in parameters:
        hyperparameters["head"] = head
    elif not isinstance(heads.get(head), heads.PointHead):
        lack = "argument 'head'" if callable(name) else "weights to learn a head"
        raise ValueError(f"{_title(name)} has no {lack}: put conformal intervals around it.")
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
        name: as in `build`: a name or a builder.
        hyperparameters: iterable of names.

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
    """Names of the arguments that a builder takes after the three sizes."""
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
    """Every `Architecture` by its name, in the order of `names`."""
    entries = filter(None, map(read, _FOLDER.glob("*.py")))
    in_order = sorted(entries, key=lambda x: (FAMILIES.index(x.tags[0]), x.year, x.name))
    return {architecture.name: architecture for architecture in in_order}
