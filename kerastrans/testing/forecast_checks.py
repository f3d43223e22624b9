"""Checks of what a model forecasts, whatever its weights."""

import tempfile
from pathlib import Path

import keras
import numpy as np

from kerastrans import heads
from kerastrans.testing.cases import BATCH, assert_close, precision
from kerastrans.testing.reports import NotApplicable

INPUTS = {"history", "position", "past_covariates", "future_covariates", "static_covariates"}


def check_contract(case):
    """The model is functional, and its shapes are those of the contract."""
    _check_shapes(case, case.model, case.sizes)


def _check_shapes(case, model, sizes):
    if not isinstance(model, keras.Function):
        raise AssertionError(
            f"{type(model).__name__} is not functional: build it as keras.Model(inputs, outputs)"
        )
    inputs = {symbol.name: symbol.shape for symbol in model.inputs}
    context_length, prediction_length, num_channels = sizes.values()
    expected = (None, context_length, num_channels)
    history = inputs[case.history_name]
    if len(history) == 3 and history != expected:
        raise AssertionError(f"the history has shape {history}, expected {expected}")
    if case.is_autoregressive:
        return
    size = heads.of(model).size
    expected = (None, prediction_length, num_channels) + ((size,) if size > 1 else ())
    if model.output_shape[: len(expected)] != expected:
        raise AssertionError(f"the output has shape {model.output_shape}, expected {expected}")


def check_other_sizes(case):
    """Another context, horizon and number of channels give a model of these sizes."""
    context_length, prediction_length, num_channels = case.sizes.values()
    sizes = {
        "context_length": context_length + 1,
        "prediction_length": prediction_length // 2 + 1,
        "num_channels": 2 if num_channels == 1 else 1,
    }
    _check_shapes(case, case.build(**sizes), sizes)


def check_invalid_sizes(case):
    """A size that is no integer of at least 1 is refused by name."""
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
    """The inputs have names that the forecaster can fill, or those that the registry lists."""
    names = [symbol.name for symbol in case.model.inputs]
    if case.input_names is not None:
        expected = list(case.input_names)
        if case.is_autoregressive:
            names = names[:-1]
        if names[: len(expected)] != expected:
            raise AssertionError(f"the inputs are {names}, the registry lists {expected}")
        names = names[len(expected) :]
    elif case.is_autoregressive:
        raise NotApplicable("the inputs of an autoregressive model are given by position")
    elif len(names) == 1:
        return
    unknown = sorted(set(names) - INPUTS)
    if unknown:
        raise AssertionError(f"unknown inputs {unknown}, known are {sorted(INPUTS)}")


def check_finite(case):
    """The forecasts are finite, and float32."""
    outputs = case.outputs(case.inputs())
    if outputs.dtype != keras.config.floatx():
        raise AssertionError(f"the output is {outputs.dtype}, expected {keras.config.floatx()}")
    if not np.isfinite(outputs).all():
        raise AssertionError(f"{np.mean(~np.isfinite(outputs)):.0%} of the output is not finite")


def check_batch(case):
    """A window's forecast does not depend on the other windows of the batch."""
    inputs, others = case.inputs(), case.inputs(seed=9)
    for name, array in others.items():
        array[0] = inputs[name][0]
    assert_close(case.outputs(others)[0], case.outputs(inputs)[0], 2e-5, "a window's forecast")


def check_causality(case):
    """A later decoder input changes no earlier output."""
    if not case.is_autoregressive:
        raise NotApplicable("the model returns the whole horizon at once")
    inputs = case.inputs()
    name = case.model.inputs[-1].name
    known = inputs[name].shape[1] // 2
    changed = {**inputs, name: inputs[name].copy()}
    later = changed[name][:, known:]
    later[...] = 4 - later if later.dtype.kind in "iu" else 1e6
    before, after = case.outputs(inputs), case.outputs(changed)
    assert_close(after[:, :known], before[:, :known], 1e-5, "an output before the change")


def check_padding(case):
    """What follows a sequence's valid length changes nothing."""
    lengths = [x.name for x in case.model.inputs if x.name.endswith("lengths")]
    if not lengths:
        raise NotApplicable("no input holds valid lengths")
    inputs = case.inputs()
    name = lengths[0].removesuffix("_lengths")
    changed = {**inputs, name: inputs[name].copy()}
    for row, length in zip(changed[name], inputs[lengths[0]], strict=True):
        row[length:] = 4 - row[length:]
    assert_close(case.outputs(changed), case.outputs(inputs), 1e-5, "the output")


