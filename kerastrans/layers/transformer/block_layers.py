"""The blocks of the Transformer as layers, with the arguments of KerasHub's."""

from typing import Any

import keras

from kerastrans.layers.masks import given_masks
from kerastrans.layers.transformer.blocks import Block, check_width
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_dropout, check_positive_integers


class TransformerBlock(KeepsQuantization, keras.layers.Layer):
    """Base class of the blocks as layers, with the arguments of KerasHub's.

    Args:
        intermediate_dim, num_heads, key_dim, dropout, activation, layer_norm_epsilon,
        kernel_initializer, bias_initializer, normalize_first: See `TransformerEncoder`.
    """

    def __init__(
        self,
        *,
        intermediate_dim: int,
        num_heads: int,
        key_dim: int | None = None,
        dropout: float = 0.0,
        activation: Any = "relu",
        layer_norm_epsilon: float = 1e-5,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        normalize_first: bool = False,
        **kwargs: Any,
    ) -> None:
        check_positive_integers(intermediate_dim=intermediate_dim, num_heads=num_heads)
        if key_dim is not None:
            check_positive_integers(key_dim=key_dim)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.supports_masking = True
        self.intermediate_dim = intermediate_dim
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.activation = keras.activations.get(activation)
        self.layer_norm_epsilon = layer_norm_epsilon
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.normalize_first = normalize_first
        self._is_new = True

    def build_from_config(self, config):
        self._is_new = False  # files with blocks of width 1 load
        super().build_from_config(config)

    def build_block(self, shape, encoder_shape=None, causal=False):
        """Create the layers of the block for these shapes."""
        width = shape[-1]
        if self._is_new:
            check_width(shape)
        if self.key_dim is None and width % self.num_heads:
            raise ValueError(
                f"num_heads must divide the width of the inputs, {width}, got {self.num_heads}; or "
                "give a key_dim."
            )
        key_dim = self.key_dim or width // self.num_heads
        sizes = self.num_heads, key_dim, self.intermediate_dim, self.dropout
        norms = "pre" if self.normalize_first else "post", "layer", self.layer_norm_epsilon
        initializers = {
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        options = {"causal": causal, "activation": self.activation, "dtype": self.dtype_policy}
        self.block = Block(
            shape, encoder_shape, *sizes, norms, name="block", **options, **initializers
        )
        self.block_layers = self.block.layers  # Keras finds layers in lists

    def get_config(self):
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
            "activation": keras.activations.serialize(self.activation),
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "normalize_first": self.normalize_first,
        }


@keras.saving.register_keras_serializable(package="kerastrans")
class TransformerEncoder(TransformerBlock):
    """Encoder block as one layer: self-attention and a position-wise feed-forward network.

    The layer holds the block that `kerastrans.transformer_encoder` adds to a functional model.
    Arguments, defaults, call arguments and outputs equal those of KerasHub's layer of the same
    name, except that dropout also acts inside the feed-forward network, and that the implicit mask
    of the inputs and `padding_mask` are combined.

    Args:
        intermediate_dim: int, width of the feed-forward network's hidden layer.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head; the width of the inputs divided by `num_heads` by default.
        dropout: float in [0, 1), applied to the attention weights, in the feed-forward network and
            to both results.
        activation: Activation of the feed-forward network.
        layer_norm_epsilon: float, added to the variance in layer normalisation.
        kernel_initializer: Initializer of all projections.
        bias_initializer: Initializer of their biases.
        normalize_first: bool, whether the input of each sublayer is normalised (Xiong et al.,
            2020) instead of its output (Vaswani et al., 2017).
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        padding_mask: Boolean `(batch, time)`, True for steps that are not padding.
        attention_mask: Boolean `(batch, time, time)`, True = may be attended to.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1, or `dropout` is outside [0, 1).
        ValueError: If the inputs are not `(batch, time, d_model)`, or have one feature, which layer
            normalisation replaces by a constant.
        ValueError: If `num_heads` does not divide the width of the inputs, and no `key_dim` is
            given.

    Example:
        >>> import keras
        >>> encoder = TransformerEncoder(intermediate_dim=64, num_heads=8)
        >>> encoder(keras.Input((10, 64))).shape
        (None, 10, 64)

    Source: Vaswani et al. (2017), figure 1, left.
    """

    def build(self, inputs_shape):
        self.build_block(inputs_shape)

    def call(
        self,
        inputs: Tensor,
        padding_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        return self.block(inputs, self_masks=given_masks(padding_mask, attention_mask))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


@keras.saving.register_keras_serializable(package="kerastrans")
class TransformerDecoder(TransformerBlock):
    """Decoder block as one layer: causal self-attention, cross-attention, feed-forward network.

    The layer holds the block of `kerastrans.transformer_decoder`. Called with one sequence it has
    no cross-attention, as in a decoder-only model. Arguments, defaults, call arguments and outputs
    equal those of KerasHub's layer of the same name, with the differences of `TransformerEncoder`.
    Instead of its cache arguments, which a caller has to pass from step to step,
    `kerastrans.generate` keeps the cache.

    Args:
        intermediate_dim: int, width of the feed-forward network's hidden layer.
        num_heads: int, number of attention heads.
        **kwargs: Further arguments of `TransformerEncoder`.

    Call arguments:
        decoder_sequence: `(batch, time, d_model)`.
        encoder_sequence: `(batch, encoder_time, encoder_width)`; None for no cross-attention.
        decoder_padding_mask: Boolean `(batch, time)`, True for steps that are not padding.
        decoder_attention_mask: Boolean `(batch, time, time)`, True = may be attended to.
        encoder_padding_mask: Boolean `(batch, encoder_time)`.
        encoder_attention_mask: Boolean `(batch, time, encoder_time)`.
        use_causal_mask: bool, whether position t sees only positions 0..t.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: See `TransformerEncoder`.
        ValueError: If one call has an `encoder_sequence` and another one has not.

    Example:
        >>> import keras
        >>> decoder = TransformerDecoder(intermediate_dim=64, num_heads=8)
        >>> decoder(keras.Input((10, 64)), keras.Input((20, 32))).shape
        (None, 10, 64)

    Source: Vaswani et al. (2017), figure 1, right.
    """

    def build(self, decoder_sequence_shape, encoder_sequence_shape=None):
        self.build_block(decoder_sequence_shape, encoder_sequence_shape, causal=True)

    def call(
        self,
        decoder_sequence: Tensor,
        encoder_sequence: Tensor | None = None,
        decoder_padding_mask: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_padding_mask: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        use_causal_mask: bool = True,
    ) -> Tensor:
        if (encoder_sequence is None) != (self.block.cross_attention is None):
            had, has = ("no", "one") if self.block.cross_attention is None else ("an", "none")
            raise ValueError(f"{self.name} was built with {had} encoder_sequence, got {has}.")
        masks = given_masks(decoder_padding_mask, decoder_attention_mask)
        masks["use_causal_mask"] = use_causal_mask
        cross = given_masks(encoder_padding_mask, encoder_attention_mask)
        return self.block(decoder_sequence, encoder_sequence, self_masks=masks, cross_masks=cross)

    def compute_output_shape(self, decoder_sequence_shape, encoder_sequence_shape=None):
        return decoder_sequence_shape
