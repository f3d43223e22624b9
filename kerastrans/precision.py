"""The number format in which a model's two ends compute, whatever the policy in between."""

import keras


def full_precision():
    """Dtype of the layers that the data's own values pass: the policy's variable dtype.

    float32 under "mixed_float16" and "mixed_bfloat16", whose 11 and 8 bits of precision are too few
    for a series' level and its forecast; the policy's own dtype otherwise.
    """
    return keras.config.dtype_policy().variable_dtype
