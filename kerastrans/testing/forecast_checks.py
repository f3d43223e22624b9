"""Checks of a model's forecasts that hold for any weights."""

import keras
import numpy as np

from kerastrans.decoding.graph import takes_missing
from kerastrans.testing.cases import assert_close
from kerastrans.testing.reports import NotApplicable

SHIFT, SCALE = np.float32(7.0), np.float32(40.0)


def check_finite(case):
    """Check that the forecasts are finite and in the default float type."""
    outputs = case.outputs(case.inputs())
    if outputs.dtype != keras.config.floatx():
        raise AssertionError(f"the output is {outputs.dtype}, expected {keras.config.floatx()}")
    if not np.isfinite(outputs).all():
        raise AssertionError(f"{np.mean(~np.isfinite(outputs)):.0%} of the output is not finite")


def check_batch_independence(case):
    """Check that a window's forecast does not depend on the other windows of the batch."""
    inputs = case.inputs()
    expected = case.outputs(inputs)
    for row in (0, -1):
        others = case.inputs(seed=9)
        for name, array in others.items():
            array[row] = inputs[name][row]
        assert_close(case.outputs(others)[row], expected[row], 2e-5, "a window's forecast")


def check_causality(case):
    """Check that a decoder input does not change earlier outputs."""
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
    """Check that values after a sequence's valid length do not change the output."""
    lengths = [x.name for x in case.model.inputs if x.name.endswith("lengths")]
    if not lengths:
        raise NotApplicable("no input contains valid lengths")
    inputs = case.inputs()
    name = lengths[0].removesuffix("_lengths")
    changed = {**inputs, name: inputs[name].copy()}
    for row, length in zip(changed[name], inputs[lengths[0]], strict=True):
        row[length:] = 4 - row[length:]
    assert_close(case.outputs(changed), case.outputs(inputs), 1e-5, "the output")


def check_channels(case):
    """Check that channels depend on each other if and only if this is claimed."""
    case.require_numbers()
    if case.mixes_channels is None:
        raise NotApplicable("mixes_channels was not given")
    if case.sizes["num_channels"] == 1:
        raise NotApplicable("the model has a single channel")
    if case.is_autoregressive:
        raise NotApplicable("channels also enter through the decoder input")
    inputs = case.inputs()
    before, mixes = case.forecast(inputs), False
    for channel in (0, case.sizes["num_channels"] - 1):
        history = inputs[case.history_name].copy()
        history[:, :, channel] += np.random.default_rng(5).standard_normal(history.shape[:2])
        after = case.forecast({**inputs, case.history_name: history})
        differences = np.abs(after - before).max(axis=(0, 1)) / np.abs(before).max()
        if not differences[channel] > 1e-4:
            raise AssertionError("a channel's forecast does not depend on that channel")
        mixes |= np.delete(differences, channel).max() > 1e-6
    if mixes != case.mixes_channels:
        verb = "does not change" if case.mixes_channels else "changes"
        raise AssertionError(
            f"mixes_channels={case.mixes_channels}, but one channel {verb} the others' forecasts"
        )


def check_equivariance(case):
    """Check that shifting or scaling a window does the same to its forecast, if claimed."""
    case.require_numbers()
    if case.equivariance is None:
        raise NotApplicable("equivariance was not given")
    shifted, scaled = _changes(case, case.inputs())
    claims_shift = case.equivariance in ("shift", "affine")
    if (shifted < 2e-3) != claims_shift:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but if the window is shifted by {SHIFT}, the "
            f"forecast differs from the shifted one by {shifted:.0e} of its size"
        )
    if case.equivariance in ("scale", "affine") and not scaled < 2e-3:
        raise AssertionError(
            f"equivariance={case.equivariance!r}, but if the window is scaled, the forecast "
            f"differs from the scaled one by {scaled:.0e} of its size"
        )


def check_missing_values(case):
    """Check that a history with missing values has a finite and equally equivariant forecast.

    The first steps are missing, as at the beginning of a series, and some others.
    """
    case.require_numbers()
    if not takes_missing(case.model):
        raise NotApplicable("the model does not accept NaN for missing values and receives 0")
    inputs = case.inputs()
    history = inputs[case.history_name] = inputs[case.history_name].copy()
    history[0, : history.shape[1] // 2] = np.nan
    history[1, 1::3] = history[2:, -1] = np.nan
    outputs = case.outputs(inputs)
    if not np.isfinite(outputs).all():
        raise AssertionError(f"{np.mean(~np.isfinite(outputs)):.0%} of the output is not finite")
    shifted, scaled = _changes(case, inputs)
    if case.equivariance in ("shift", "affine") and not shifted < 2e-3:
        raise AssertionError("with missing values, shifting the window does not shift the output")
    if case.equivariance in ("scale", "affine") and not scaled < 2e-3:
        raise AssertionError("with missing values, scaling the window does not scale the output")


def _changes(case, inputs):
    """Return the relative errors of the forecasts of a shifted and of a scaled window."""
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
