"""Choice of the number format that models compute in, and the parts that stay in float32.

Keras is imported inside the functions: layers import `full_precision` while the first import of
Keras registers them, see `kerastrans._register`.
"""

import json

from kerastrans.utils.validation import check_choice

# Dtype policy of Keras, and whether products of float32 matrices may round their factors to tf32.
POLICIES = {
    "float32": ("float32", False),
    "tf32": ("float32", True),
    "bfloat16": ("mixed_bfloat16", True),
    "float16": ("mixed_float16", True),
}


def use(precision="auto"):
    """Choose the number format of models that are built afterwards.

    "float32" computes entirely in float32. "tf32" keeps float32, but lets a GPU round the factors
    of matrix products to 10 bits. "bfloat16" and "float16" compute in 16 bits and keep weights, the
    softmax and both ends of the model in float32; with "float16" `compile` scales the loss, so that
    small gradients do not vanish. If this function is called before the first tensor is created,
    GPU memory is allocated as needed and not all at once.

    Args:
        precision: str, one of these names; or "auto" for the best format of the device, which is
            bfloat16 on a TPU or a GPU of compute capability 8.0 or more, float16 on a GPU of 7.0 or
            more, and otherwise float32.

    Returns:
        Name of the chosen format.

    Raises:
        ValueError: If the name is unknown.
    """
    check_choice("precision", precision, ("auto", *POLICIES))
    import keras

    from kerastrans.utils import backend

    backend.grow_memory()
    if precision == "auto":
        precision = _best(*backend.accelerator())
    policy, rounds = POLICIES[precision]
    backend.round_products(rounds)
    keras.config.set_dtype_policy(policy)
    return precision


def _best(kind, capability):
    """Return the best number format of a device."""
    if kind == "tpu" or (kind == "gpu" and capability >= (8, 0)):
        return "bfloat16"
    return "float16" if kind == "gpu" and capability >= (7, 0) else "float32"


def full_precision():
    """Return the dtype of layers that process the values of the series: the variable dtype.

    This is float32 for "mixed_float16" and "mixed_bfloat16", whose 11 and 8 bits of precision are
    not enough for the level of a series and its forecast, and the policy's dtype otherwise.
    """
    import keras

    return keras.config.dtype_policy().variable_dtype


def without_bfloat16(model):
    """Return the model, or its copy in float32 if a layer computes in bfloat16.

    Most file formats and their runtimes cannot compute in it. The weights are float32 anyway.
    """
    from kerastrans.utils.keras_internals import all_layers

    if not any(layer.compute_dtype == "bfloat16" for layer in all_layers(model)):
        return model
    config = json.dumps(model.get_config())
    for name in ("mixed_bfloat16", "bfloat16"):
        config = config.replace(f'"{name}"', '"float32"')
    copy = type(model).from_config(json.loads(config))
    copy.set_weights(model.get_weights())
    return copy
