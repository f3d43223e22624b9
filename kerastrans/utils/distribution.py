"""Training on several devices, each with a part of the batch or of the weights."""

import contextlib

import keras
import numpy as np

from kerastrans.utils.validation import check_choice

KINDS = ("data", "model")

# Sharding of the large matrices of a Transformer block, after Shoeybi et al. (2019): the heads and
# the hidden units of the feed-forward network are on different devices, and other weights are
# copied. Keras identifies a variable only by its path, and numbers layers without a name.
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
    """Train models on several devices if they are built, compiled and fitted inside this context.

    "data" copies the model to every device and gives each a part of every batch, whose size must
    be divisible by the number of devices. Gradients are averaged, so that the losses equal those of
    a single device. "model" also distributes the attention heads and `position_wise_ffn` of
    Transformer blocks over devices, for models that do not fit on one.

    On JAX this uses `keras.distribution`, with the devices of all processes that
    `keras.distribution.initialize` has connected. On TensorFlow it uses
    `tf.distribute.MirroredStrategy`, which only supports "data".

    Args:
        kind: "data" or "model".
        num_devices: int, number of devices to use; None for all.
        model_devices: int, number of devices over which "model" distributes the weights. The batch
            is distributed over the quotient of `num_devices` and this number.

    Raises:
        ValueError: If the kind is unknown.
        ValueError: If there are fewer devices, or `model_devices` does not divide their number.
        RuntimeError: If the backend does not support the kind.

    Example:
        >>> import keras
        >>> with distribute("data", num_devices=1):
        ...     model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    """
    check_choice("kind", kind, KINDS)
    backend = keras.backend.backend()
    if backend == "torch" or (backend == "tensorflow" and kind == "model"):
        raise RuntimeError(
            f"Keras does not support kind={kind!r} on {backend}: run with KERAS_BACKEND=jax."
        )
    if backend == "tensorflow":
        with _mirrored_strategy(num_devices).scope():
            yield
        return
    before = keras.distribution.distribution()
    devices = _first_devices(keras.distribution.list_devices(), num_devices)
    keras.distribution.set_distribution(_distribution(kind, devices, model_devices))
    try:
        yield
    finally:
        keras.distribution.set_distribution(before)


def _distribution(kind, devices, model_devices):
    """Return the Keras distribution over these devices."""
    if kind == "data":
        # Every process creates its own part of a batch, see `kerastrans.data.batches`.
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


def _mirrored_strategy(num_devices):
    """Return TensorFlow's strategy over the GPUs, or over the CPUs if there is none."""
    import tensorflow as tf

    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    names = [device.name for device in tf.config.list_logical_devices(kind)]
    return tf.distribute.MirroredStrategy(_first_devices(names, num_devices))


def _first_devices(devices, number):
    """Return the first devices, all if `number` is None; raise ValueError if there are fewer."""
    if number is not None and not 1 <= number <= len(devices):
        raise ValueError(
            f"num_devices must be from 1 to {len(devices)}, the number of devices, got {number}."
        )
    return devices[:number]
