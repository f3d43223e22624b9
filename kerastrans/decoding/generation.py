"""Autoregressive decoding of any functional model made of kerastrans blocks.

Numeric outputs are fed back unchanged; tokens are chosen by a sampler.

The model's graph is the only description of its wiring. Layers that do not depend on the decoder
input run once per sequence. The others run once on the prompt and once per step, only on the newest
value, and layers that look across time (those with a `decode` method) keep a cache between steps.
All layers of a decoder-only model depend on the decoder input.
"""

from collections.abc import Iterator

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
    inputs: Tensor,
    num_steps: int,
    start_token: Tensor | float | None = None,
    *,
    prompt_lengths: Tensor | None = None,
    sampler: Sampler | None = None,
) -> np.ndarray:
    """Generate `num_steps` values or tokens one by one, feeding each back as the next input.

    The prompt is read in one pass. The whole loop is compiled once for each shape of the inputs and
    range of lengths, and reused by later calls. It is equivalent to feeding the growing sequence to
    the model each time.

    Args:
        model: Functional `keras.Model` made of kerastrans blocks, position-wise Keras layers and
            models of these: `[*encoder_inputs, decoder_inputs] -> outputs`, such as the result of
            `build_transformer_model`, or a decoder-only model `prompt -> outputs`. The outputs have
            the width of the decoder's input; for tokens they are logits.
        inputs: The prompt of a decoder-only model: numbers `(batch, time, num_channels)` or tokens
            `(batch, time)`. For other models an array `(batch, context_length, num_channels)`, or a
            list with one array per encoder input.
        num_steps: int, number of values to generate. Sinusoidal positional encodings extend
            beyond the length used in training; learnt ones raise an error.
        start_token: What the decoder of an encoder-decoder model sees first, its prompt: a number,
            or an array that broadcasts to `(batch, time, output_dim)`, or `(batch, time)` for
            tokens. None for the last observed value, `inputs[:, -1:, :]`, the last patch for a
            model that decodes patches, and the sampler's start token for tokens. The copy task of
            the lesson starts from 0.
        prompt_lengths: Integers `(batch,)`, number of steps of each prompt that are not padding
            after its end; None for all.
        sampler: For tokens: `GreedySampler()` (used if None), `RandomSampler(...)` or
            `BeamSampler(...)`. It also defines the padding, start and end tokens.

    Returns:
        NumPy array `(batch, num_steps, output_dim)`, float32; for tokens `(batch, num_steps)`,
        int32, with padding after the end token. The prompt is not part of it.

    Raises:
        ValueError: If an input has the wrong shape, NaN or infinite values, or unknown tokens.
        ValueError: If a length of a prompt is 0 or exceeds its number of steps.
        ValueError: If `num_steps` is below 1, or the prompt and the steps exceed a learnt
            positional encoding or the model's input.
        ValueError: If a generated value is not finite.
        ValueError: If the model cannot be decoded step by step; the message names the layer.

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
    decoder, given = _request(model, inputs, num_steps, start_token, prompt_lengths, sampler)
    generated = decoder.run(**given, copies=given["sampler"].width)
    return _check_finite(model, generated)


def generate_steps(
    model: keras.Model,
    inputs: Tensor,
    num_steps: int,
    start_token: Tensor | float | None = None,
    *,
    prompt_lengths: Tensor | None = None,
    sampler: Sampler | None = None,
) -> Iterator[np.ndarray]:
    """Yield what `generate` returns step by step, as soon as each is known.

    Args:
        model: See `generate`.
        inputs: See `generate`.
        num_steps: See `generate`.
        start_token: See `generate`.
        prompt_lengths: See `generate`.
        sampler: See `generate`. A `BeamSampler` knows no step before the last one.

    Yields:
        NumPy arrays `(batch, 1, output_dim)`, float32, or `(batch, patch_length, output_dim)` for a
        model that decodes patches; for tokens `(batch, 1)`, int32, until all sequences have ended.

    Raises:
        ValueError: See `generate`; if `sampler` keeps several beams.

    Example:
        >>> import kerastrans
        >>> sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
        >>> model = kerastrans.build_transformer_model(
        ...     (6, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> history = kerastrans.data.random_sequences(5, 6, 3, seed=0)
        >>> [step.shape for step in generate_steps(model, history, 2)]
        [(5, 1, 3), (5, 1, 3)]

    Source: Vaswani et al. (2017), section 3.
    """
    decoder, given = _request(model, inputs, num_steps, start_token, prompt_lengths, sampler)
    if given["sampler"].width > 1:
        raise ValueError("beams are compared after the last step: use generate for a BeamSampler.")
    return (_check_finite(model, generated) for generated in decoder.stream(**given))


def generate_tokens(
    model: keras.Model,
    source: Tensor,
    source_lengths: Tensor,
    num_steps: int,
    sampler: Sampler | None = None,
) -> np.ndarray:
    """Generate up to `num_steps` tokens one by one, feeding each back as the next input.

    The whole loop is compiled, and stops as soon as every sequence has ended.

    Args:
        model: Functional `keras.Model` `[source, source_lengths, target] -> logits`, such as the
            result of `build_seq2seq_transformer`, or a decoder-only model `source -> logits`.
        source: int array `(batch, source_steps)` of tokens; for a decoder-only model the prompts.
        source_lengths: int array `(batch,)`, number of tokens of each row that are not padding.
        num_steps: int, maximum number of tokens to generate, including the end token.
        sampler: See `generate`.

    Returns:
        int32 NumPy array `(batch, num_steps)`: the tokens and the end token, then padding.

    Raises:
        ValueError: If an input has the wrong shape, or contains tokens unknown to the model.
        ValueError: If a length is 0 or exceeds the number of steps, or `num_steps` is below 1.
        ValueError: If the model cannot be decoded step by step.

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
    if not cached_decoder(model).encoder_inputs:
        return generate(model, source, num_steps, prompt_lengths=source_lengths, sampler=sampler)
    decoder, given = _request(model, [source, source_lengths], num_steps, sampler=sampler)
    source, source_lengths = given["encoder_inputs"]
    check_valid_lengths(source_lengths, source.shape[1])
    return decoder.run(**given, copies=given["sampler"].width)


def _request(model, inputs, num_steps, start_token=None, prompt_lengths=None, sampler=None):
    """Return the decoder of a model, and the checked arguments of its `run` and `stream`."""
    check_positive_integers(num_steps=num_steps)
    decoder = cached_decoder(model)
    encoder_inputs, prompt = decoder.split_inputs(decoder.check_inputs(inputs, "generate"))
    is_tokens = len(decoder.decoder_input.shape) == 2
    sampler = _check_sampler(model, decoder, is_tokens, sampler)
    if encoder_inputs:
        if start_token is None:
            start_token = sampler.start_token if is_tokens else np.nan_to_num(prompt)
        sizes = len(encoder_inputs[0]), decoder.patch_length
        prompt = check_start_token(start_token, decoder.decoder_input, *sizes)
    elif start_token is not None:
        raise ValueError(
            f"{model.name!r} has no encoder: its prompt is the first argument, leave start_token "
            "out."
        )
    _check_vocabularies(decoder, encoder_inputs, prompt if is_tokens else None)
    return decoder, {
        "encoder_inputs": encoder_inputs,
        "prompt": prompt.astype("int32") if is_tokens else prompt,
        "num_steps": num_steps,
        "sampler": sampler,
        "lengths": None if prompt_lengths is None else _check_lengths(prompt_lengths, prompt),
    }


def _check_sampler(model, decoder, is_tokens, sampler):
    """Return the sampler; raise ValueError if the model's outputs cannot be fed back by it."""
    if is_tokens:
        if len(decoder.output.shape) != 3:
            raise ValueError(
                "generate chooses tokens by logits (batch, time, vocabulary), got "
                f"{decoder.output.shape} in {model.name!r}."
            )
        return GreedySampler() if sampler is None else sampler
    if sampler is not None:
        raise ValueError(f"a sampler chooses tokens, but {model.name!r} decodes numbers.")
    if decoder.output.shape[-1] != decoder.decoder_input.shape[-1]:
        raise ValueError(
            "generate feeds outputs back as decoder inputs: their widths must agree, got "
            f"{decoder.output.shape[-1]} and {decoder.decoder_input.shape[-1]} in {model.name!r}."
        )
    return FeedBack()


def _check_vocabularies(decoder, encoder_inputs, prompt):
    """Raise ValueError for tokens that the model does not know."""
    known = zip(decoder.encoder_inputs, encoder_inputs, strict=True)
    given = {id(symbol): (symbol, array) for symbol, array in known}
    if prompt is not None:
        check_tokens(prompt, decoder.decoder_input, decoder.output.shape[-1])
        given[id(decoder.decoder_input)] = decoder.decoder_input, prompt
    for call in (*decoder.encode_calls, *decoder.step_calls):
        first = id(call.input_tensors[0])
        if isinstance(call.operation, keras.layers.Embedding) and first in given:
            symbol, array = given[first]
            check_tokens(array, symbol, call.operation.input_dim)


def _check_lengths(lengths, prompt):
    """Return the lengths of prompts as a NumPy array; raise ValueError if they do not fit."""
    lengths = np.asarray(lengths)
    if lengths.shape != (len(prompt),) or lengths.dtype.kind not in "iu":
        raise ValueError(
            f"prompt_lengths must be {len(prompt)} integers, one for each prompt, got "
            f"{lengths.dtype} of shape {lengths.shape}."
        )
    check_valid_lengths(lengths, prompt.shape[1])
    return lengths


def _check_finite(model, generated):
    """Return generated values; raise ValueError if they are not finite."""
    if not np.isfinite(generated).all():
        raise ValueError(
            "the forecast exceeds the range of floats: scale the series down, or check the weights "
            f"and the dtype policy of {model.name!r}."
        )
    return generated


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

    def generate(self, inputs, num_steps, start_token=None, **options):
        """Call `kerastrans.generate(model, inputs, num_steps, start_token, **options)`."""
        return generate(self, inputs, num_steps, start_token, **options)


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
