"""Layers of networks of causal filters, which TinyCast and Fracast share."""

import numpy as np
from keras import layers

from kerastrans.models.parts.sublayers import swiglu
from kerastrans.models.pretrained.keyed import KeyedLayers
from kerastrans.utils.precision import full_precision


class FilterLayers(KeyedLayers):
    """The layers of a network of filters, by their keys; see `KeyedLayers`."""

    def dense(self, key, units):
        """Return a linear layer."""
        return self(key, layers.Dense, units)

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
