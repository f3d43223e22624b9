"""From panels to a trained model: build, compile, fit; a fit that fails changes nothing."""

from kerastrans.forecasting.inference.losses import report_zeros
from kerastrans.forecasting.inference.model import compile_model
from kerastrans.forecasting.training.checkpoint import Checkpoint, checksum_of
from kerastrans.forecasting.training.defaults import VALIDATING, HeldOut
from kerastrans.forecasting.training.extra_steps import finish
from kerastrans.forecasting.training.loop import (
    fit_model,
    sets_rate,
    steps_taken,
    unchanged_on_failure,
)
from kerastrans.forecasting.training.windows import Examples
from kerastrans.utils.validation import check_positive_integers

_REPLACED = {
    "validation_split": "validation_size, the last steps of each series",
    "validation_data": "validation, a frame",
    "learning_rate": "Forecaster(..., optimizer=keras.optimizers.Adam(learning_rate))",
    "shuffle": "seed: windows are always shuffled",
    "x": "a frame",
    "y": "a frame",
    "loss": "Forecaster(..., loss=...)",
    "optimizer": "Forecaster(..., optimizer=...)",
}


def check_options(config, validation_size, batch_size, epochs, time_limit, kwargs):
    """Raise ValueError for arguments of `fit` that it does not take, or that cannot be."""
    for name in sorted(set(kwargs) & set(_REPLACED)):
        raise ValueError(f"fit takes no {name!r}: use {_REPLACED[name]}.")
    check_positive_integers(batch_size=batch_size)
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit must be seconds above 0 or None, got {time_limit!r}.")
    if epochs is None and kwargs.get("validation_freq", 1) != 1:
        raise ValueError(
            f"validation_freq={kwargs['validation_freq']!r} and epochs=None cannot be combined: "
            "early stopping monitors every epoch. Give epochs."
        )
    if epochs not in (None, 0):
        check_positive_integers(epochs=epochs)
    if validation_size:
        check_positive_integers(validation_size=validation_size)
        if validation_size < config.prediction_length:
            raise ValueError(
                f"validation_size={validation_size} holds no whole forecast of "
                f"prediction_length={config.prediction_length} steps: give at least that many."
            )


def train(
    reader,
    model,
    panels,
    held_out,
    sampling,
    *,
    validation_size,
    batch_size,
    epochs,
    time_limit,
    checkpoint=None,
    validation=None,
    **kwargs,
):
    """Train a model on some panels, but for what is `held_out`, or with a `Validation` of its own.

    Where the training ends by itself, what was held out by default trains at last, see `finish`.

    Returns:
        `Examples`; dict of the rows that trained, as in `FittedState`; Keras's history, None for a
        model without weights.
    """
    config, most = reader.config, VALIDATING if epochs is None else None
    examples = Examples(config, model, panels, held_out, sampling, most, validation)
    if not model.trainable_weights or epochs == 0:
        return examples, {}, None
    parts = [examples.steps(part, batch_size) for part in (0, 1)]
    if validation_size is None and held_out.steps and not all(parts):
        # No known step can be held out.
        examples = Examples(config, model, panels, HeldOut(), sampling)
    report_zeros(model.loss, examples.zeros)
    if checkpoint is not None:
        steps = kwargs.get("steps_per_epoch")
        settings = {"batch_size": batch_size, "epochs": epochs, "steps_per_epoch": steps}
        settings["weights at the start"] = checksum_of(model)
        checkpoint = Checkpoint(checkpoint, examples.facts() | settings)
    if not model.compiled:
        compile_model(config, model)
    with unchanged_on_failure(model):
        before = steps_taken(model.optimizer)
        history = fit_model(examples, batch_size, epochs, time_limit, checkpoint, **kwargs)
        if epochs is not None:
            return examples, examples.trained, history
        is_given = validation is not None or validation_size is not None
        can_go_on = sets_rate(config) and not is_given
        steps = steps_taken(model.optimizer) - before if can_go_on else 0
        is_told = kwargs.get("verbose", 1) != 0
        return examples, finish(reader, examples, steps, batch_size, is_told).trained, history


def rows_seen(state, trained, chosen_by, history):
    """Up to where the rows of each series have trained a model, or chosen its weights.

    Args:
        state: `FittedState` before this training, or None.
        trained: dict, as in `FittedState`, of this training.
        chosen_by: dict, as in `FittedState`, of this training.
        history: Keras's, None where nothing was trained.

    Returns:
        Dict of "trained" and "chosen_by", as in `FittedState`.
    """
    seen = {"trained": trained, "chosen_by": chosen_by}
    for part, ends in seen.items():
        ends = {} if history is None else ends  # a baseline, or no epoch, trains on nothing
        before = getattr(state, part, {})
        later = {name: max(end, before.get(name, end)) for name, end in ends.items()}
        seen[part] = before | later
    return seen
