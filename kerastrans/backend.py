"""The one place where the three backends differ: how a function of tensors is compiled."""

import keras


def compile_function(function, variables):
    """Compile `function(*tensors)`, which reads `variables`, once per shape of its arguments.

    XLA on TensorFlow and JAX. On PyTorch the function runs as it is, without gradients.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function, jit_compile=True)
    if backend == "jax":
        import jax

        # Weights enter as arguments: what a trace closes over would be frozen into it.
        @jax.jit
        def stateless(values, *tensors):
            with keras.StatelessScope(state_mapping=zip(variables, values, strict=True)):
                return function(*tensors)

        return lambda *tensors: stateless([variable.value for variable in variables], *tensors)

    import torch

    return torch.no_grad()(function)
