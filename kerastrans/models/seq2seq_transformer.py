"""The encoder-decoder Transformer on tokens (Vaswani et al., 2017), as for translation.

Paper: https://arxiv.org/abs/1706.03762
"""

import keras
from keras import layers, ops

from kerastrans.decoding.generation import TokenModel
from kerastrans.layers import Dropout, PositionalEncoding
from kerastrans.layers.masks import create_padding_mask
from kerastrans.layers.transformer.blocks import transformer_decoder, transformer_encoder
from kerastrans.models.parts.checks import check_sizes, unique_name
from kerastrans.models.parts.sublayers import close_stack
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_divides, check_dropout


def build_seq2seq_transformer(
    source_vocab_size: int,
    target_vocab_size: int,
    d_model: int,
    num_heads: int,
    ff_dim: int,
    num_encoder_blocks: int,
    num_decoder_blocks: int,
    dropout: float = 0.1,
    *,
    norm: str = "pre",
    activation: str = "relu",
    tied_embeddings: bool = False,
    name: str | None = None,
) -> keras.Model:
    """Build the encoder-decoder Transformer that turns one sequence of tokens into another.

    Args:
        source_vocab_size: int, number of the source's tokens.
        target_vocab_size: int, number of the target's tokens.
        d_model: int, width of the embeddings and of all blocks.
        num_heads: int, number of attention heads; it divides `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of blocks of the encoder.
        num_decoder_blocks: int, number of blocks of the decoder.
        dropout: float in [0, 1).
        norm: "pre" (with a last normalisation after each stack; Xiong et al., 2020) or "post"
            (Vaswani et al., 2017).
        activation: Activation of the feed-forward networks.
        tied_embeddings: bool, whether the head uses the target embedding's matrix.
        name: str, name of the model; by default "seq2seq_transformer", with a number if it is not
            the first one, as Keras names layers.

    Returns:
        A functional Keras model `[source, source_lengths, target] -> logits`, of shapes
        `(batch, source_steps)`, `(batch,)`, `(batch, time)` and `(batch, time,
        target_vocab_size)`, for any number of steps. `source_lengths` are the numbers of source
        tokens that are not padding. The softmax is applied by the loss and the samplers: compile
        with `keras.losses.SparseCategoricalCrossentropy(from_logits=True,
        ignore_class=PAD)`. Its `generate(source, source_lengths, num_steps, sampler=None)` is
        `kerastrans.generate_tokens`.

    Raises:
        ValueError: If a size is not a positive integer, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `norm` is unknown.

    Example:
        >>> sizes = {"d_model": 8, "num_heads": 2, "ff_dim": 16}
        >>> model = build_seq2seq_transformer(
        ...     20, 30, **sizes, num_encoder_blocks=1, num_decoder_blocks=1
        ... )
        >>> model.output_shape
        (None, None, 30)

    Source: Vaswani et al. (2017), figure 1; tied embeddings: section 3.4.
    """
    check_sizes(
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        d_model=d_model,
        num_heads=num_heads,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
    )
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)
    check_choice("norm", norm, ("pre", "post"))
    block = {"num_heads": num_heads, "key_dim": d_model // num_heads, "ff_dim": ff_dim}
    block |= {"dropout": dropout, "norm": norm, "activation": activation}
    # Entries of a variance of 1 / d_model: times the root of d_model they have 1.
    kwargs = {"embeddings_initializer": keras.initializers.RandomNormal(stddev=d_model**-0.5)}
    sizes = source_vocab_size, d_model
    source_embedding = layers.Embedding(*sizes, **kwargs, name="source_embedding")
    kwargs |= {"reverse_dtype": full_precision(), "name": "target_embedding"}
    sizes = target_vocab_size, d_model, tied_embeddings
    target_embedding = layers.ReversibleEmbedding(*sizes, **kwargs)

    def embed(tokens, embedding, stack):
        x = embedding(tokens) * d_model**0.5  # (batch, time, d_model)
        x = PositionalEncoding(None, d_model, name=f"{stack}_positions")(x)
        return Dropout(dropout, name=f"{stack}_dropout")(x)

    source = keras.Input((None,), dtype="int32", name="source")
    source_lengths = keras.Input((), dtype="int32", name="source_lengths")
    mask = PaddingMask(name="source_mask")(source, source_lengths)
    x = embed(source, source_embedding, "encoder")
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, padding_mask=mask, name=f"encoder_{i}")
    encoder_output = close_stack(x, norm, name="encoder")

    target = keras.Input((None,), dtype="int32", name="target")
    x = embed(target, target_embedding, "decoder")
    for i in range(num_decoder_blocks):
        x = transformer_decoder(
            x, encoder_output, **block, encoder_padding_mask=mask, name=f"decoder_{i}"
        )
    logits = target_embedding(close_stack(x, norm, name="decoder"), reverse=True)
    name = name or unique_name("seq2seq_transformer")
    return TokenModel([source, source_lengths, target], logits, name=name)


@keras.saving.register_keras_serializable(package="kerastrans")
class PaddingMask(keras.layers.Layer):
    """`create_padding_mask` for the number of steps of a sequence.

    Call arguments:
        sequence: `(batch, time)` or `(batch, time, ...)`; only its length is used.
        valid_lengths: Integers `(batch,)`.

    Returns:
        Boolean `(batch, time)`, True for steps that are not padding.

    Example:
        >>> from keras import ops
        >>> mask = PaddingMask()(ops.zeros((2, 3, 1)), ops.convert_to_tensor([1, 3]))
        >>> ops.convert_to_numpy(mask).astype(int).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """

    def call(self, sequence, valid_lengths):
        return create_padding_mask(valid_lengths, ops.shape(sequence)[1])

    def compute_mask(self, sequence, previous_mask):
        """Return None: the result is a mask, and has none."""
        return None

    def decode(self, sequence, valid_lengths, *, positions):
        """Return the mask `(batch, time)` of the newest steps."""
        return positions < ops.cast(valid_lengths, "int32")[:, None]

    def compute_output_spec(self, sequence, valid_lengths):
        return keras.KerasTensor(sequence.shape[:2], dtype="bool")
