"""kerastrans-zero: the small zero-shot forecaster of this package, trained on synthetic series."""

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import ObservedNormalization
from kerastrans.models.pretrained.base import PretrainedModel
from kerastrans.models.pretrained.checkpoint import assign, read_sizes
from kerastrans.models.pretrained.scaling import rescaled
from kerastrans.models.pretrained.zero.network import LONGEST, build_network, shorten
from kerastrans.utils.validation import check_at_most

ARCHITECTURE, NAME = "KerastransZero", "kerastrans_zero"
SHORTEST = 256  # smallest window, in steps
SIZES = ("context_length", "octaves", "cycles", "width", "hidden")


def reads(config):
    """Return whether a configuration is one of kerastrans-zero."""
    return ARCHITECTURE in (config.get("architectures") or ())


def load(config, tensors):
    """Load the model of a checkpoint, see `kerastrans.models.pretrained.load`."""
    read_sizes(config, *SIZES)
    check_at_most(**{"the longest window": LONGEST, "context_length": config["context_length"]})
    if "quantiles" not in config:
        raise ValueError("the configuration lacks 'quantiles'.")
    network = build_network(config)
    dense = [layer for layer in network.layers if isinstance(layer, layers.Dense)]
    layout = {f"{x.name}.{part}": getattr(x, part) for x in dense for part in ("kernel", "bias")}
    assign(tensors, layout)
    return KerastransZero(network, config["quantiles"], config["context_length"])


class KerastransZero(PretrainedModel):
    """kerastrans-zero, which forecasts any horizon at once; see `PretrainedModel`.

    Each series is forecast separately. In each octave of lags the model finds the lag with the
    highest autocorrelation of the window. For each future step a small network then computes a
    weighted mean of the last values of the same phase at all of these lags, and adds slopes and
    quantiles in units of the naive errors at these lags.
    """

    usual_context = 1024
    equivariance = "affine"

    def __init__(self, network, levels, max_context):
        super().__init__(network, levels, max_context)
        self.networks = {max_context: network}  # by the length of the window

    def padded_length(self, length):
        window = SHORTEST
        while window < length:
            window *= 2
        return min(window, self.max_context)

    def quantiles(self, history, prediction_length):
        length = self.padded_length(history.shape[1])
        if length not in self.networks:
            self.networks[length] = shorten(self.network, length)
        inputs, location, scale = normalized(history, length, prediction_length)
        return rescaled(self.networks[length](inputs), location, scale)

    def shorten(self, model, context_length):
        """Return a model of `build` like another one, with another context and the same spread."""
        prediction_length, num_channels = model.output_shape[1:3]
        shorter = self.build(context_length, prediction_length, num_channels)
        heads.copy_spread(model, shorter)
        return shorter


def network_of(model):
    """Return the network of kerastrans-zero in a model that was built from it, or None."""
    inner = [x for x in model.layers if isinstance(x, keras.Model) and x.name == NAME]
    return inner[0] if model.name == NAME and len(inner) == 1 else None


def pretrained_of(model):
    """Return the `KerastransZero` that a model was built from, with its weights, or None.

    Args:
        model: Keras model, also one that was trained or read from a file.
    """
    network = network_of(model)
    if network is None:
        return None
    return KerastransZero(network, heads.of(model).levels, network.inputs[0].shape[1])


def normalized(history, length, prediction_length):
    """Return the inputs of the network for histories `(batch, time)`, NaN where missing.

    Args:
        history: Tensor.
        length: int, number of steps that the network reads.
        prediction_length: int, number of steps to forecast.

    Returns:
        `([values, observed, steps], location, scale)`, see `build_network`; location and scale are
        `(batch, 1)`, the mean and the deviation of each window.
    """
    values, observed, location, scale = ObservedNormalization()(history[:, -length:])
    padding = [[0, 0], [length - values.shape[1], 0]]
    values, observed = ops.pad(values, padding), ops.pad(observed, padding)
    steps = np.arange(1, prediction_length + 1, dtype=values.dtype)[None]
    steps = ops.zeros_like(values[:, :1]) + steps
    return [values, observed, steps], location, scale
