"""The one place where the backends differ: how a function is compiled, how `fit` is fed."""

import keras


def compile_function(function, variables):
    """Compile `function(*tensors)`, which reads `variables`, once per shape of its arguments.

    XLA on TensorFlow and JAX. On PyTorch the function runs as it is, without gradients:
    torch.compile takes 40 s there for one decoding step and makes it a seventh faster
    (PyTorch 2.13 on two CPU cores).
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


def tensorflow_batches(windows, split, batch_size, shuffle, seed):
    """`tf.data.Dataset` of `split(batch, chosen)` over the windows `(windows, time, ...)`, a view.

    A `PyDataset` would do, but Keras runs it through TensorFlow's generator dataset, which sets
    the allocator of the whole process to give memory back at once: training took twice as long.
    """
    import tensorflow as tf

    order = tf.data.Dataset.range(len(windows))
    if shuffle:
        order = order.shuffle(len(windows), seed=seed, reshuffle_each_iteration=True).repeat()
    batches = order.batch(batch_size, drop_remainder=shuffle).take(-(-len(windows) // batch_size))
    shape = (batch_size if shuffle else None, *windows.shape[1:])

    def cut(chosen):
        batch = tf.numpy_function(lambda chosen: windows[chosen], [chosen], windows.dtype)
        return split(tf.ensure_shape(batch, shape), chosen)

    return batches.map(cut).prefetch(tf.data.AUTOTUNE)
