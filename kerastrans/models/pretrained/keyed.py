"""Layers of a network, indexed by the keys of its checkpoint."""

from keras import layers

from kerastrans.layers import RelativePositionBias, UnscaledAttention
from kerastrans.models.pretrained.checkpoint import linear

INITIALIZERS = {
    layers.Dense: "kernel_initializer",
    layers.Embedding: "embeddings_initializer",
    UnscaledAttention: "kernel_initializer",
}


class KeyedLayers:
    """Creates layers and indexes them by their keys in a checkpoint.

    Once all layers of a network have been called, `layout` returns the key of each weight.

    Args:
        kinds: Dict from layer classes of a specific architecture to a function of a key and a
            layer, which returns its part of the layout.

    Example:
        >>> import keras
        >>> layer = KeyedLayers()
        >>> x = layer("encoder.wi", keras.layers.Dense, 4, use_bias=False)(keras.Input((3,)))
        >>> {key: tuple(target[0].shape) for key, target in layer.layout().items()}
        {'encoder.wi.weight': (3, 4)}
    """

    def __init__(self, kinds=None):
        self._layers = {}
        self._kinds = kinds or {}

    def __call__(self, key, kind, *args, **kwargs):
        """Return the layer of a key; the first call creates it as `kind(*args, **kwargs)`."""
        if key not in self._layers:
            # Zeros, because the checkpoint replaces the weights: drawing them took 6 s of 10 on
            # JAX.
            zeros = {name: "zeros" for part, name in INITIALIZERS.items() if issubclass(kind, part)}
            # PyTorch does not allow dots in the names of its parameters.
            self._layers[key] = kind(*args, **{**zeros, **kwargs}, name=key.replace(".", "_"))
        return self._layers[key]

    def layout(self):
        """Return the layout of the layers, see `checkpoint.assign`."""
        layout = {}
        for key, layer in self._layers.items():
            layout.update(self._kinds.get(type(layer), _layout)(key, layer))
        return layout


def _layout(key, layer):
    if isinstance(layer, layers.Dense):
        return linear(key, layer)
    if isinstance(layer, UnscaledAttention):
        parts = {
            "q": layer.query_dense,
            "k": layer.key_dense,
            "v": layer.value_dense,
            "o": layer.output_dense,
        }
        return {
            name: target
            for part, dense in parts.items()
            for name, target in linear(f"{key}.{part}", dense).items()
        }
    if isinstance(layer, layers.LayerNormalization):
        return {f"{key}.weight": layer.gamma, f"{key}.bias": layer.beta}
    weights = {
        layers.RMSNormalization: "scale",
        layers.Embedding: "embeddings",
        layers.ReversibleEmbedding: "embeddings",
        RelativePositionBias: "table",
    }
    return {f"{key}.weight": getattr(layer, weights[type(layer)])}
