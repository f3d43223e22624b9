"""Checks of how a model is built, saved and loaded: sizes, seeds, files and precisions."""

import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np

from kerastrans.decoding.graph import history_input
from kerastrans.models import registry
from kerastrans.testing.cases import assert_close, precision
from kerastrans.testing.reports import NotApplicable


def check_contract(case):
    """Check that the model is functional, with the inputs and the output of the contract."""
    _check_contract(case.model, case.sizes)


def _check_contract(model, sizes):
    """Check the contract of the registry, unless the model reads tokens."""
    if not isinstance(model, keras.Function) or "int" not in history_input(model).dtype:
        registry.check_contract(model, **sizes)


def check_other_sizes(case):
    """Check that other sizes are respected: context, horizon and number of channels."""
    context_length, prediction_length, num_channels = case.sizes.values()
    sizes = {
        "context_length": context_length + 1,
        "prediction_length": prediction_length // 2 + 1,
        "num_channels": 2 if num_channels == 1 else 1,
    }
    _check_contract(case.build(**sizes), sizes)


def check_invalid_sizes(case):
    """Check that a size that is not an integer of at least 1 is refused by name."""
    for argument in case.sizes:
        for value in (0, -1, 2.5):
            try:
                case.build(**{argument: value})
            except ValueError as error:
                if argument not in str(error):
                    message = f"the ValueError for {argument}={value} does not name {argument}"
                    raise AssertionError(message) from None
            else:
                raise AssertionError(f"{argument}={value} is accepted")


def check_input_names(case):
    """Check that the inputs are those listed in the registry, except for covariates."""
    if case.input_names is None:
        raise NotApplicable("the model is not in the registry")
    names = [symbol.name for symbol in case.model.inputs]
    names = [name for name in names if not name.endswith("_covariates")]
    if names[: len(case.input_names)] != list(case.input_names):
        raise AssertionError(f"the inputs are {names}, the registry lists {case.input_names}")


def check_seed(case):
    """Check that a seed determines the weights, and that two calls return the same forecast."""
    inputs = case.inputs()
    if not np.array_equal(case.outputs(inputs), case.outputs(inputs)):
        raise AssertionError("two calls on the same inputs return different forecasts")
    first, second = case.build(seed=3), case.build(seed=3)
    for one, other in zip(first.weights, second.weights, strict=True):
        if not np.array_equal(one.numpy(), other.numpy()):
            raise AssertionError(f"{one.path} differs between two models with the same seed")


def check_reload(case):
    """Check that a model returns the same forecast after saving and loading in safe mode."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        case.model.save(path)
        loaded = keras.saving.load_model(path, safe_mode=True)
    inputs = case.inputs()
    assert_close(case.outputs(inputs, loaded), case.outputs(inputs), 1e-6, "the loaded forecast")


def check_mixed_float16(case):
    """Check that in mixed float16 the forecast is float32, finite and close to that in float32."""
    _check_mixed(case, "mixed_float16", 0.02)


def check_mixed_bfloat16(case):
    """Check that in mixed bfloat16 the forecast is float32, finite and close to float32's."""
    _check_mixed(case, "mixed_bfloat16", 0.1)


def _check_mixed(case, policy, tolerance):
    """Check the forecast in a mixed dtype policy; the tolerance is relative to its RMS."""
    case.require_numbers()
    with precision(policy):
        model = case.rebuild()
        inputs = case.inputs()
        inputs[case.history_name] = inputs[case.history_name] * 3
        outputs = case.outputs(inputs, model)
        if outputs.dtype != "float32":
            raise AssertionError(f"under {policy} the output is {outputs.dtype}, not float32")
        if not np.isfinite(outputs).all():
            raise AssertionError(f"under {policy} the output is not finite")
        actual = case.forecast(inputs, model)
    expected = case.forecast(inputs)
    error = np.sqrt(np.mean((actual - expected) ** 2) / np.mean(expected**2))
    if not error < tolerance:
        raise AssertionError(f"under {policy} the error is {error:.0e}, {tolerance} is allowed")


def check_float64(case):
    """Check that the forecast equals that of the same model in float64, except for rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns if it has no float64, which is tested below
        exact = keras.ops.ones((), "float64")
    if keras.backend.standardize_dtype(exact.dtype) != "float64":
        raise NotApplicable(f"{keras.backend.backend()} has no float64 here")
    case.require_numbers()
    with precision("float64", "float64"):
        model = case.rebuild()
        actual = case.forecast(case.inputs(), model)
    assert_close(case.forecast(case.inputs()), actual, 2e-6, "the forecast in float32")
