"""Autoregressive decoding of any functional encoder-decoder model made of kerastrans blocks.

Numeric outputs are fed back unchanged; tokens are chosen by a sampler.

The model's graph is the only description of its wiring. Layers that do not depend on the decoder
input run once per sequence. The others run once per step, only on the newest value, and layers that
look across time (those with a `decode` method) keep a cache between steps.
"""

from typing import Any

import keras
import numpy as np

from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.feedback import FeedBack, Sampler
from kerastrans.decoding.graph import check_start_token, check_tokens
from kerastrans.decoding.samplers import GreedySampler
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_positive_integers, check_valid_lengths


def generate(
    model: keras.Model,
    encoder_inputs: Tensor,
    num_steps: int,
    start_token: Tensor | float | None = None,
) -> np.ndarray:
    """Generate `num_steps` values one by one, feeding each back as the next input.

    The whole loop is compiled once for each shape of the inputs and range of `num_steps`, and
    reused by later calls. It is equivalent to feeding the growing sequence to the model each time.

    Args:
        model: Functional `keras.Model` `[encoder_inputs, decoder_inputs] -> outputs` made of
            kerastrans blocks and position-wise Keras layers, such as the result of
            `build_transformer_model`. The decoder input is the last input; outputs have its width.
        encoder_inputs: Array `(batch, context_length, num_channels)`, or a list with one array per
            encoder input.
        num_steps: int, number of values to generate. Sinusoidal positional encodings extend
            beyond the length used in training; learnt ones raise an error.
        start_token: what the decoder sees first: a number, or an array that broadcasts to
            `(batch, 1, output_dim)`. None: the last observed value,
            `encoder_inputs[:, -1:, :]`, or the last patch for a model that decodes patches. The
            copy task of the lesson starts from 0.

    Returns:
        NumPy array `(batch, num_steps, output_dim)`, float32.

    Raises:
        ValueError: If an input has the wrong shape, or NaN or infinite values.
        ValueError: If `num_steps` is below 1 or exceeds a learnt positional encoding.
        ValueError: If a generated value is not finite.
        ValueError: If the model cannot be decoded step by step.

    Example:
        >>> import kerastrans
        >>> sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
        >>> model = kerastrans.build_transformer_model(
        ...     (6, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> history = kerastrans.data.random_sequences(5, 6, 3, seed=0)
        >>> generate(model, history, 12).shape
        (5, 12, 3)

    Source: Vaswani et al. (2017), section 3: the model is auto-regressive.
    """
    check_positive_integers(num_steps=num_steps)
    decoder = cached_decoder(model)
    if decoder.output.shape[-1] != decoder.decoder_input.shape[-1]:
        raise ValueError(
            "generate feeds outputs back as decoder inputs: their widths must agree, got "
            f"{decoder.output.shape[-1]} and {decoder.decoder_input.shape[-1]} in {model.name!r}."
        )
    encoder_inputs = decoder.check_inputs(encoder_inputs, "generate")
    if start_token is None:
        start_token = np.nan_to_num(encoder_inputs[0][:, -decoder.patch_length :])
    shape = len(encoder_inputs[0]), decoder.patch_length
    start_token = check_start_token(start_token, decoder.decoder_input, shape)
    generated = decoder.run(encoder_inputs, start_token, num_steps, FeedBack())
    if not np.isfinite(generated).all():
        raise ValueError(
            "the forecast exceeds the range of floats: scale the series down, or check the weights "
            f"and the dtype policy of {model.name!r}."
        )
    return generated


