"""Attention weights and variable importances, computed without changing the model."""

import keras
import numpy as np
from keras import ops

from kerastrans.data.covariates import KINDS
from kerastrans.decoding.contract import defines_method
from kerastrans.decoding.graph import check_arrays, read_calls, run_calls
from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.masks import implicit_masks
from kerastrans.layers.transformer.block_layers import TransformerBlock
from kerastrans.utils.types import Tensor

ATTENTION_KINDS = "encoder_self", "decoder_self", "cross"


def attention_scores(model: keras.Model, inputs: Tensor) -> dict[str, np.ndarray]:
    """Return the attention weights of every block of a model, for one example.

    To see what a model attends to while it generates, pass its own generated sequence as the
    decoder's input; the weights are the same.

    Args:
        model: Functional `keras.Model` made of kerastrans blocks, for numbers or tokens.
        inputs: List of the model's inputs, each with a batch of one example.

    Returns:
        Dict of NumPy arrays `(blocks, heads, queries, keys)` with the names "encoder_self",
        "decoder_self" and "cross", if the model has such attention. Every row sums to 1, or to 0 if
        all keys are masked; masked keys have weight 0.

    Raises:
        ValueError: If the inputs do not match the model's, have more than one example, or are NaN.
        ValueError: If the model has no such attention, or a kind without weights for every query,
            such as `ProbSparseAttention`.
        ValueError: If an attention layer of the model treats channels as separate examples.

    Example:
        >>> import kerastrans
        >>> sizes = {"num_heads": 4, "key_dim": 16, "ff_dim": 128}
        >>> model = kerastrans.build_transformer_model(
        ...     (6, 12), **sizes, num_encoder_blocks=2, num_decoder_blocks=2
        ... )
        >>> history = kerastrans.data.random_sequences(1, 6, 12, seed=0)
        >>> forecast = model.generate(history, 9)
        >>> seen, _ = kerastrans.data.teacher_forcing_pairs(forecast, history[:, -1:])
        >>> kerastrans.attention_scores(model, [history, seen])["cross"].shape
        (2, 4, 9, 6)

    Source: Vaswani et al. (2017), equation 1, the softmax.
    """
    arrays = check_arrays(inputs, model.inputs, "attention_scores", "inputs of the model")
    if {len(array) for array in arrays} != {1}:
        sizes = [len(array) for array in arrays]
        raise ValueError(f"attention_scores requires inputs with a batch of 1, got {sizes}.")
    symbols = {id(x): x for x in model.inputs}
    calls = list(read_calls(model, symbols, _is_block))
    _check_shown(call.operation for call in calls)
    tensors = {
        id(symbol): ops.convert_to_tensor(array)
        for symbol, array in zip(model.inputs, arrays, strict=True)
    }
    scores = {kind: [] for kind in ATTENTION_KINDS}

    def run(layer, args, kwargs):
        if isinstance(layer, CachedMultiHeadAttention):
            masks = implicit_masks(layer, args, kwargs)
            weights = ops.convert_to_numpy(layer.attention_scores(*args, **kwargs, **masks))
            if len(weights) > 1:
                raise ValueError(
                    f"attention_scores requires a single sequence per example, but {layer.name!r} "
                    f"of {model.name!r} splits one example into {len(weights)}."
                )
            scores[attention_kind(layer, args, kwargs)].append(weights[0])
        # Run the layer as usual to obtain the inputs of the following layers.
        return layer(*args, **kwargs)

    run_calls(calls, tensors, run)
    scores = {kind: np.stack(weights) for kind, weights in scores.items() if weights}
    if not scores:
        raise ValueError(f"{model.name!r} has no kerastrans attention.")
    return scores


def attention_kind(layer, args, kwargs):
    """Return which one of `ATTENTION_KINDS` a call of a `CachedMultiHeadAttention` is."""
    is_cross = len(args) > 1 or kwargs.get("value") is not None
    return "cross" if is_cross else "decoder_self" if layer.causal else "encoder_self"


def _is_block(call):
    return isinstance(call.operation, TransformerBlock)


def _check_shown(operations):
    """Raise ValueError for an attention layer without a matrix of weights to show."""
    for layer in operations:
        if isinstance(layer, ProjectedAttention) and not defines_method(layer, "attention_scores"):
            raise ValueError(
                f"attention_scores cannot show {layer.name!r} ({type(layer).__name__}): it has no "
                "weights for every query and key."
            )


def variable_importances(model: keras.Model, inputs: Tensor) -> dict[str, np.ndarray]:
    """Return the mean weight of each variable in a Temporal Fusion Transformer.

    Weights are averaged over windows and steps.

    Args:
        model: Keras model returned by `build_tft_model`.
        inputs: Arrays `(batch, ...)` of its inputs, as a dict if there are covariates.

    Returns:
        Dict of "past", "future", "static" -> array `(variables,)` of shares that sum to 1, for each
        kind with at least two variables. Past variables are the channels, the past and the future
        covariates; future variables are the position in the forecast and the future covariates.

    Raises:
        ValueError: If the model has no variable selection.

    Source: Lim et al. (2021), section 7.1.
    """
    layers = {
        kind: layer.output
        for kind in KINDS
        for layer in model.layers
        if layer.name == f"{kind}_variables"
    }
    if not layers:
        raise ValueError(f"{model.name!r} does not select variables: build a tft with covariates.")
    inner = keras.Model(model.input, layers)
    weights = inner.predict(inputs, verbose=0)
    return {kind: x.reshape(-1, x.shape[-1]).mean(axis=0) for kind, x in weights.items()}
