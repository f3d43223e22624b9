"""A model trained on some channels, used on any: where it treats channels apart."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.forecasting.building import build_for
from kerastrans.forecasting.reading import Reader
from kerastrans.models import registry


def univariate(config, fitted):
    """The same weights for one channel.

    Raises:
        ValueError: a model that mixes channels, or has weights of each.
    """
    name = config.architecture
    channels = list(fitted.channels)
    if name is None or registry.info(name).mixes_channels:
        raise ValueError(
            f"trained on the columns {channels}, which {config.name} mixes: give these columns."
        )
    reader = Reader(config, fitted.clock, fitted.covariates, None, num_channels=1)
    sees_missing = heads.of(fitted.model).sees_missing
    model = build_for(config, reader, sees_missing=sees_missing)
    weights = fitted.model.get_weights()
    if [w.shape for w in weights] != [w.shape for w in model.get_weights()]:
        raise ValueError(
            f"trained on the columns {channels}, each with weights of its own: give these columns."
        )
    model.set_weights(weights)
    return replace(fitted, model=model, channels=None, intervals=None, trained={})


def to_long(frame, covariates):
    """A wide frame as a long one, each channel that is no covariate a series of its own."""
    channels = [name for name in frame.columns if name not in covariates]
    wide = frame.rename_axis(TIME).reset_index()
    return wide.melt([TIME, *covariates], channels, ID, TARGET)


def adapted(config, fitted, frame):
    """The state and the frame with which to forecast a frame of other columns.

    A long frame, or a wide one that has none of the columns of the training data, is forecast
    series by series.
    """
    if fitted.channels is None or set(fitted.channels) & set(frame.columns):
        return fitted, frame
    long = frame if ID in frame.columns else to_long(frame, [*config.past, *config.future])
    return univariate(config, fitted), long
