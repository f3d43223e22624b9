"""The number formats that a model computes in: how to choose one, and what stays in float32.

Keras is imported where it is used: layers take `full_precision` from here while the first import of
Keras registers them, see `kerastrans._register`.
"""

from kerastrans.utils.validation import check_choice

# Keras's dtype policy, and whether matrix products of float32 may round their factors to tf32.
POLICIES = {
    "float32": ("float32", False),
    "tf32": ("float32", True),
    "bfloat16": ("mixed_bfloat16", True),
    "float16": ("mixed_float16", True),
}


def use(precision="auto"):
    """Choose the number format of the models that are built from now on.

    "float32" computes in float32 throughout. "tf32" keeps float32 but lets a GPU round the factors
    of matrix products to 10 bits. "bfloat16" and "float16" compute in 16 bits and keep weights, the
    softmax and both ends of the model in float32; under "float16" `compile` scales the loss, so
    that small gradients do not vanish. A GPU's memory is taken as it is needed, not all at once,
    if this is called before the first tensor.

    Args:
        precision: one of these; or "auto" for what the device is made for: bfloat16 on a TPU and on
            a GPU of compute capability 8.0 or more, float16 on one of 7.0 or more, else float32.

    Returns:
        The name of the format chosen.

    Raises:
        ValueError: another name.
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
    if kind == "tpu" or (kind == "gpu" and capability >= (8, 0)):
        return "bfloat16"
    return "float16" if kind == "gpu" and capability >= (7, 0) else "float32"


def full_precision():
    """Dtype of the layers that the data's own values pass: the policy's variable dtype.

    float32 under "mixed_float16" and "mixed_bfloat16", whose 11 and 8 bits of precision are too few
    for a series' level and its forecast; the policy's own dtype otherwise.
    """
    import keras

    return keras.config.dtype_policy().variable_dtype
