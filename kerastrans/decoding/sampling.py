"""Ancestral sampling from models that forecast a distribution step by step."""

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.feedback import AncestralSampler
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_positive_integers, check_seed


def generate_samples(
    model: keras.Model, inputs: Tensor, num_steps: int, num_samples: int = 100, seed: int = 0
) -> np.ndarray:
    """Sample possible futures by feeding a draw from the forecast distribution back at each step.

    All samples of all windows run through one compiled loop. Each history is encoded once, and its
    samples share the keys and values of its steps: in memory are, for each layer of attention,
    `2 * d_model` numbers per step of each history, and per generated step of each sample. The draws
    of a window depend only on `seed` and its history, not on the other windows.

    Args:
        model: Functional `keras.Model` that ends in a distribution of `kerastrans.heads`, such as
            the result of `build_deepar_model(..., head="student_t")`. Its inputs are `history`,
            covariates if any, and the decoder input, in this order; or only the prompt.
        inputs: Array `(batch, context_length, num_channels)`, or a list with one array per input
            except the decoder's; the prompt for a decoder-only model.
        num_steps: int, number of values to sample one by one.
        num_samples: int, number of samples of each window.
        seed: int, seed of the draws.

    Returns:
        NumPy array `(batch, num_samples, num_steps, num_channels)`, float32.

    Raises:
        ValueError: If an input has the wrong shape, or NaN or infinite values, or if a size is
            below 1.
        ValueError: If the model is not autoregressive or does not end in a distribution.

    Example:
        >>> from kerastrans import zoo
        >>> model = zoo.build("deepar", 8, 4, 1, units=4, head="normal")
        >>> generate_samples(model, np.zeros((2, 8, 1)), num_steps=4, num_samples=10).shape
        (2, 10, 4, 1)

    Source: Salinas et al. (2020), section 3.
    """
    check_positive_integers(num_steps=num_steps, num_samples=num_samples)
    check_seed(seed)
    decoder = cached_decoder(model)
    if not hasattr(heads.of(model), "draw"):
        raise ValueError(
            f"generate_samples requires a model that ends in a distribution; {model.name!r} ends "
            "in a point."
        )
    arrays = decoder.check_inputs(inputs, "generate_samples")
    encoder_inputs, prompt = decoder.split_inputs(arrays)
    sampler = AncestralSampler.of(model, seed, arrays[0])
    drawn = decoder.run(encoder_inputs, prompt, num_steps, sampler, copies=num_samples)
    return drawn.reshape(len(arrays[0]), num_samples, *drawn.shape[1:])
