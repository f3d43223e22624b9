"""Train on several devices: each has a part of the batch, or of the weights."""

import contextlib

import keras
import numpy as np

from kerastrans.utils.validation import check_choice

KINDS = ("data", "model")

# How the large matrices of a Transformer block are cut, after Shoeybi et al. (2019): heads, and
# the hidden units of the feed-forward network, are on different devices. The rest is copied. Keras
# knows a variable by its path alone, and numbers the layers that have no name of their own.
_ATTENTION = r"(.*/)?((?!interpretable).*)attention(_\d+)?"
_LAYOUT = {
    rf"{_ATTENTION}/(query|key|value)/kernel": (None, "model"),
    rf"{_ATTENTION}/(query|key|value)/bias": ("model",),
    rf"{_ATTENTION}/output/kernel": ("model", None),
    r".*ffn_expand/kernel": (None, "model"),
    r".*ffn_expand/bias": ("model",),
    r".*ffn_contract/kernel": ("model", None),
}


@contextlib.contextmanager
def distribute(kind="data", num_devices=None, model_devices=2):
    """Models that are built, compiled and fit inside train on several devices.

    "data" copies the model to every device and gives each a part of every batch, which the number
    of devices must divide; the gradients are averaged, so that the losses are those of one device.
    "model" also cuts the attention heads and `position_wise_ffn` of Transformer blocks into parts
    on different devices, for models that one device cannot hold.

    On JAX this is `keras.distribution`, over the devices of all processes once
    `keras.distribution.initialize` has joined them. On TensorFlow it is `tf.distribute.
    MirroredStrategy`, for "data" alone.

    Args:
        kind: "data" or "model".
        num_devices: int, of those there are; None for all.
        model_devices: int, over which "model" cuts the weights; the batch goes over the others.

    Raises:
        ValueError: another kind.
        ValueError: more devices than there are, or a number that `model_devices` does not divide.
        RuntimeError: a backend that cannot.

    Example:
        >>> import keras
        >>> with distribute("data", num_devices=1):
        ...     model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    """
    check_choice("kind", kind, KINDS)
    backend = keras.backend.backend()
    if backend == "torch" or (backend == "tensorflow" and kind == "model"):
        raise RuntimeError(
            f"Keras cannot distribute {kind!r} on {backend}: run with KERAS_BACKEND=jax."
        )
    if backend == "tensorflow":
        with _mirrored(num_devices).scope():
            yield
        return
    before = keras.distribution.distribution()
    devices = _chosen(keras.distribution.list_devices(), num_devices)
    keras.distribution.set_distribution(_distribution(kind, devices, model_devices))
    try:
        yield
    finally:
        keras.distribution.set_distribution(before)


def _distribution(kind, devices, model_devices):
    if kind == "data":
        # Every process makes its own part of a batch, see `kerastrans.data.batches`.
        return keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    if len(devices) % model_devices:
        raise ValueError(
            f"model_devices must divide num_devices={len(devices)}, got {model_devices}."
        )
    mesh = keras.distribution.DeviceMesh(
        (len(devices) // model_devices, model_devices), ("batch", "model"), np.array(devices)
    )
    layout = keras.distribution.LayoutMap(mesh)
    for path, axes in _LAYOUT.items():
        layout[path] = keras.distribution.TensorLayout(axes)
    return keras.distribution.ModelParallel(
        layout_map=layout, batch_dim_name="batch", auto_shard_dataset=False
    )


def _mirrored(num_devices):
    import tensorflow as tf

    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    names = [device.name for device in tf.config.list_logical_devices(kind)]
    return tf.distribute.MirroredStrategy(_chosen(names, num_devices))


def _chosen(devices, number):
    if number is not None and not 1 <= number <= len(devices):
        raise ValueError(f"num_devices must be from 1 to the {len(devices)} there are: {devices}.")
    return devices[:number]
