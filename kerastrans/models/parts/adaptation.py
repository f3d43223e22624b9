"""Weights that are computed from training rows, before a model is trained."""

from kerastrans.utils.keras_internals import all_layers


def adapt_layers(model, read_series):
    """Compute the weights of the layers that have `adapts_to_training_rows`.

    A layer that was adapted before is not changed: the weights after it were trained with its own.
    A model without such layers is not changed, and its training rows are not read.

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
