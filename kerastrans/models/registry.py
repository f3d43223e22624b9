"""The registry of architectures: list, describe and build them by name.

An architecture is a file `<name>.py` of this folder with three parts: a docstring with its title,
the paper and the URLs of the paper and of the published code, the literal `ARCHITECTURE` (its
registry entry) and the function `build_<name>_model`. The entries are read from the source, so that
architectures can be listed and described without importing them; without sources, such as in an
archive, from the modules. The folder `settings` has the sizes of the authors' scripts, and in
`search_spaces.json` the hyperparameters that are worth a search.
"""

import fnmatch
import functools
import inspect
import pkgutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerastrans.models.architecture import (
    COMPARISON,
    TIERS,
    Architecture,
    read_architecture,
)
from kerastrans.models.parts.contract import OPTIONS, check_contract
from kerastrans.utils.types import CovariateSizes, HeadOrName, ModelOrName
from kerastrans.utils.validation import check_choice, check_positive_integers, suggest

if TYPE_CHECKING:
    import keras

__all__ = ["Architecture", "build", "check_contract", "check_hyperparameters", "info", "names"]

FAMILIES = ("baseline", "linear", "mlp", "attention", "convolution", "recurrent")
_FOLDER = str(Path(__file__).parent)  # which may be in an archive


def names(
    tag: str | Sequence[str] | None = None,
    *,
    pattern: str | None = None,
    tier: str | None = None,
    license: str | None = None,
    max_parameters: int | None = None,
    size: str | None = None,
    context_length: int = 96,
    prediction_length: int = 96,
    num_channels: int = 7,
) -> list[str]:
    """Return the names of the architectures: baselines first, each family by year.

    Args:
        tag: Tag, or list of tags, that the architectures must have, see `Architecture`; None for
            all architectures.
        pattern: Pattern of the names, such as "*former", where `*` stands for any text.
        tier: "start with" for the eight to try first, "classics" for those that papers compare
            with, or "for comparison" for the others.
        license: License of the published code, such as "MIT", see `Architecture`.
        max_parameters: int, largest number of weights at the sizes below. Each architecture is
            built to count them, which takes seconds; those that cannot be built are left out.
        size: Named size that the architectures must have, such as "etth1_96", see
            `Architecture.sizes`; the weights are counted at this size, "laptop" by default.
        context_length: int, number of steps of the history, for `max_parameters`.
        prediction_length: int, number of steps to forecast, for `max_parameters`.
        num_channels: int, number of values at each step, for `max_parameters`.

    Raises:
        ValueError: If a tag is unknown, or the pattern fits no name; the nearest known one is
            suggested.
        ValueError: If `tag` or `pattern` is of another type.
        ValueError: If no architecture has the tier, the license, or the named size.
        ValueError: If `max_parameters`, or a size beside it, is below 1.

    Example:
        >>> names("recurrent")
        ['tft', 'lstm_seq2seq', 'deepar', 'mamba', 'segrnn', 'xlstm_mixer']
        >>> names(["attention", "future covariates"], pattern="*transformer")
        ['time_series_transformer', 'decoder_transformer']
        >>> names("linear", tier="start with")
        ['nlinear']
    """
    if tag is not None and not isinstance(tag, Iterable):
        raise ValueError(f"tag must be a tag such as 'linear', or a list of tags, got {tag!r}.")
    if pattern is not None and not isinstance(pattern, str):
        raise ValueError(f"pattern must be text such as '*former', got {pattern!r}.")
    architectures = _architectures()
    known = sorted({tag for architecture in architectures.values() for tag in architecture.tags})
    tags = [tag] if isinstance(tag, str) else list(tag or ())
    for each in tags:
        if each not in known:
            raise ValueError(f"unknown tag {each!r}: {suggest(each, known)}")
    found = list(architectures)
    if pattern is not None:
        found = fnmatch.filter(found, pattern)
        if not found:
            raise ValueError(
                f"no architecture fits the pattern {pattern!r}: {suggest(pattern, architectures)}"
            )
    found = [name for name in found if set(tags) <= set(architectures[name].tags)]
    if tier is not None:
        check_choice("tier", tier, (*TIERS, COMPARISON))
        found = [name for name in found if architectures[name].tier == tier]
    if license is not None:
        licenses = sorted({entry.license for entry in architectures.values()} - {""})
        check_choice("license", license, tuple(licenses))
        found = [name for name in found if architectures[name].license == license]
    if size is not None:
        sizes = list(dict.fromkeys(x for entry in architectures.values() for x in entry.sizes))
        if size not in sizes:
            raise ValueError(f"no architecture has the size {size!r}: {suggest(size, sizes)}")
        found = [name for name in found if size in architectures[name].sizes]
    if max_parameters is None:
        return found
    lengths = {
        "context_length": context_length,
        "prediction_length": prediction_length,
        "num_channels": num_channels,
    }
    check_positive_integers(max_parameters=max_parameters, **lengths)
    return [name for name in found if _count_or_inf(name, size, lengths) <= max_parameters]