def generate_tokens(
    model: keras.Model,
    source: Tensor,
    source_lengths: Tensor,
    num_steps: int,
    sampler: Sampler | None = None,
) -> Any:
    """Generate up to `num_steps` tokens one by one, feeding each back as the next input.

    The whole loop is compiled, and stops as soon as every sequence has ended.

    Args:
        model: Functional `keras.Model` `[source, source_lengths, target] -> logits`, such as the
            result of `build_seq2seq_transformer`.
        source: int array `(batch, source_steps)` of tokens.
        source_lengths: int array `(batch,)`, number of tokens of each row that are not padding.
        num_steps: int, maximum number of tokens to generate, including the end token.
        sampler: `GreedySampler()` (used if None), `RandomSampler(...)` or `BeamSampler(...)`. It
            also defines the padding, start and end tokens.

    Returns:
        int32 NumPy array `(batch, num_steps)`: the tokens and the end token, then padding.

    Raises:
        ValueError: If an input has the wrong shape, or contains tokens unknown to the model.
        ValueError: If a length is 0 or exceeds the number of steps, or `num_steps` is below 1.
        ValueError: If the model does not embed its source or cannot be decoded step by step.

    Example:
        >>> import kerastrans
        >>> sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 16}
        >>> model = kerastrans.build_seq2seq_transformer(
        ...     9, 9, **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> generate_tokens(model, np.array([[4, 5, 0]]), np.array([2]), num_steps=6).shape
        (1, 6)

    Source: Sutskever et al. (2014), section 3.2.
    """
    check_positive_integers(num_steps=num_steps)
    sampler = GreedySampler() if sampler is None else sampler
    decoder = cached_decoder(model)
    arrays = decoder.check_inputs([source, source_lengths], "generate_tokens")
    source, source_lengths = arrays
    check_tokens(source, _source_embedding(decoder).input_dim)
    check_valid_lengths(source_lengths, source.shape[1])
    inputs = [np.repeat(x, sampler.width, axis=0) for x in (source, source_lengths)]
    start = np.full((len(inputs[0]), 1), sampler.start_token, "int32")
    return decoder.run(inputs, start, num_steps, sampler)


class _KerasFileModel(keras.Model):
    """Model that refuses `.h5` files, which Keras writes and cannot load: they have no operations.

    A callback such as `ModelCheckpoint` saves by `save`, too.
    """

    def save(self, filepath, *args, **kwargs):
        if str(filepath).endswith((".h5", ".hdf5")):
            raise ValueError(
                f"{str(filepath)!r} could not be loaded: h5 files do not hold the operations of "
                f"{self.name!r}. Save the model as .keras, or its weights by save_weights("
                "'name.weights.h5')."
            )
        super().save(filepath, *args, **kwargs)


@keras.saving.register_keras_serializable(package="kerastrans")
class AutoregressiveModel(_KerasFileModel):
    """Functional `keras.Model(inputs, outputs)` with a `generate` method.

    `export` of Keras writes the model as it is trained, with the decoder's input as an input;
    `kerastrans.export_savedmodel` writes the loop of `generate`.

    Example:
        >>> import kerastrans
        >>> sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
        >>> model = kerastrans.build_transformer_model(
        ...     (6, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> isinstance(model, AutoregressiveModel)
        True
    """

    def generate(self, encoder_inputs, num_steps, start_token=None):
        """Call `kerastrans.generate(model, encoder_inputs, num_steps, start_token)`."""
        return generate(self, encoder_inputs, num_steps, start_token)


@keras.saving.register_keras_serializable(package="kerastrans")
class TokenModel(_KerasFileModel):
    """Functional `keras.Model([source, source_lengths, target], logits)` with a `generate` method.

    Example:
        >>> import kerastrans
        >>> sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 16}
        >>> model = kerastrans.build_seq2seq_transformer(
        ...     9, 9, **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> isinstance(model, TokenModel)
        True
    """

    def generate(self, source, source_lengths, num_steps, sampler=None):
        """Call `generate_tokens(model, source, source_lengths, num_steps, sampler)`."""
        return generate_tokens(self, source, source_lengths, num_steps, sampler)


def _source_embedding(decoder):
    """Return the layer that embeds the first encoder input, the source."""
    source = decoder.encoder_inputs[0]
    for node in decoder.encode_nodes:
        if isinstance(node.operation, keras.layers.Embedding) and node.input_tensors[0] is source:
            return node.operation
    raise ValueError(
        f"generate_tokens requires a model that embeds its input {source.name!r} (Embedding layer)."
    )
