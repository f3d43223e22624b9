"""FEDformer: a decomposition Transformer in the frequency domain (Zhou et al., 2022).

Paper: https://arxiv.org/abs/2201.12740
Code: https://github.com/MAZiqing/FEDformer/tree/c0f6b97
"""

import functools

import keras
from keras import ops

from kerastrans.layers import FourierBlock, FourierCrossAttention, MultiwaveletBlock
from kerastrans.layers.attention.fourier_attention import attend_to_frequencies
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.frequency.multiwavelets import MultiwaveletLayer, num_scales
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import decomposition_transformer, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_choice

ARCHITECTURE = {
    "summary": "Fourier blocks",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "shift", "takes heads"),
    "paper": {"d_model": 512, "num_heads": 8, "ff_dim": 2048},
    "features": "head: b t f",
}


@checked(may_be_zero=("skipped_levels",), may_be_tuple=("moving_average",))
def build_fedformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=256,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    moving_average=24,
    version="fourier",
    modes=64,
    mode_selection="random",
    cross_activation="tanh",
    wavelet_dim=16,
    num_polynomials=8,
    skipped_levels=0,
    shared_blocks=False,
    reference_layout=False,
    activation="gelu",
    dropout=0.05,
    head=None,
    name="fedformer",
):
    """Build FEDformer: Autoformer with Fourier or multiwavelet blocks as its attention.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, at most
            `context_length`; half the context by default.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        moving_average: int, number of steps in the moving average that estimates the trend, or a
            tuple of one int for each of several averages, such as `(24, 12)`. At each step, learnt
            weights that depend on the value mix them.
        version: "fourier" for Fourier blocks (FEDformer-f in the paper), or "wavelets" for
            multiwavelet blocks (FEDformer-w), which do not use `num_heads` and `mode_selection`.
        modes: int, number of frequencies that each Fourier block, or each scale of the multiwavelet
            cross-attention, keeps.
        mode_selection: "random" for frequencies that are drawn when the model is built, or "low"
            for the lowest ones, as the published code offers.
        cross_activation: "tanh" for the complex function of the scores of the cross-attention, or
            "softmax" for that of their absolute values, the two of the paper.
        wavelet_dim: int, number of coefficients of each polynomial in multiwavelet blocks; their
            cross-attention has half as many. The published code has 128.
        num_polynomials: int, number of Legendre polynomials of the multiwavelets.
        skipped_levels: int, number of the coarsest scales that multiwavelet blocks leave out;
            their cross-attention has all scales.
        shared_blocks: bool, whether the self-attentions of all encoder blocks have the same
            frequencies and complex weights, as in the published code, and those of the decoder.
        reference_layout: bool, whether steps and features are mixed after a Fourier block, as in
            the published code, see `kerastrans.layers.FourierBlock`. In the version "wavelets" it
            only leaves the windows uncentred.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the label is longer than the context.
        ValueError: If `moving_average` is empty.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `version`, `mode_selection`, `cross_activation` or `activation` is unknown.
        ValueError: If the context or the decoder's input is too short for `skipped_levels`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_fedformer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16, modes=4)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zhou et al. (2022), figure 2, equations 3-7, sections 3.3 and 3.4, without the
    embedding of the calendar.
    """
    check_choice("version", version, ("fourier", "wavelets"))
    check_choice("mode_selection", mode_selection, ("random", "low"))
    check_choice("cross_activation", cross_activation, ("tanh", "softmax"))
    check_choice("activation", activation, ("gelu", "relu"))
    label_length = resolve_label_length(label_length, context_length)
    averages = moving_average if isinstance(moving_average, tuple | list) else (moving_average,)
    if not averages:
        raise ValueError(f"moving_average must have at least one number, got {moving_average}.")
    if version == "wavelets":
        for length in (context_length, label_length + prediction_length):
            num_scales(length, skipped_levels)
        mix = functools.partial(
            MultiwaveletBlock, wavelet_dim, num_polynomials, skipped_levels=skipped_levels
        )
        half = max(1, wavelet_dim // 2)
        attend = functools.partial(MultiwaveletCrossAttention, half, num_polynomials, modes)
    else:
        options = {"reference_layout": reference_layout, "project": False}
        options["mode_selection"] = mode_selection
        mix = functools.partial(FourierBlock, num_heads, d_model, modes, **options)
        attend = functools.partial(FourierCrossAttention, num_heads, d_model, modes, **options)

    def project(make, num_inputs):
        """Return a function that returns blocks of a layer with projections around it."""
        shared = make() if shared_blocks else None

        def block():
            inner = shared or make()
            before = [dense(d_model) for _ in range(num_inputs)]
            after = dense(d_model)
            return lambda *x: after(inner(*(f(x) for f, x in zip(before, x, strict=True))))

        return block

    # The mixed layout turns the level of a window into a curve.
    center = None if reference_layout else "mean"
    window = open_window(context_length, num_channels, head, center=center)
    outputs = decomposition_transformer(
        window,
        prediction_length,
        head,
        encoder_attention=project(mix, 1),
        decoder_attention=project(mix, 1),
        cross_attention=project(functools.partial(attend, activation=cross_activation), 2),
        label_length=label_length,
        d_model=d_model,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        moving_averages=averages,
        activation=activation,
        dropout=dropout,
        longer="back",
    )
    return keras.Model(window.history, outputs, name=name)


@serializable
class MultiwaveletCrossAttention(KeepsQuantization, MultiwaveletLayer):
    """Multiwavelet attention: on each scale, the query's frequencies attend to the value's.

    Both sequences are decomposed as in `MultiwaveletBlock`. The value is first cut to the length
    of the query, or continued by zeros. The attention itself has no weights. Its result is divided
    by `d_model ** 2`, as in the published code.

    Args:
        channels, num_polynomials: As in `MultiwaveletBlock`.
        modes: int, maximum number of frequencies of each scale, the lowest ones.
        activation: "tanh" or "softmax", see `FourierCrossAttention`.

    Call arguments:
        query: `(batch, time, d_model)` with a known number of steps.
        value: `(batch, value_time, value_width)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1, or the query has a single step.
        ValueError: If `activation` is unknown.

    Example:
        >>> from keras import ops
        >>> layer = MultiwaveletCrossAttention(channels=2, num_polynomials=3)
        >>> ops.shape(layer(ops.ones((4, 36, 6)), ops.ones((4, 48, 6))))
        (4, 36, 6)

    Source: Zhou et al. (2022), section 3.3 (FEA-w); the division as in their code.
    """

    def __init__(self, channels, num_polynomials=8, modes=64, activation="tanh", **kwargs):
        check_choice("activation", activation, ("tanh", "softmax"))
        super().__init__(channels, num_polynomials, modes, **kwargs)
        self.activation = activation

    def build(self, query_shape, value_shape):
        self.scales = num_scales(query_shape[1])
        width = self.channels * self.num_polynomials
        self.query_dense = self._dense(width, query_shape[-1], "query")
        self.key_dense = self._dense(width, value_shape[-1], "key")
        self.output_dense = self._dense(query_shape[-1], width, "output")

    def call(self, query, value):
        length, d_model = query.shape[1:]
        keys = self.key_dense(value)[:, :length]
        keys = ops.pad(keys, ((0, 0), (0, length - keys.shape[1]), (0, 0)))
        queries = self._scales(self.query_dense(query), self.scales)
        keys = self._scales(keys, self.scales)
        parts = []
        for (q_average, q_detail), (k_average, k_detail) in zip(queries, keys, strict=True):
            details = self._attend(q_detail, k_detail)
            parts.append((details, details + self._attend(q_average, k_average)))
        coarsest = self._attend(queries[-1][0], keys[-1][0])
        # The restored sequence is linear in all parts.
        return self.output_dense(self._restore(coarsest, parts, length) / d_model**2)

    def _attend(self, query, value):
        """Return the attention of one scale `(batch, time, channels, polynomials)`."""
        length = query.shape[1]
        count = min(length // 2, self.modes)
        if count == 0:
            return ops.zeros_like(query)

        def spectrum(x):
            """Return two parts `(batch, frequencies, polynomials, channels)`."""
            parts = rfft(ops.transpose(x, (0, 3, 2, 1)))  # (batch, polynomials, channels, bins)
            return tuple(ops.transpose(part[..., :count], (0, 3, 1, 2)) for part in parts)

        def restore(x):
            missing = length // 2 + 1 - count
            return ops.pad(ops.transpose(x, (0, 2, 3, 1)), ((0, 0), (0, 0), (0, 0), (0, missing)))

        parts = attend_to_frequencies(spectrum(query), spectrum(value), self.activation)
        return ops.transpose(irfft(*map(restore, parts), length), (0, 3, 2, 1))

    def compute_output_shape(self, query_shape, value_shape):
        return query_shape
