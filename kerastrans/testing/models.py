"""The contract of a model, as a tool: for the architectures of the zoo and for your own."""

from kerastrans.testing import build_checks, forecast_checks, training_checks
from kerastrans.testing.cases import ModelCase, generators_kept
from kerastrans.testing.reports import run_checks
from kerastrans.utils.validation import check_choice, check_positive_integers

CHECKS = {
    "contract": build_checks.check_contract,
    "other sizes": build_checks.check_other_sizes,
    "invalid sizes": build_checks.check_invalid_sizes,
    "input names": build_checks.check_input_names,
    "finite": forecast_checks.check_finite,
    "batch independence": forecast_checks.check_batch,
    "causality": forecast_checks.check_causality,
    "padding": forecast_checks.check_padding,
    "channels": forecast_checks.check_channels,
    "equivariance": forecast_checks.check_equivariance,
    "missing values": forecast_checks.check_missing,
    "seed": build_checks.check_seed,
    "reload": build_checks.check_reload,
    "mixed float16": build_checks.check_float16,
    "mixed bfloat16": build_checks.check_bfloat16,
    "float64": build_checks.check_float64,
    "decoding": training_checks.check_decoding,
    "training": training_checks.check_training,
    "same training": training_checks.check_same_training,
    "export": training_checks.check_export,
}


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
    **hyperparameters,
):
    """Check that a model keeps the contract of the zoo, and report what holds and what does not.

    Every check runs, whatever the others find. Where a head has several parameters, its point
    forecast is checked.

    Args:
        build: what to check: the name of an architecture, a function `build(context_length=...,
            prediction_length=..., num_channels=..., **hyperparameters)` that returns a functional
            Keras model, or such a model. A model that is built is not changed, and the checks
            that build it anew do not apply to it.
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        equivariance: what the model promises when a window is shifted or scaled: "", "shift",
            "scale" or "affine"; None to leave it open. An architecture's own is in the registry.
        mixes_channels: bool, whether a channel's forecast depends on other channels; None to
            leave it open. An architecture's own is in the registry.
        export: bool, whether to write and read a SavedModel too, which takes seconds.
        skip: names of checks to leave out, as the report shows them.
        **hyperparameters: of `build`.

    Returns:
        A `CheckReport`.

    Raises:
        ValueError: a size below 1.
        ValueError: an unknown architecture, hyperparameter, equivariance or check.

    Example:
        >>> from kerastrans.testing import check_model
        >>> report = check_model("last_value", 8, 4, 2)
        >>> report["equivariance"].status
        'passed'
        >>> report.raise_for_failures()
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
    with generators_kept():
        return run_checks(subject, CHECKS, case, skip if export else {*skip, "export"})