def check_channels(case):
    """Channels are mixed just where the model is said to mix them."""
    case.require_numbers()
    if case.mixes_channels is None:
        raise NotApplicable("mixes_channels was not given")
    if case.sizes["num_channels"] == 1:
        raise NotApplicable("there is one channel")
    if case.is_autoregressive:
        raise NotApplicable("the decoder input is a second way for a channel to enter")
    inputs = case.inputs()
    changed = {name: array.copy() for name, array in inputs.items()}
    history = changed[case.history_name]
    history[:, :, 0] += np.random.default_rng(5).standard_normal(history.shape[:2])
    before, after = case.forecast(inputs), case.forecast(changed)
    differences = np.abs(after - before).max(axis=(0, 1)) / np.abs(before).max()
    if not differences[0] > 1e-4:
        raise AssertionError("a channel's forecast does not depend on the channel")
    if (differences[1:].max() > 1e-6) != case.mixes_channels:
        verb = "does not change" if case.mixes_channels else "changes"
        raise AssertionError(
            f"mixes_channels={case.mixes_channels}, but one channel {verb} the others' forecasts"
        )


def check_equivariance(case):
    """A window that is shifted or scaled has the shifted or scaled forecast, where claimed."""
    case.require_numbers()
    if case.equivariance is None:
        raise NotApplicable("equivariance was not given")
    inputs = case.inputs()
    before = case.forecast(inputs)
    size = np.abs(before).max()
    numbers = {case.history_name}
    if case.is_autoregressive:
        numbers.add(case.model.inputs[-1].name)

    def change(function):
        return case.forecast({k: function(v) if k in numbers else v for k, v in inputs.items()})

    shift, scale = np.float32(7.0), np.float32(40.0)
    shifted = np.abs(change(lambda x: x + shift) - before - shift).max() / size
    scaled = np.abs(change(lambda x: x * scale) / scale - before).max() / size
    claims_shift = case.equivariance in ("shift", "affine")
    if (shifted < 2e-3) != claims_shift:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but shifting the window by {shift} moves the "
            f"forecast by {shift} up to {shifted:.0e} of its size"
        )
    if case.equivariance in ("scale", "affine") and not scaled < 2e-3:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but scaling the window scales the forecast up "
            f"to {scaled:.0e} of its size"
        )


def check_seed(case):
    """The same seed gives the same weights, and two calls the same forecast."""
    inputs = case.inputs()
    if not np.array_equal(case.outputs(inputs), case.outputs(inputs)):
        raise AssertionError("two calls on the same inputs return different forecasts")
    first, second = case.build(seed=3), case.build(seed=3)
    for one, other in zip(first.weights, second.weights, strict=True):
        if not np.array_equal(one.numpy(), other.numpy()):
            raise AssertionError(f"{one.path} differs between two models of one seed")


def check_reload(case):
    """A model file, read in safe mode, forecasts the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        case.model.save(path)
        loaded = keras.saving.load_model(path, safe_mode=True)
    inputs = case.inputs()
    assert_close(case.outputs(inputs, loaded), case.outputs(inputs), 1e-6, "the loaded forecast")


def check_float16(case):
    """In mixed float16 the forecast is float32, finite and near that of float32."""
    _check_mixed(case, "mixed_float16", 0.02)


def check_bfloat16(case):
    """In mixed bfloat16 the forecast is float32, finite and near that of float32."""
    _check_mixed(case, "mixed_bfloat16", 0.1)


def _check_mixed(case, policy, tolerance):
    case.require_numbers()
    with precision(policy):
        model = case.rebuild()
        inputs = case.inputs(BATCH)
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
    """The forecast is within rounding of that of the same model in float64."""
    if keras.backend.standardize_dtype(keras.ops.ones((), "float64").dtype) != "float64":
        raise NotApplicable(f"{keras.backend.backend()} has no float64 here")
    case.require_numbers()
    with precision("float64", "float64"):
        model = case.rebuild()
        actual = case.forecast(case.inputs(), model)
    assert_close(case.forecast(case.inputs()), actual, 2e-6, "the forecast in float32")
