"""States that forecast frames of other columns, or with the season of their clock."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.data.frames import ID, check_is_frame
from kerastrans.data.panel import read_clock
from kerastrans.decoding.graph import history_input
from kerastrans.forecasting.inference.model import build_for
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.runtime import derive_model


def adapt_to_frame(state, frame):
    """Return the state that forecasts a frame, which may have other columns.

    A long frame, or a wide one with none of the columns of the training data, is forecast series by
    series.

    Args:
        state: `FittedState`.
        frame: Long or wide frame.

    Raises:
        TypeError: If `frame` is not a DataFrame.
        ValueError: If the model mixes channels, or has separate weights for each of them.
        ValueError: If there are conformal intervals, which were calibrated for each channel.
    """
    check_is_frame(frame)
    is_long = ID in frame.columns  # its column "y" is not a channel of this name
    if state.channels is None or (not is_long and set(state.channels) & set(frame.columns)):
        return state
    return to_univariate(state)


def adapt_to_clock(state, frame, future=None):
    """Return the state whose published weights have the options for the clock of a frame.

    Args:
        state: `FittedState`.
        frame: Long or wide frame.
        future: Frame of future covariates, or None.
    """
    if not chooses_by_clock(state):
        return state
    columns = [*state.config.past, *state.config.future, *state.config.limits]
    freq = state.given_freq or read_clock(frame, columns, future).freq
    return at_frequency(state, freq)


def chooses_by_clock(state):
    """Return whether published weights of a state choose options at some frequency."""
    return bool(options_at(state, "h"))


def options_at(state, freq):
    """Return the options that published weights choose at a frequency, a dict; {} if none are."""
    if state.card is None or state.clock is not None or "options" in state.card:
        return {}
    from kerastrans.models.pretrained.shipped import options_for  # imports the hub

    return options_for(state.card["name"], freq)


def at_frequency(state, freq):
    """Return the state whose published weights have the options for a frequency.

    Args:
        state: `FittedState`.
        freq: str, pandas frequency; None if it is unknown.
    """
    options = options_at(state, freq)
    if not options:
        return state

    def build():
        weights, (steps, num_channels) = state.pretrained, state.model.output_shape[1:3]
        weights = weights.with_options(**options)
        length = state.card.get("context_length") or weights.default_context
        return weights.build(length, steps, num_channels, state.covariates.sizes())

    model = derive_model(state.model, ("options", *options.items()), build)
    length = history_input(model).shape[1]
    config = state.config.changed(model=model, context_length=length)
    return replace(state, config=config, model=model, card=state.card | {"options": options})


def to_univariate(state):
    """Return the state of the same weights for one channel, see `adapt_to_frame`."""
    config, channels = state.config, list(state.channels)
    if config.mixes_channels:
        raise ValueError(
            f"made for the columns {channels}, which {config.name} mixes: give these columns."
        )
    if state.intervals is not None:
        raise ValueError(
            f"calibrated on the columns {channels}, each of which has its intervals: give these "
            "columns, or calibrate on this frame."
        )
    model = derive_model(state.model, "univariate", lambda: _build_univariate(state, channels))
    # The rows that it was trained on, which a wide frame has under the name of its first column.
    seen = {
        name: {channel: last for last in getattr(state, name).values() for channel in channels}
        for name in ("trained", "chosen_by")
    }
    return replace(state, model=model, channels=None, **seen)


def _build_univariate(state, channels):
    config, head = state.config, heads.of(state.model)
    reader = Reader(config, state.clock, state.covariates, None, num_channels=1)
    model = build_for(config, reader, sees_missing=head.sees_missing)
    weights = state.model.get_weights()
    if [w.shape for w in weights] != [w.shape for w in model.get_weights()]:
        raise ValueError(
            f"made for the columns {channels}, each of which has its weights: give these columns."
        )
    model.set_weights(weights)
    return model
