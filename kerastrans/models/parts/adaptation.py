"""Weights that are computed from training rows, before a model is trained."""

from keras import ops

from kerastrans.utils.keras_internals import all_layers


def adapt_layers(model, read_series):
    """Compute the weights of the layers that have `adapts_to_training_rows`.

    A layer that was adapted before is not changed: the weights after it were trained with its own.
    A model without such layers is not changed, and its training rows are not read. Do not call it
    for a model that `was_trained`.

    Args:
        model: Keras model.
        read_series: Function without arguments that returns the training rows, an iterable of
            arrays `(time, num_channels)`, one per series, NaN where missing. It is called once for
            each layer.

    Example:
        >>> import numpy as np
        >>> from kerastrans import zoo
        >>> model = zoo.build("olinear", 8, 4, 2, d_model=8)
        >>> rows = np.random.default_rng(0).normal(size=(99, 2)).cumsum(axis=0)
        >>> adapt_layers(model, lambda: [rows])
        >>> model.get_layer("context_basis").is_adapted
        True
    """
    for layer in all_layers(model):
        if getattr(layer, "adapts_to_training_rows", False) and not layer.is_adapted:
            layer.adapt(read_series())


def was_trained(model):
    """Return whether the weights of a model were trained with the layers as they are.

    They were if its optimizer took a step. If the weights of such a layer come from a file, those
    of the other layers do, too.

    Args:
        model: Keras model.

    Example:
        >>> from kerastrans import zoo
        >>> was_trained(zoo.build("olinear", 8, 4, 2, d_model=8))
        False
    """
    optimizer = getattr(model, "optimizer", None)
    has_steps = optimizer is not None and int(ops.convert_to_numpy(optimizer.iterations)) > 0
    return has_steps or any(getattr(layer, "is_loaded", False) for layer in all_layers(model))
