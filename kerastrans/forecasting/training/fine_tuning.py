"""Fine-tuning of published weights: all of them, LoRA adapters, or the last block."""

import itertools
import math
from dataclasses import asdict, replace

import keras
from keras import layers

from kerastrans import heads
from kerastrans.utils.keras_internals import all_layers, calls
from kerastrans.utils.model_files import copy_to_train, without_optimizer
from kerastrans.utils.random import seeded

TRAINABLE = ("all", "lora", "head")
LAST_LAYERS = (
    layers.Dense,
    layers.RMSNormalization,
    layers.LayerNormalization,
    layers.BatchNormalization,
)


def count_trainable(model, trainable="all", lora_rank=None):
    """Return the number of parameters that a fine-tuning trains.

    Args:
        model: Keras model.
        trainable: One of `TRAINABLE`.
        lora_rank: int, rank of the adapters of "lora".

    Raises:
        ValueError: If the model has no last block, see `head_layers`.
    """
    if trainable == "lora":
        return sum(lora_rank * sum(layer.kernel.shape) for layer in _dense_layers(model))
    trained = [model] if trainable == "all" else head_layers(model)
    return sum(math.prod(weight.shape) for layer in trained for weight in layer.trainable_weights)


def head_layers(model):
    """Return the list of dense layers and normalizations at the end of a network.

    In a Transformer these come after the last attention: a feed-forward network and the layers
    that make the forecast.

    Raises:
        ValueError: If the network ends in other layers, or has no others.
    """
    weighted = list(_weighted(model))
    head = list(
        itertools.takewhile(lambda layer: isinstance(layer, LAST_LAYERS), reversed(weighted))
    )
    if not head or len(head) == len(weighted):
        raise ValueError(f"{model.name} has no last block: use trainable='all' or 'lora'.")
    return list(dict.fromkeys(head))


def prepare_for_fine_tuning(state):
    """Return the model to train: a copy of the fitted one, which forecasts meanwhile.

    For "lora" and "head", most weights of the copy are frozen.

    The adapters of `keras.layers.Dense.enable_lora` are zero at first, so that the copy makes the
    same forecasts as the model.

    Args:
        state: `FittedState`.

    Source: Hu et al. (2022), "LoRA: Low-rank adaptation of large language models".
    """
    if state.trainable == "all":
        return copy_to_train(state.model)
    model = without_optimizer(state.model)
    kept = head_layers(model) if state.trainable == "head" else []
    kept = {id(variable) for layer in kept for variable in layer.trainable_weights}
    for variable in model.trainable_variables:
        variable.trainable = id(variable) in kept
    if state.trainable == "head":
        return model
    with seeded(state.config.seed):
        for layer in _dense_layers(model):
            layer.enable_lora(state.lora_rank)
    return model


def merge_adapters(state, model):
    """Return the trained model with the adapters added to the weights, and no weight frozen.

    Keras adds adapters to the weights when it writes a file, and sets them to zero when it reads
    one, after which they cannot be trained. A later fine-tuning begins with new adapters.

    Args:
        state: `FittedState` before the training, or None.
        model: Model that `prepare_for_fine_tuning` returned, after training.
    """
    if state is None or state.trainable == "all":
        return model
    if state.trainable == "head":
        return without_optimizer(model)
    merged = without_optimizer(state.model)
    for layer, adapted in zip(_dense_layers(merged), _dense_layers(model), strict=True):
        layer.kernel.assign(adapted.kernel)
    for weight, measured in zip(heads.of(merged).weights, heads.of(model).weights, strict=True):
        weight.assign(measured)
    return merged


def copy_published_state(state):
    """Return the state with a copy of its model, which has the published weights.

    Raises:
        ValueError: If `fit` has trained these weights.
    """
    if state.trained:
        raise ValueError(
            f"fit has trained the weights of {state.card['name']} further: read the published "
            "ones again by kerastrans.from_pretrained."
        )
    model = without_optimizer(state.model)
    state = replace(state, model=model, history=None, fine_tuning=None)
    return replace(state, intervals=None, dependence=None, chosen_by={}, fits=())


def keep_published(state, result):
    """Return the state before a training that did not help, with the verdict on it.

    Conformal intervals are dropped, as by every `fit`.

    Args:
        state: `FittedState`.
        result: `TrainingResult`.
    """
    optimizer = getattr(state.model, "optimizer", None)
    is_new = optimizer is not None and not optimizer.built  # a file could not hold its state
    model = without_optimizer(state.model) if is_new else state.model
    facts = {"history": result.history, "fine_tuning": asdict(result.verdict)}
    return replace(state, model=model, intervals=None, **facts)


def facts_that_stay(state):
    """Return the arguments of `FittedState` that training does not change, a dict."""
    names = ("trainable", "lora_rank", "card", "made_by") if state else ()
    return {name: getattr(state, name) for name in names}


def _weighted(model):
    """Yield the layers of a network with weights in the order of their calls, also if nested."""
    for node in calls(model):
        if isinstance(node.operation, keras.Model):
            yield from _weighted(node.operation)
        elif getattr(node.operation, "weights", ()) and not isinstance(node.operation, heads.Head):
            yield node.operation


def _dense_layers(model):
    """Return the dense layers of a model and of the models nested in it, in their order."""
    return [layer for layer in all_layers(model) if isinstance(layer, layers.Dense)]
