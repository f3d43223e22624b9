"""The parts that the median forecast of kerastrans-zero is the sum of."""

import functools

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.decoding.graph import inputs_of
from kerastrans.layers import LagChanges, OctaveLags, SamePhase
from kerastrans.models.pretrained.zero.moves import move_of
from kerastrans.models.pretrained.zero.network import (
    WINDOWS,
    average_recent,
    choose,
    continue_slopes,
    fit_slopes,
    mean_error,
    naive_errors,
)
from kerastrans.models.pretrained.zero.port import add_effects, effects_of, network_of, phases_of
from kerastrans.models.pretrained.zero.windows import forecast_windows, normalized, since_window
from kerastrans.utils.compilation import compile_inference
from kerastrans.utils.keras_internals import calls

__all__ = ["WINDOWS", "explain_windows", "move_of", "network_of", "phases_of"]


def explain_windows(model):
    """Return a compiled function of histories `(batch, context_length)`, NaN where missing.

    With covariates, it takes the other inputs of the model, too. The function returns the parts of
    the median forecast, in the units of the histories, as NumPy arrays:

    - only with covariates: the history without their effects `(batch, time)`, and the effects ahead
      `(batch, prediction_length, covariates)`, past covariates first;
    - mean of each window `(batch, prediction_length)`,
    - lags `(batch, prediction_length, octaves)`, in steps,
    - places `(batch, prediction_length, octaves, cycles)` of past values, 0 for the last step and
      -1 for the one before,
    - shares of these values, of the same shape; what their sum lacks to 1 is the share of the mean,
    - corrections by recent changes `(batch, prediction_length, octaves)`,
    - by slopes of the last `WINDOWS` steps `(batch, prediction_length, len(WINDOWS))`,
    - and by a learnt offset `(batch, prediction_length)`;
    - only with a season: the weight of the forecast of a phase `(batch, prediction_length)`, and
      the same seven arrays for the series of the phase, whose slopes are those of `WINDOWS` cycles;
    - only with a `Move`: how far it moves the forecast `(batch, prediction_length)`.

    Args:
        model: Model of `KerastransZero.build`, also after it was trained or read from a file.
    """
    network, phases = network_of(model), phases_of(model)
    prediction_length = model.output_shape[1]
    symbol, *others = inputs_of(model)
    history = keras.Input(symbol.shape[1:2], name="history")
    known = {x.name: keras.Input(x.shape[1:], name=x.name) for x in others}
    outputs, rest, effects = [], history, None
    if known:
        recent = since_window(network, {"history": history, **known})
        rest, *effects = effects_of(model)(recent.pop("history"), **recent)
        outputs = [rest, effects[0]]
    outputs += _parts_of(network, rest, prediction_length)
    if phases is not None:
        series, weight = phases.split(rest)
        found = _parts_of(phases.of_phases, series, phases.num_cycles_ahead)
        mean, lags, places, *shares = (phases.in_order(x) for x in found)
        # Of the last cycle, the first step is that of the first phase.
        first = np.arange(prediction_length) % phases.num_phases - phases.season + 1
        first = first.astype(standardize_dtype(places.dtype))[None, :, None, None]
        places = ops.subtract(places * phases.season, -first)  # see `SamePhase.places`
        outputs += [weight, mean, lags * phases.season, places, *shares]
    move = move_of(model)
    if move is not None:
        forecast = phases or functools.partial(
            forecast_windows, network, prediction_length=prediction_length
        )
        x = forecast(rest)
        if effects and move.reads_covariates:
            x = add_effects(x, move.levels, *effects)
            outputs.append(move.find(history, x, **known)[0])
        else:
            outputs.append(move.find(rest, x)[0])
    return compile_inference(keras.Model([history, *known.values()], outputs))


def _parts_of(network, history, steps):
    """Return the seven arrays of `explain_windows`, those of one forecast of histories."""
    inputs, location, scale = normalized(history, network.inputs[0].shape[1], steps)
    _, lags, places, shares, changes, slopes, offset = build_parts(network)(inputs)
    mean = location + ops.zeros_like(offset)
    lags = lags[:, None] + ops.zeros_like(places[..., 0], dtype=lags.dtype)
    corrections = [changes * scale[:, None], slopes * scale[:, None], offset * scale]
    return [mean, lags, places, shares, *corrections]


def build_parts(network):
    """Return a model of the same inputs as the network that returns its forecast and the parts.

    Its outputs are quantiles, lags, places, shares, changes, slopes and offset, see
    `explain_windows`; the first and the last three are in units of the window.
    """
    # The outputs in this network: its dense layers may be those of longer networks too.
    found = {x.operation.name: x.outputs for x in calls(network)}
    lag_layer, change_layer, phase_layer = (
        next(layer for layer in network.layers if isinstance(layer, kind))
        for kind in (OctaveLags, LagChanges, SamePhase)
    )
    layers = lag_layer.name, change_layer.name, phase_layer.name
    dense = "choice", "corrections", "gates", "quantiles"
    outputs = [*network.outputs, *(found[name] for name in (*layers, *dense))]
    inputs = [keras.Input(x.shape[1:], name=x.name) for x in network.inputs]
    # A nested model: operations of a network from a file may have the names of new ones.
    forecast, *found = keras.Model(network.inputs, outputs)(inputs)
    (lags, _, usable), (changes, paired), (_, seen), *found = found
    choice, corrections, gates, quantiles = (x for (x,) in found)
    values, observed, steps = inputs
    shares = choose(choice, seen * usable[:, None, :, None])
    of_lag = ops.sum(shares, axis=3)  # (batch, future, octaves)
    recent, _ = average_recent(changes, paired, lags)
    changed = ops.sum(ops.tanh(corrections) * recent[:, None], axis=3) * of_lag
    slopes = ops.tanh(gates) * continue_slopes(fit_slopes(values, observed), steps)
    middle = quantiles[..., quantiles.shape[-1] // 2]
    offset = middle * mean_error(of_lag, naive_errors(changes, paired))
    places = phase_layer.places(lags, steps)
    return keras.Model(inputs, [forecast, lags, places, shares, changed, slopes, offset])
