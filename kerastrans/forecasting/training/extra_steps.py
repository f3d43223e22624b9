"""What follows where a training ended by itself: the spread, and the rows that were held out."""

from kerastrans import heads
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.training.defaults import HeldOut
from kerastrans.forecasting.training.early_stopping import DECAY
from kerastrans.forecasting.training.loop import (
    STEPS,
    DivergedError,
    fit_model,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.spread import Width
from kerastrans.forecasting.training.windows import Examples

MORE = 0.1  # of the steps that a model was trained for: as many follow, on all rows
MOST = 2 * STEPS  # of them


def finish(reader, examples, steps, batch_size, is_told=False):
    """Fit the spread of the model's head to the held-out part, and train on that part too.

    Args:
        reader: `Reader`.
        examples: `Examples` of the training.
        steps: int, that the model was trained for; 0 where the held-out part is not to train.
        batch_size: int.
        is_told: bool, whether a line says how many steps follow.

    Returns:
        `Examples` of all that has trained the model.
    """
    config, model = examples.config, examples.model
    head = heads.of(model)
    state = FittedState(config, model, reader.clock, reader.covariates, reader.channels)
    width = None
    if examples.validates_any and head.num_spreads and not state.decodes:
        windows = examples.windows(0)[1]  # of a folder: the first file's
        width = Width(state, windows) if len(windows) else None
    everything, steps = None, further_steps(steps) if examples.validates_any else 0
    if steps:
        if is_told:
            print(f"further steps, on all rows: {steps}")
        everything = Examples(config, model, examples.panels, HeldOut(), examples.sampling)
        everything = everything if train_further(everything, steps, batch_size) else None
    if width is not None:
        width.give(state, has_seen=everything is not None)
    return everything or examples


def further_steps(steps):
    """How many follow, on all rows, after this many steps: a tenth, at most 500."""
    return max(0, min(MOST, int(MORE * steps)))


def train_further(examples, steps, batch_size=32):
    """Train a model for some steps at the rate that a training ends with.

    Args:
        examples: `Examples`, with nothing held out.
        steps: int, at least 1.
        batch_size: int.

    Returns:
        bool: False where the weights diverged, and are as before.
    """
    optimizer = examples.model.optimizer
    rate = float(optimizer.learning_rate)
    optimizer.learning_rate = rate * DECAY**2
    try:
        with unchanged_on_failure(examples.model):
            fit_model(examples, batch_size, 1, None, steps_per_epoch=steps, verbose=0)
    except DivergedError:
        return False
    finally:
        optimizer.learning_rate = rate
    return True
