"""Compilation of all graphs of a forecaster before the first request."""

import asyncio
import contextlib
import itertools
import logging

import numpy as np

from kerastrans.decoding.graph import history_input
from kerastrans.forecasting.inference.forecast import forecast_outputs
from kerastrans.forecasting.inference.univariate import to_univariate
from kerastrans.utils.batch_sizes import BATCHES
from kerastrans.utils.compilation import shapes_that_come_often
from kerastrans.utils.files import first_line

logger = logging.getLogger(__name__)


async def warm_up(forecaster, inputs, run):
    """Compile the graphs of a forecaster, one call in a thread for each length and batch size.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        inputs: Dict of input name -> KerasTensor.
        run: Function that runs a function under the lock of the model.
    """
    states = [forecaster.fitted]
    if forecaster.fitted.channels is not None:
        with contextlib.suppress(ValueError):  # the model mixes its channels
            states.append(await asyncio.to_thread(run, to_univariate, forecaster.fitted))
    for state in states:
        for steps, size in itertools.product(state.graph_lengths, BATCHES):
            try:
                arrays = _arrays(state, inputs, size)
                arrays["history"][:, :-steps] = np.nan
                with shapes_that_come_often():
                    await asyncio.to_thread(run, forecast_outputs, state, arrays)
            except Exception as error:  # inputs that this model does not take
                logger.warning("not compiled for batches of %d: %s", size, first_line(error))


def _arrays(state, inputs, size):
    """Return inputs of a state's model, whose number of channels may be different."""
    arrays = {name: np.zeros((size, *x.shape[1:]), x.dtype) for name, x in inputs.items()}
    steps, channels = history_input(state.model).shape[1:]
    arrays["history"] = np.ones((size, steps, channels))
    if "upper_bound" in arrays:
        arrays["upper_bound"] += 2
    return arrays
