"""The decoder block of the Transformer as one layer that can be decoded step by step."""

import inspect

import keras

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.masks import implicit_masks, pass_mask
from kerastrans.layers.transformer.encoder import TransformerBlock
from kerastrans.utils.types import Tensor


@keras.saving.register_keras_serializable(package="kerastrans")
class TransformerDecoder(TransformerBlock):
    """Decoder block as one layer: causal self-attention, cross-attention, feed-forward network.

    The block is that of `kerastrans.transformer_decoder`. Called with one sequence the layer has
    no cross-attention, as in a decoder-only model. Arguments, defaults, call arguments and outputs
    are those of KerasHub's layer of the same name, with the differences of `TransformerEncoder`.
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
        masks, cross = _attention_masks(
            decoder_padding_mask=decoder_padding_mask,
            decoder_attention_mask=decoder_attention_mask,
            encoder_padding_mask=encoder_padding_mask,
            encoder_attention_mask=encoder_attention_mask,
            use_causal_mask=use_causal_mask,
        )
        return self.block(decoder_sequence, encoder_sequence, self_masks=masks, cross_masks=cross)

    def check_decode(self, *args, time_axes, **kwargs):
        """See `kerastrans.decoding.contract`."""
        reads_ahead = False
        axes = _attention_axes(time_axes)
        for number, (layer, given, masks) in enumerate(self._attentions(args, kwargs)):
            reads_ahead |= layer.check_decode(*given, **masks, time_axes=axes[number])
        return reads_ahead

    def start_cache(self, *args, batch_size, length, **kwargs):
        """Return the caches of the attention layers, see `CachedMultiHeadAttention`."""
        return [
            layer.start_cache(*given, **masks, batch_size=batch_size, length=length)
            for layer, given, masks in self._attentions(args, kwargs)
        ]

    def start_shared(self, *args, **kwargs):
        """Return what the sequences of a history share, see `CachedMultiHeadAttention`."""
        calls = self._attentions(args, kwargs)
        return [layer.start_shared(*given, **masks) for layer, given, masks in calls]

    def decode(
        self, *args, cache, index, time_axes, shared=(None, None), copies=NO_COPIES, **kwargs
    ):
        """Decode one step `(batch, 1, d_model)` at position `index`.

        Returns:
            The output `(batch, 1, d_model)`, and the caches.
        """
        states, updated = zip(cache, shared, _attention_axes(time_axes), strict=False), []

        def attend(layer, *given, **masks):
            masks |= implicit_masks(layer, given, masks)
            state = dict(zip(("cache", "shared", "time_axes"), next(states), strict=True))
            outputs, new = layer.decode(*given, **masks, **state, index=index, copies=copies)
            pass_mask(layer, given[0], outputs)
            updated.append(new)
            return outputs

        x, memory, masks, cross = self._arguments(args, kwargs)
        return self.block(x, memory, self_masks=masks, cross_masks=cross, attend=attend), updated

    def _arguments(self, args, kwargs):
        """Return the two sequences of a call, and the masks of both attention layers."""
        given = inspect.signature(self.call).bind(*args, **kwargs).arguments
        x, memory = given.pop("decoder_sequence"), given.pop("encoder_sequence", None)
        return x, memory, *_attention_masks(**given)

    def _attentions(self, args, kwargs):
        """Return each attention layer of a call, with its arguments and its masks."""
        x, memory, masks, cross = self._arguments(args, kwargs)
        calls = [(self.block.self_attention, (x,), masks)]
        if memory is not None:
            calls.append((self.block.cross_attention, (x, memory), cross))
        return [(layer, x, masks | implicit_masks(layer, x, masks)) for layer, x, masks in calls]

    def compute_output_shape(self, decoder_sequence_shape, encoder_sequence_shape=None):
        return decoder_sequence_shape


def _attention_masks(*, use_causal_mask=True, **masks):
    """Return the masks of the self-attention and of the attention to the encoder's sequence."""
    own, cross = (
        {name: masks.get(f"{prefix}_{name}") for name in ("padding_mask", "attention_mask")}
        for prefix in ("decoder", "encoder")
    )
    return {**own, "use_causal_mask": use_causal_mask}, cross


def _attention_axes(time_axes):
    """Return `time_axes` by the names that the arguments have in both attention layers."""
    own, cross = {}, {}
    for name, axis in time_axes.items():
        if name == "decoder_sequence":
            own["query"] = cross["query"] = axis
        elif name.startswith("decoder_"):
            own[name.removeprefix("decoder_")] = axis
        elif name == "encoder_sequence":
            cross["value"] = axis
        else:
            cross[name.removeprefix("encoder_")] = axis
    return own, cross
