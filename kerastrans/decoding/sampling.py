"""Possible futures of a model that forecasts a distribution step by step: ancestral sampling."""

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.feedback import AncestralSampler
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_positive_integers


def generate_samples(
    model: keras.Model, inputs: Tensor, num_steps: int, num_samples: int = 100, seed: int = 0
) -> np.ndarray:
    """Sample possible futures: at each step a draw from the forecast distribution is fed back.

    All samples of all windows run through one compiled loop. The draws of a window depend on
    `seed` and its own history alone, not on the windows beside it.

    Args:
        model: functional `keras.Model` of `history`, perhaps covariates, and decoder inputs, in
            this order, that ends in a distribution of `kerastrans.heads`, such as
            `build_deepar_model(..., head="student_t")` returns.
        inputs: `(batch, context_length, num_channels)`, or a list with one array per input but
            the decoder's.
        num_steps: int, values to sample one after the other.
        num_samples: int, for each window.
        seed: int.

    Returns:
        NumPy array `(batch, num_samples, num_steps, num_channels)`, float32.

    Raises:
        ValueError: inputs of another shape, NaN or infinite values, a size below 1.
        ValueError: a model that is not autoregressive, or has no distribution.

    Example:
        >>> from kerastrans import zoo
        >>> model = zoo.build("deepar", 8, 4, 1, units=4, head="normal")
        >>> generate_samples(model, np.zeros((2, 8, 1)), num_steps=4, num_samples=10).shape
        (2, 10, 4, 1)

    Source: Salinas et al. (2020), section 3.
    """
    check_positive_integers(num_steps=num_steps, num_samples=num_samples)
    decoder = cached_decoder(model)
    head = heads.of(model)
    if not hasattr(head, "draw"):
        raise ValueError(f"generate_samples wants a distribution, {model.name!r} ends in a point.")
    arrays = decoder.check_inputs(inputs, "generate_samples")
    repeated = [np.repeat(x, num_samples, axis=0) for x in arrays]
    sampler = AncestralSampler(head, decoder.decoder_input.shape[-1], seed, arrays[0])
    drawn = decoder.run(repeated, repeated[0][:, -1:], num_steps, sampler)
    return drawn.reshape(len(arrays[0]), num_samples, *drawn.shape[1:])
