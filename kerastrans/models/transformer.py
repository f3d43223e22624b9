"""The encoder-decoder Transformer on numeric sequences (Vaswani et al., 2017, figure 1)."""

from collections.abc import Sequence

import keras
from keras import layers

from kerastrans.decoding.generation import AutoregressiveModel
from kerastrans.layers import Dropout, PositionalEncoding
from kerastrans.models.parts.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.checks import check_sizes
from kerastrans.models.parts.sublayers import close_stack
from kerastrans.utils.deprecation import positional_until
from kerastrans.utils.validation import check_choice, check_dropout, check_non_negative


@positional_until(
    "0.5",
    "key_dim",
    "num_heads",
    "ff_dim",
    "num_encoder_blocks",
    "num_decoder_blocks",
    "dropout",
)
def build_transformer_model(
    input_shape: Sequence[int],
    *,
    d_model: int | None = 64,
    num_heads: int,
    key_dim: int,
    ff_dim: int,
    num_encoder_blocks: int,
    num_decoder_blocks: int,
    dropout: float = 0.1,
    output_dim: int | None = None,
    norm: str = "pre",
    activation: str = "relu",
    decoder_noise: float = 0.0,
    name: str = "transformer",
) -> keras.Model:
    """Build the encoder-decoder Transformer, for teacher forcing and step-by-step decoding.

    Args:
        input_shape: `(context_length, num_channels)` of the encoder's input.
        d_model: int, width inside the model; each input is projected to it. None keeps the width
            of the inputs, without a projection: the model then does not learn to copy twelve
            channels, because the positions are added to the values themselves.
        num_heads: int, number of attention heads.
        key_dim: int, width of each attention head.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of blocks of the encoder.
        num_decoder_blocks: int, number of blocks of the decoder.
        dropout: float in [0, 1).
        output_dim: int, number of channels of the decoder's input and output; `num_channels` by
            default.
        norm: "pre" (with a last normalisation after each stack; Xiong et al., 2020) or "post"
            (Vaswani et al., 2017).
        activation: Activation of the feed-forward networks, as in `keras.layers.Dense`.
        decoder_noise: float >= 0, standard deviation of Gaussian noise on the decoder's inputs, in
            training only. In training the decoder reads true values, in decoding its own. Noise as
            large as the (standardised) data makes it rely on the encoder instead of the previous
            value, which improves long forecasts considerably.
        name: str, name of the model.

    Returns:
        A functional Keras model `[encoder_inputs, decoder_inputs] -> outputs`, of shapes
        `(batch, context_length, num_channels)`, `(batch, time, output_dim)` and
        `(batch, time, output_dim)` for any `time`. Its `generate(encoder_inputs, num_steps,
        start_token=None)` is `kerastrans.generate`.

    Raises:
        ValueError: If `input_shape` does not have two sizes.
        ValueError: If a size is not a positive integer, or too large.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `decoder_noise` is negative.
        ValueError: If `norm` is unknown.

    Example:
        >>> sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
        >>> model = build_transformer_model(
        ...     (6, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> model.output_shape
        (None, None, 3)

    Source: Vaswani et al. (2017), figure 1.
    """
    if not isinstance(input_shape, Sequence) or len(input_shape) != 2:
        raise ValueError(
            f"input_shape must be (context_length, num_channels), got {input_shape!r}."
        )
    context_length, num_channels = input_shape
    output_dim = num_channels if output_dim is None else output_dim
    check_sizes(
        context_length=context_length,
        num_channels=num_channels,
        key_dim=key_dim,
        num_heads=num_heads,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        output_dim=output_dim,
    )
    if d_model is not None:
        check_sizes(context_length=context_length, d_model=d_model)
    check_dropout(dropout)
    check_choice("norm", norm, ("pre", "post"))
    check_non_negative(decoder_noise=decoder_noise)
    # Under mixed precision the first and last layers, which process the raw values, stay in
    # float32.
    ends = keras.config.dtype_policy().variable_dtype
    block = {
        "num_heads": num_heads,
        "key_dim": key_dim,
        "ff_dim": ff_dim,
        "dropout": dropout,
        "norm": norm,
        "activation": activation,
    }

    encoder_inputs = keras.Input((context_length, num_channels), name="encoder_inputs")
    x = _embed(encoder_inputs, context_length, d_model, dropout, ends, "encoder")
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, name=f"encoder_{i}")
    encoder_output = close_stack(x, norm, name="encoder")

    decoder_inputs = keras.Input((None, output_dim), name="decoder_inputs")
    x = layers.GaussianNoise(decoder_noise, dtype=ends, name="decoder_noise")(decoder_inputs)
    x = _embed(x, None, d_model, dropout, ends, "decoder")
    for i in range(num_decoder_blocks):
        x = transformer_decoder(x, encoder_output, **block, name=f"decoder_{i}")
    x = close_stack(x, norm, dtype=ends, name="decoder")
    outputs = layers.Dense(output_dim, dtype=ends, name="head")(x)
    return AutoregressiveModel([encoder_inputs, decoder_inputs], outputs, name=name)


def _embed(x, max_len, d_model, dropout, dtype, name):
    """Projection to `d_model`, and the position of each value."""
    if d_model is not None:
        x = layers.Dense(d_model, dtype=dtype, name=f"{name}_projection")(x)
    x = PositionalEncoding(max_len, x.shape[-1], dtype=dtype, name=f"{name}_positions")(x)
    return Dropout(dropout, dtype=dtype, name=f"{name}_dropout")(x)
