"""The encoder-decoder Transformer on numeric sequences (Vaswani et al., 2017, figure 1).

Paper: https://arxiv.org/abs/1706.03762
"""

from collections.abc import Sequence

import keras
from keras import layers

from kerastrans import heads
from kerastrans.decoding.generation import AutoregressiveModel
from kerastrans.layers import Dropout, PositionalEncoding
from kerastrans.layers.transformer.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.checks import check_sizes, unique_name
from kerastrans.models.parts.patch_tokens import patch_tokens
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import close_stack
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_dropout, check_non_negative


def build_transformer_model(
    input_shape: Sequence[int],
    key_dim: int,
    num_heads: int,
    ff_dim: int,
    num_encoder_blocks: int,
    num_decoder_blocks: int,
    dropout: float = 0.1,
    *,
    d_model: int | None = 64,
    output_dim: int | None = None,
    norm: str = "pre",
    activation: str = "relu",
    decoder_noise: float = 0.0,
    patch_length: int | None = None,
    lags: Sequence[int] = (),
    head: heads.Head | str | None = None,
    name: str | None = None,
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
            training only. In training the decoder reads true values, in decoding its own; noise
            makes it rely on the encoder instead of the previous value.
        patch_length: int, number of steps in a token. The model is then one for real series, as
            `time_series_transformer` of the zoo: each window is normalised by its mean and standard
            deviation, all channels share the weights, and each step of decoding returns a patch.
            None for one token per step with all channels, on values as they are.
        lags: Numbers of steps, each from `patch_length` to the context length. A token of the
            decoder also contains the values so many steps before the targets, such as a week. They
            require a `patch_length`.
        head: Distribution of `kerastrans.heads` that the model ends in, such as "student_t"; it
            implies `patch_length=1` if there is none. None for values.
        name: str, name of the model; by default "transformer", with a number if it is not the first
            one, as Keras names layers.

    Returns:
        A functional Keras model `[encoder_inputs, decoder_inputs] -> outputs`, of shapes
        `(batch, context_length, num_channels)`, `(batch, time, output_dim)` and
        `(batch, time, output_dim)` for any `time`. Its `generate(encoder_inputs, num_steps,
        start_token=None)` is `kerastrans.generate`. With a `patch_length` the decoder's inputs are
        the values `patch_length` steps before the targets. With a `head` the outputs are its
        parameters, `(batch, time, num_channels, size)`, for `kerastrans.generate_samples`.

    Raises:
        ValueError: If `input_shape` does not have two sizes.
        ValueError: If a size is not a positive integer, or too large.
        ValueError: If the width inside the model is 1, which layer normalisation makes constant.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `decoder_noise` is negative.
        ValueError: If `norm` or `head` is unknown.
        ValueError: If `patch_length` or `head` is combined with `decoder_noise`, `output_dim` or
            `d_model=None`.
        ValueError: If `lags` are given without a `patch_length`, or a lag does not fit.

    Example:
        >>> sizes = {"num_heads": 2, "key_dim": 4, "ff_dim": 16}
        >>> model = build_transformer_model(
        ...     (6, 3), **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> model.output_shape
        (None, None, 3)

    Source: Vaswani et al. (2017), figure 1; Nie et al. (2023), section 3.1, for patches.
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
    check_dropout(dropout)
    check_choice("norm", norm, ("pre", "post"))
    check_non_negative(decoder_noise=decoder_noise)
    optional = {"d_model": d_model, "patch_length": patch_length}
    optional = {name: size for name, size in optional.items() if size is not None}
    check_sizes(context_length=context_length, num_channels=num_channels, **optional)
    if d_model == 1 or (d_model is None and 1 in (num_channels, output_dim)):
        raise ValueError(
            f"d_model={d_model} leaves one feature, which layer normalisation replaces by a "
            "constant: give a d_model, such as 64."
        )
    if lags and patch_length is None:
        raise ValueError(f"lags={lags!r} requires a patch_length, such as patch_length=1.")
    if patch_length is None and head is None:
        tokens = _Steps(context_length, num_channels, output_dim, d_model, decoder_noise)
    else:
        given = {"output_dim": output_dim, "d_model": d_model, "decoder_noise": decoder_noise}
        _check_for_patches(num_channels, given)
        tokens = _Patches(context_length, num_channels, patch_length or 1, d_model, head, lags)
    block = {"num_heads": num_heads, "key_dim": key_dim, "ff_dim": ff_dim, "dropout": dropout}
    block |= {"norm": norm, "activation": activation}

    x = _embed(tokens.history(), dropout, "encoder")
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, name=f"encoder_{i}")
    encoder_output = close_stack(x, norm, name="encoder")

    x = _embed(tokens.decoder(), dropout, "decoder")
    for i in range(num_decoder_blocks):
        x = transformer_decoder(x, encoder_output, **block, name=f"decoder_{i}")
    x = close_stack(x, norm, dtype=full_precision(), name="decoder")
    name = name or unique_name("transformer")
    return AutoregressiveModel(tokens.inputs, tokens.outputs(x), name=name)


def _check_for_patches(num_channels, given):
    """Raise ValueError for an option that a model of patches or with a head cannot have."""
    expected = {"output_dim": num_channels, "d_model": given["d_model"] or 64, "decoder_noise": 0}
    for key, value in given.items():
        if value != expected[key]:
            raise ValueError(
                f"{key}={value!r} cannot be combined with patch_length or head, which make a "
                f"model for windows of {num_channels} channels."
            )


class _Steps:
    """A token per step, with all channels: the lesson's.

    The layers of a part are created when it is called, so that weights are drawn in the order of
    the figure: encoder, decoder, head. Under mixed precision the first and last layers, which
    process raw values, stay in float32.
    """

    def __init__(self, context_length, num_channels, output_dim, d_model, decoder_noise):
        self.inputs = [
            keras.Input((context_length, num_channels), name="encoder_inputs"),
            keras.Input((None, output_dim), name="decoder_inputs"),
        ]
        self.d_model, self.decoder_noise = d_model, decoder_noise
        self.options = {"dtype": full_precision()}

    def history(self):
        return self._project(self.inputs[0], "encoder")

    def decoder(self):
        noise = layers.GaussianNoise(self.decoder_noise, **self.options, name="decoder_noise")
        return self._project(noise(self.inputs[1]), "decoder")

    def outputs(self, x):
        return layers.Dense(self.inputs[1].shape[-1], **self.options, name="head")(x)

    def _project(self, x, name):
        if self.d_model is None:
            return x
        return layers.Dense(self.d_model, **self.options, name=f"{name}_projection")(x)


class _Patches:
    """A token per patch of a channel's normalised values: the forecaster's."""

    def __init__(self, context_length, num_channels, patch_length, d_model, head, lags):
        self.head = heads.get(head)
        sizes = context_length, patch_length, num_channels, patch_length, d_model
        self.tokens = patch_tokens(*sizes, self.head, None, lags)
        self.inputs = self.tokens.inputs

    def history(self):
        return self.tokens.history

    def decoder(self):
        return self.tokens.decoder

    def outputs(self, x):
        size = self.tokens.patch_length * self.head.size
        return self.tokens.forecast(dense(size, dtype=full_precision(), name="head")(x), self.head)


def _embed(x, dropout, name):
    """Add the position of each token."""
    options = {"dtype": full_precision()}
    x = PositionalEncoding(*x.shape[1:], **options, name=f"{name}_positions")(x)
    return Dropout(dropout, **options, name=f"{name}_dropout")(x)
