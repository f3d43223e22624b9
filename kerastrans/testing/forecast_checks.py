"""Checks of what a model forecasts, whatever its weights."""

import keras
import numpy as np

from kerastrans.decoding.graph import takes_missing
from kerastrans.testing.cases import assert_close
from kerastrans.testing.reports import NotApplicable

SHIFT, SCALE = np.float32(7.0), np.float32(40.0)


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
    shifted, scaled = _changes(case, case.inputs())
    claims_shift = case.equivariance in ("shift", "affine")
    if (shifted < 2e-3) != claims_shift:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but shifting the window by {SHIFT} moves the "
            f"forecast by {SHIFT} up to {shifted:.0e} of its size"
        )
    if case.equivariance in ("scale", "affine") and not scaled < 2e-3:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but scaling the window scales the forecast up "
            f"to {scaled:.0e} of its size"
        )


def check_missing(case):
    """A history with missing values has a finite forecast, as equivariant as that of a whole one.

    Its first steps are missing, as before a short series, and some others.
    """
    case.require_numbers()
    if not takes_missing(case.model):
        raise NotApplicable("the model takes no NaN for a missing value: it is given 0")
    inputs = case.inputs()
    history = inputs[case.history_name] = inputs[case.history_name].copy()
    history[0, : history.shape[1] // 2] = np.nan
    history[1, 1::3] = history[2:, -1] = np.nan
    outputs = case.outputs(inputs)
    if not np.isfinite(outputs).all():
        raise AssertionError(f"{np.mean(~np.isfinite(outputs)):.0%} of the output is not finite")
    shifted, scaled = _changes(case, inputs)
    if case.equivariance in ("shift", "affine") and not shifted < 2e-3:
        raise AssertionError("with missing values, a shift of the window is not that of the output")
    if case.equivariance in ("scale", "affine") and not scaled < 2e-3:
        raise AssertionError("with missing values, the window's scale is not that of the output")


def _changes(case, inputs):
    """How far a shifted and a scaled window are from shifting and scaling the forecast."""
    before = case.forecast(inputs)
    size = np.abs(before).max()
    numbers = {case.history_name}
    if case.is_autoregressive:
        numbers.add(case.model.inputs[-1].name)

    def change(function):
        return case.forecast({k: function(v) if k in numbers else v for k, v in inputs.items()})

    shifted = np.abs(change(lambda x: x + SHIFT) - before - SHIFT).max() / size
    scaled = np.abs(change(lambda x: x * SCALE) / SCALE - before).max() / size
    return shifted, scaled