def info(name: str) -> Architecture:
    """Return the `Architecture` of this name.

    Raises:
        ValueError: If `name` is unknown; the nearest known one is suggested.

    Example:
        >>> info("patchtst").summary
        'Transformer over patches'
    """
    architectures = _architectures()
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
    size: str | None = None,
    include_top: bool = True,
    pooling: str | None = None,
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
        size: Name of a size of the architecture, one of `info(name).sizes`: "laptop" (the
            default), "paper", or that of the authors' script for a data set and a number of steps,
            such as "etth1_96". Hyperparameters that are given replace its values. A custom builder
            gets it as a hyperparameter.
        include_top: bool, whether the model ends in a forecast; otherwise it ends in features,
            what the last layer before the forecast reads.
        pooling: How features are pooled over the tokens of each channel if `include_top` is False:
            None for no pooling, "avg" for their mean, "max" for their maximum, "last" for the last
            token.
        **hyperparameters: Hyperparameters of the builder, see `info(name).defaults`.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`, with a last axis for the parameters of a head.
        If `info(name).inputs` has more than "history", or with covariates, its input is a dict.
        With `include_top=False` its output is `(batch, channels * tokens, features)`, channels
        outermost, or `(batch, channels * features)` with a pooling, see
        `Architecture.feature_shape`.
        Save it as `.keras`: Keras writes its `.h5` file, but cannot load it.

    Raises:
        ValueError: If the name, the size or a hyperparameter is unknown.
        ValueError: If the builder refuses a value, such as a size below 1 or too large.
        ValueError: If a head is given and the builder does not take one.
        ValueError: If `include_top` is False and the architecture has no features, the builder is a
            custom one, or a head is given; or `pooling` is given and `include_top` is True.
        ValueError: If the model of a custom builder does not keep the contract.

    Example:
        >>> model = build("dlinear", 24, 12, 3, moving_average=7)
        >>> model.output_shape
        (None, 12, 3)
        >>> build("softs", 96, 96, 7, size="etth1_96").count_params()
        510816
        >>> build("patchtst", 96, 24, 7, include_top=False, pooling="avg").output_shape
        (None, 112)
    """
    # Imported here because they load Keras, which listing architectures does not need.
    from kerastrans import heads
    from kerastrans.models.parts import regression as covariate_models
    from kerastrans.models.parts.features import check_top

    check_top(
        _title(name), "" if callable(name) else info(name).features, include_top, pooling, head
    )
    if size is not None:
        check_size(name, size)
        sized = {"size": size} if callable(name) else info(name).sizes[size]
        hyperparameters = {**sized, **hyperparameters}
    check_hyperparameters(name, hyperparameters)
    parameters = _parameters(name)
    if "head" in parameters:
        hyperparameters["head"] = head
    elif not isinstance(heads.get(head), heads.PointHead):
        missing = "argument 'head'" if callable(name) else "weights to learn a head"
        raise ValueError(f"{_title(name)} has no {missing}: put conformal intervals around it.")
    covariates = {kind: sizes for kind, sizes in (covariates or {}).items() if sizes}
    native = covariates and "covariates" in parameters
    if native:
        hyperparameters["covariates"] = covariates
    builder = name if callable(name) else info(name).builder
    if not include_top:
        if covariates and not native:
            raise ValueError(f"{_title(name)} has no features of covariates: leave them out.")
        hyperparameters |= {"include_top": False, "pooling": pooling}
    model = builder(context_length, prediction_length, num_channels, **hyperparameters)
    if callable(name):
        kinds = covariates if native else ()
        check_contract(model, context_length, prediction_length, num_channels, covariates=kinds)
    if not covariates or native:
        return model
    return covariate_models.regress(model, covariates)


def check_hyperparameters(name, hyperparameters):
    """Raise ValueError for an unknown architecture, or a hyperparameter that it does not have.

    Args:
        name: Name of an architecture or a builder, as in `build`.
        hyperparameters: Iterable of names; any for a builder with `**hyperparameters`.

    Example:
        >>> check_hyperparameters("dlinear", {"moving_averag": 7})
        Traceback (most recent call last):
            ...
        ValueError: dlinear has no hyperparameter 'moving_averag': did you mean 'moving_average'? \
known are moving_average, individual, name, head, covariates.
    """
    parameters = [parameter for parameter in _parameters(name) if parameter not in OPTIONS]
    for hyperparameter in hyperparameters:
        if hyperparameter not in parameters and not takes_any(name):
            hint = suggest(hyperparameter, [*parameters, *OPTIONS])
            raise ValueError(f"{_title(name)} has no hyperparameter {hyperparameter!r}: {hint}")


def check_size(name, size):
    """Raise ValueError for a size that an architecture does not have.

    Args:
        name: Name of an architecture or a builder, as in `build`.
        size: Name of a size, or the value that a builder gets as its hyperparameter "size".

    Example:
        >>> check_size("softs", "etth1_69")
        Traceback (most recent call last):
            ...
        ValueError: softs has no size 'etth1_69': did you mean 'etth1_96'? known are laptop, \
paper, etth1_96, etth1_192, etth1_336, etth1_720.
    """
    if callable(name):
        check_hyperparameters(name, ["size"])
    elif size not in (sizes := list(info(name).sizes)):
        raise ValueError(f"{name} has no size {size!r}: {suggest(size, sizes)}")


def _count_or_inf(name, size, lengths):
    """Return the number of weights at a named size, infinity if the lengths do not fit."""
    entry = info(name)
    try:
        return entry.count_params(**lengths, **entry.sizes[size or "laptop"])
    except ValueError:
        return float("inf")


def _title(name):
    return getattr(name, "__name__", name)


def _parameters(name):
    """Return the names of the arguments that a builder takes after the three sizes."""
    if not callable(name):
        return list(info(name).parameters)
    parameters = inspect.signature(name).parameters
    if len(parameters) < 3:
        raise ValueError(
            f"{_title(name)} must take context_length, prediction_length and num_channels, got "
            f"({', '.join(parameters)})."
        )
    named = list(parameters)[3:]
    if takes_any(name):
        named.remove(next(reversed(parameters)))
    return named


def takes_any(name):
    """Return whether a builder takes hyperparameters of any name, by `**hyperparameters`."""
    if not callable(name):
        return False
    kinds = [x.kind for x in inspect.signature(name).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


@functools.cache
def _architectures():
    """Return a dict of name -> `Architecture`, in the order of `names`."""
    modules = [x.name for x in pkgutil.iter_modules([_FOLDER]) if not x.ispkg]
    entries = filter(None, map(read_architecture, modules))
    in_order = sorted(entries, key=lambda x: (FAMILIES.index(x.tags[0]), x.year, x.name))
    return {architecture.name: architecture for architecture in in_order}
