"""Contract checks of a model, for architectures of the zoo and custom models."""

from kerastrans.testing import build_checks, forecast_checks, training_checks
from kerastrans.testing.cases import ModelCase, keep_generators
from kerastrans.testing.reports import checks_of, not_exported, run_checks
from kerastrans.utils.validation import check_choice, check_positive_integers

CHECKS = checks_of(build_checks, forecast_checks, training_checks)


def check_model(
    build,
    context_length=24,
    prediction_length=12,
    num_channels=3,
    *,
    equivariance=None,
    mixes_channels=None,
    export=False,
    skip=(),
    raise_failures=True,
    **hyperparameters,
):
    """Check that a model keeps the contract of the zoo, and raise an error if it does not.

    Every check runs, even if others fail. For a head with several parameters the point forecast is
    checked.

    Args:
        build: Name of an architecture; function `build(context_length=..., prediction_length=...,
            num_channels=..., **hyperparameters)` that returns a functional Keras model; or such a
            model. A given model is not changed, and checks that build a new one do not apply.
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        equivariance: Claimed effect of shifting or scaling a window: "", "shift", "scale" or
            "affine"; None for no claim. For an architecture it is read from the registry.
        mixes_channels: bool, whether a channel's forecast depends on other channels; None for no
            claim. For an architecture it is read from the registry.
        export: bool, whether to write and read a SavedModel too, which takes seconds.
        skip: Names of the checks to skip, as shown in the report.
        raise_failures: bool, whether to raise an error if a check fails; with False the report is
            returned in any case.
        **hyperparameters: Hyperparameters of the model.

    Returns:
        A `CheckReport`; `print` shows it as a table.

    Raises:
        AssertionError: If a check fails; the message lists all failures with their reasons.
        ValueError: If a size is below 1.
        ValueError: If an architecture, hyperparameter, equivariance or check is unknown.

    Example:
        >>> from kerastrans.testing import check_model
        >>> report = check_model("last_value", 8, 4, 2)
        >>> report["equivariance"].status
        'passed'
    """
    sizes = {
        "context_length": context_length,
        "prediction_length": prediction_length,
        "num_channels": num_channels,
    }
    check_positive_integers(**sizes)
    check_choice("equivariance", equivariance, (None, "", "shift", "scale", "affine"))
    case = ModelCase(build, sizes, hyperparameters, equivariance, mixes_channels)
    subject = build if isinstance(build, str) else getattr(build, "__name__", None) or build.name
    with keep_generators():
        report = run_checks(subject, CHECKS, case, not_exported(skip, export))
    if raise_failures:
        report.raise_for_failures()
    return report
