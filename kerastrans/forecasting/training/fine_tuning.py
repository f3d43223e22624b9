"""What a fine-tuning of published weights trains: all of them, adapters, or what comes last."""

import itertools
import math
from dataclasses import replace

import keras
from keras import layers

from kerastrans import heads
from kerastrans.utils.keras_internals import all_layers, calls
from kerastrans.utils.model_files import without_optimizer
from kerastrans.utils.random import seeded

TRAINABLE = ("all", "lora", "head")
LAST = (
    layers.Dense,
    layers.RMSNormalization,
    layers.LayerNormalization,
    layers.BatchNormalization,
)


def count_trainable(model, trainable, lora_rank):
    """How many numbers a fine-tuning trains, int.

    Args:
        model: Keras model.
        trainable: one of `TRAINABLE`.
        lora_rank: int.

    Raises:
        ValueError: A model without a last block, see `head_layers`.
    """
    if trainable == "lora":
        return sum(lora_rank * sum(layer.kernel.shape) for layer in _dense_layers(model))
    trained = [model] if trainable == "all" else head_layers(model)
    return sum(math.prod(weight.shape) for layer in trained for weight in layer.weights)


def head_layers(model):
    """The dense layers and normalizations in which a network ends, a list.

    In a Transformer these come after the last attention: a feed-forward network and the layers
    that make the forecast.

    Raises:
        ValueError: The network ends in other layers, or has no others.
    """
    weighted = list(_weighted(model))
    head = list(itertools.takewhile(lambda layer: isinstance(layer, LAST), reversed(weighted)))
    if not head or len(head) == len(weighted):
        raise ValueError(f"{model.name} has no last block: use trainable='all' or 'lora'.")
    return list(dict.fromkeys(head))


def prepare_for_fine_tuning(state):
    """The model that is trained: the fitted one, or a copy of it with most weights frozen.

    The adapters of `keras.layers.Dense.enable_lora` begin at zero, so that the copy forecasts as
    the model does.

    Args:
        state: `FittedState`.

    Source: Hu et al. (2022), "LoRA: Low-rank adaptation of large language models".
    """
    if state.trainable == "all":
        return state.model
    model = without_optimizer(state.model)
    for variable in model.variables:
        variable.trainable = False
    if state.trainable == "head":
        for variable in itertools.chain(*(layer.weights for layer in head_layers(model))):
            variable.trainable = True
        return model
    with seeded(state.config.seed):
        for layer in _dense_layers(model):
            layer.enable_lora(state.lora_rank)
    return model


def merge_adapters(state, model):
    """The trained model with no weight frozen and no adapter: these are added to the weights.

    Keras adds them when it writes a file and sets them to zero when it reads one, so that they
    could not be trained any further. A later fine-tuning begins with new ones.

    Args:
        state: `FittedState` before the training, or None.
        model: what `prepare_for_fine_tuning` returned, trained.
    """
    if state is None or state.trainable == "all":
        return model
    if state.trainable == "head":
        return without_optimizer(model)
    merged = without_optimizer(state.model)
    for layer, adapted in zip(_dense_layers(merged), _dense_layers(model), strict=True):
        layer.kernel.assign(adapted.kernel)
    heads.of(merged).spread = heads.of(model).spread
    return merged


def copy_published_state(state):
    """The state with a copy of its model, whose weights are still the published ones.

    Raises:
        ValueError: They are not, since `fit` has trained them.
    """
    if state.trained:
        raise ValueError(
            f"fit has trained the weights of {state.card['name']} further: read the published "
            "ones again by kerastrans.from_pretrained."
        )
    return replace(state, model=without_optimizer(state.model))


def facts_that_stay(state):
    """Return what training leaves as it was, a dict of arguments of `FittedState`."""
    names = ("trainable", "lora_rank", "card", "made_by") if state else ()
    return {name: getattr(state, name) for name in names}


def _weighted(model):
    """The layers with weights in the order of their calls, those of models within it too."""
    for node in calls(model):
        if isinstance(node.operation, keras.Model):
            yield from _weighted(node.operation)
        elif getattr(node.operation, "weights", ()):
            yield node.operation


def _dense_layers(model):
    """The dense layers of a model at every depth, in its order."""
    return [layer for layer in all_layers(model) if isinstance(layer, layers.Dense)]
