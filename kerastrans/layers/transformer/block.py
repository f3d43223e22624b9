"""The layers of a Transformer block, and their order."""

from kerastrans.layers.attention.cached_attention import CachedMultiHeadAttention
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.transformer.sublayers import EPSILON, FeedForward, Residual, prefix_name
from kerastrans.utils.validation import check_sequence


class Block:
    """Self-attention, attention to a memory if there is one, and a feed-forward network.

    The object creates and builds the layers of one block, and calls them in the order of figure 1.
    It is not a layer: `transformer_encoder` and `transformer_decoder` call it on KerasTensors, so
    that a functional model shows every layer, and `TransformerEncoder` and `TransformerDecoder`
    call it inside.

    Args:
        shape: Shape of the inputs, `(batch, time, d_model)`.
        memory_shape: Shape of the memory, `(batch, memory_time, memory_width)`; None for none.
        num_heads: int, number of attention heads.
        key_dim: int, width of each head.
        ff_dim: int, width of the feed-forward network's hidden layer.
        dropout: float in [0, 1).
        causal: bool, whether position t sees only positions 0..t of the inputs.
        norm, normalization, epsilon: See `Residual`.
        activation: Activation of the feed-forward network.
        attention_dropout: float in [0, 1), dropout of the attention weights; `dropout` by default.
        kernel_initializer, bias_initializer: Initializers of all projections.
        self_attention: Layer or function used instead of multi-head self-attention.
        dtype: Data type or policy of the layers.
        name: Prefix of the layers' names.
    """

    def __init__(
        self,
        shape,
        memory_shape=None,
        *,
        num_heads,
        key_dim,
        ff_dim,
        dropout=0.0,
        causal=False,
        norm="pre",
        normalization="layer",
        epsilon=EPSILON,
        activation="relu",
        attention_dropout=None,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        self_attention=None,
        dtype=None,
        name=None,
    ):
        initial = {"kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer}
        self.layers = []

        def attention(kind, memory_shape=None, **options):
            layer = CachedMultiHeadAttention(
                num_heads=num_heads,
                key_dim=key_dim,
                dropout=dropout if attention_dropout is None else attention_dropout,
                **initial,
                dtype=dtype,
                name=prefix_name(name, kind),
                **options,
            )
            layer.build(shape, memory_shape)
            self.layers.append(layer)
            return layer

        def around(kind):
            prefix = prefix_name(name, kind)
            residual = Residual(norm, normalization, epsilon, dtype, prefix)
            residual.normalise.build(shape)
            residual.add.build([shape, shape])
            drop = Dropout(dropout, dtype=dtype, name=prefix_name(prefix, "dropout"))
            self.layers += [*residual.layers, drop]
            return lambda x, sublayer: residual(x, lambda x: drop(sublayer(x)))

        check_sequence(inputs=shape)
        if memory_shape is not None:
            check_sequence(**{"the encoder's output": memory_shape})
        self.self_attention = self_attention or attention("self_attention", causal=causal)
        self._around_self_attention = around("self_attention")
        self.cross_attention = None
        if memory_shape is not None:
            self.cross_attention = attention("cross_attention", memory_shape)
            self._around_cross_attention = around("cross_attention")
        self._feed_forward = FeedForward(
            shape, ff_dim, dropout, activation=activation, **initial, dtype=dtype, name=name
        )
        self.layers += self._feed_forward.layers
        self._around_feed_forward = around("ffn")

    def __call__(self, x, memory=None, *, self_masks=None, cross_masks=None, attend=None):
        """Return the block's output `(batch, time, d_model)`.

        Args:
            x: `(batch, time, d_model)`.
            memory: `(batch, memory_time, memory_width)`.
            self_masks: Dict of masks of the self-attention, by the names of its arguments.
            cross_masks: Dict of masks of the attention to the memory.
            attend: Function of an attention layer and its arguments that calls the layer, or
                decodes a step with it.
        """
        attend = attend or (lambda layer, *args, **kwargs: layer(*args, **kwargs))
        self_masks, cross_masks = self_masks or {}, cross_masks or {}
        x = self._around_self_attention(x, lambda x: attend(self.self_attention, x, **self_masks))
        if self.cross_attention is not None:
            x = self._around_cross_attention(
                x, lambda x: attend(self.cross_attention, x, memory, **cross_masks)
            )
        return self._around_feed_forward(x, self._feed_forward)
