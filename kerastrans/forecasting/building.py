"""From a config to a compiled Keras model."""

import keras

from kerastrans import heads
from kerastrans.models import registry
from kerastrans.models.contract import check_contract
from kerastrans.models.covariates import regress
from kerastrans.utils.random import seeded


def build(config, num_channels, sizes):
    """A new model, compiled: the same for the same seed.

    Args:
        config: `Config`.
        num_channels: int.
        sizes: dict of the covariates' sizes by kind, see `Covariates.sizes`.
    """
    size = config.context_length, config.prediction_length, num_channels
    with seeded(config.seed):
        if config.is_built:
            model = config.model
            if model.compiled:
                return model
        elif config.architecture is not None:
            model = registry.build(
                config.architecture,
                *size,
                head=config.resolved_head,
                covariates=sizes,
                **config.hyperparameters,
            )
        else:
            model = _build_own(config, size, sizes)
        compile_model(config, model)
    return model


def build_for(config, reader):
    """A new model for the data that a `Reader` reads."""
    calendar = 2 * len(reader.clock.calendar_names) if config.calendar else 0
    return build(config, reader.num_channels, reader.covariates.sizes(calendar))


def _build_own(config, size, sizes):
    """The model of a user's builder, which may take a head and covariates or not."""
    options = {"head": config.resolved_head, "covariates": sizes or None}
    kwargs = {name: value for name, value in options.items() if name in config.builder_arguments}
    model = config.model(*size, **kwargs, **config.hyperparameters)
    if sizes and "covariates" not in kwargs:
        model = regress(model, sizes)
    check_contract(model, *size[:2], sizes)
    return model


def compile_model(config, model):
    """Compile a model with an optimizer of its own and the loss given, or its head's."""
    optimizer = keras.optimizers.get(config.optimizer)
    # An optimizer belongs to the weights that it has seen.
    optimizer = type(optimizer).from_config(optimizer.get_config())
    model.compile(optimizer, config.loss or heads.of(model).loss())
