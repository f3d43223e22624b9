"""A model trained on some channels, used on any: where it treats channels apart."""

from dataclasses import replace

from kerastrans import heads
from kerastrans.forecasting.inference.model import build_for
from kerastrans.forecasting.inference.reader import Reader
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


def adapted(config, fitted, frame):
    """The state with which to forecast a frame of other columns.

    A long frame, or a wide one that has none of the columns of the training data, is forecast
    series by series.
    """
    if fitted.channels is None or set(fitted.channels) & set(frame.columns):
        return fitted
    return univariate(config, fitted)
