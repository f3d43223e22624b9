"""Build and compile the Keras model of a config."""

import keras

from kerastrans import heads
from kerastrans.forecasting.inference.losses import loss_of
from kerastrans.layers import ReversibleInstanceNormalization
from kerastrans.models import registry
from kerastrans.utils.keras_internals import all_layers
from kerastrans.utils.random import seeded


def build(config, num_channels, sizes, sees_missing=True):
    """Return a new, compiled model, which is the same for the same seed.

    Args:
        config: `Config`.
        num_channels: int, number of channels.
        sizes: Dict of kind -> sizes of its covariates, see `Covariates.sizes`.
        sees_missing: bool, whether the model has an input for what is missing, see
            `kerastrans.heads.Head`.
    """
    with seeded(config.seed):
        model = config.model
        if not config.is_built:
            size = config.context_length, config.prediction_length, num_channels
            head = heads.get(config.resolved_head, sees_missing=sees_missing)
            options = {"head": head, "covariates": sizes, "size": config.size}
            if isinstance(model, str):  # the same name for every forecaster
                options["name"] = model
            model = registry.build(model, *size, **(options | config.hyperparameters))
            for layer in all_layers(model):
                if isinstance(layer, ReversibleInstanceNormalization):
                    layer.floor = max(layer.floor, config.scaler.least_spread)
        is_given = config.loss is not None or config.optimizer != "adam"
        if is_given or not model.compiled:
            compile_model(config, model)
    return model


def build_for(config, reader, **kwargs):
    """Return a new model for the data of a `Reader`; see `build` for more arguments."""
    calendar = 2 * len(reader.clock.calendar_names) if config.calendar else 0
    return build(config, reader.num_channels, reader.covariates.sizes(calendar), **kwargs)


def compile_model(config, model):
    """Compile a model with a new optimizer and the given loss, or that of its head."""
    optimizer = keras.optimizers.get(config.optimizer)
    # The state of an optimizer belongs to the weights that it has trained.
    optimizer = type(optimizer).from_config(optimizer.get_config())
    model.compile(optimizer, loss_of(config, heads.of(model)))


def reinitialise(model, seed):
    """Return a model of the same configuration with new weights, compiled alike."""
    with seeded(seed):
        fresh = type(model).from_config(model.get_config())
    if model.compiled:
        fresh.compile_from_config(model.get_compile_config())
    return fresh
