"""Layers of networks of filters, which TinyCast, Fracast and Reverso share."""

import numpy as np
from keras import layers

from kerastrans.layers import CausalDepthwiseConvolution
from kerastrans.models.parts.sublayers import swiglu
from kerastrans.models.pretrained.checkpoint import linear
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.utils.precision import full_precision


class FilterLayers(KeyedLayers):
    """The layers of a network of filters, by their keys; see `KeyedLayers`."""

    def __init__(self, kinds=None):
        # A convolution over one step is a linear layer whose matrix has a further axis.
        own = {CausalDepthwiseConvolution: _filter_layout, layers.Conv1D: linear}
        super().__init__({**own, **(kinds or {})})

    def dense(self, key, units, use_bias=True):
        """Return a linear layer."""
        return self(key, layers.Dense, units, use_bias=use_bias)

    def norm(self, key):
        """Return a normalisation with the machine epsilon of the dtype, PyTorch's default."""
        return self(key, layers.RMSNormalization, epsilon=float(np.finfo(full_precision()).eps))

    def gated(self, key, width, hidden):
        """Return a gated network over the features, as a function."""
        up, down = self.dense(f"{key}.up", 2 * hidden), self.dense(f"{key}.down", width)
        return lambda x: swiglu(x, up, down)

    def residual_block(self, key, convolution, mix, gated):
        """Return a block as a function of inputs `(batch, time, width)` and a dilation.

        Args:
            key: str, prefix of the two normalisations.
            convolution: `kerastrans.layers.CausalDepthwiseConvolution`.
            mix: Layer over the features, after the convolution.
            gated: Function over the features, see `gated`.
        """
        first, second = self.norm(f"{key}.norm1"), self.norm(f"{key}.norm2")

        def apply(x, dilation):
            x = first(x + mix(convolution(x, dilation=dilation)))
            return second(x + gated(x))

        return apply


def _filter_layout(key, layer):
    layout = {f"{key}.weight": (layer.kernel, lambda x: x[:, 0].T)}
    return {**layout, f"{key}.bias": layer.bias} if layer.use_bias else layout
