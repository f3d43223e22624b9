"""The one place where the backends differ: how a function is compiled, how `fit` is fed."""

import contextlib
import functools
import os

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


def compile_inference(model):
    """A function `(*arrays) -> array` of a functional model's inputs, in their order, compiled.

    `Model.predict_on_batch` does the same, but TensorFlow counts its traces over all models of a
    process, and warns of retracing from the fifth model on.
    """
    names = [tensor.name for tensor in model.inputs]

    def call(*tensors):
        inputs = dict(zip(names, tensors, strict=True)) if len(names) > 1 else tensors[0]
        return model(inputs, training=False)

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # A partial has no code of its own by which traces could be counted.
        function = tf.function(functools.partial(call), reduce_retracing=True)
    else:
        function = compile_function(call, model.variables)

    def run(*arrays):
        tensors = [
            keras.ops.convert_to_tensor(array, dtype=symbol.dtype)
            for array, symbol in zip(arrays, model.inputs, strict=True)
        ]
        return keras.tree.map_structure(keras.ops.convert_to_numpy, function(*tensors))

    return run


def processes():
    """Number of this process among those that train together, and how many they are."""
    if keras.backend.backend() != "jax":
        return 0, 1
    import jax

    return jax.process_index(), jax.process_count()


def accelerator():
    """Kind of the default device, "cpu", "gpu" or "tpu", and a GPU's compute capability."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        device = jax.devices()[0]
        kind = {"cuda": "gpu", "rocm": "gpu"}.get(device.platform, device.platform)
        capability = getattr(device, "compute_capability", "0.0")
        return kind, tuple(map(int, str(capability).split(".")))
    if backend == "tensorflow":
        import tensorflow as tf

        for device in tf.config.list_physical_devices("GPU"):
            details = tf.config.experimental.get_device_details(device)
            return "gpu", tuple(details.get("compute_capability", (0, 0)))
        return ("tpu" if tf.config.list_physical_devices("TPU") else "cpu"), (0, 0)

    import torch

    if torch.cuda.is_available():
        return "gpu", torch.cuda.get_device_capability()
    return "cpu", (0, 0)


def grow_memory():
    """Let the process take a GPU's memory as it needs it; PyTorch does so by itself."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        for device in tf.config.list_physical_devices("GPU"):
            with contextlib.suppress(RuntimeError):  # its memory is taken already
                tf.config.experimental.set_memory_growth(device, True)
    if keras.backend.backend() == "jax":
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # read at the first tensor


def round_products(rounds):
    """Whether products of float32 matrices may round their factors to TensorFloat-32."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(rounds)
    elif backend == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "tensorfloat32" if rounds else "highest")
    else:
        import torch

        torch.set_float32_matmul_precision("high" if rounds else "highest")


def is_out_of_memory(error):
    """Whether an exception, of any backend, says that a tensor does not fit into memory."""
    signs = ("ResourceExhausted", "RESOURCE_EXHAUSTED", "OutOfMemory", "allocate memory")
    text = f"{type(error).__name__}: {error}"
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)


def log_gamma(x):
    """Logarithm of the gamma function, element by element, which `keras.ops` lacks."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.math.lgamma(x)
    if backend == "jax":
        from jax.scipy.special import gammaln

        return gammaln(x)

    import torch

    return torch.lgamma(x)


def tensorflow_batches(arrays, count, make, batch_size, shuffle, seed, first, shares=None):
    """`tf.data.Dataset` of `make(tnp, arrays, chosen)`, see `kerastrans.data.batches.make_batches`.

    A `PyDataset` would do, but Keras runs it through TensorFlow's generator dataset, which sets
    the allocator of the whole process to give memory back at once: training took twice as long.

    The pipeline does not tune itself: at the end of every epoch it would wait for its tuner, which
    sleeps for 10, 20, 40 ... ms: epochs of 1.5 s took up to 2.5 (TensorFlow 2.21).

    Where an example goes in an epoch is computed from seed and epoch alone (3 million places took
    0.8 s on one core), or, by the sums `shares` of probabilities, drawn. Without an end nothing is
    held; one epoch at a time computes its order at once: a dataset within it opens 14 ms later.
    """
    import tensorflow as tf
    import tensorflow.experimental.numpy as tnp

    steps = -(-count // batch_size)
    shares = None if shares is None else tf.constant(shares, "float64")

    def shuffled(epoch, first_step, last_step):
        if shares is None:
            places = tf.range(first_step * batch_size, last_step * batch_size)
            key = tf.stack([tf.constant(seed, "int64"), epoch])
            chosen = tf.random.experimental.index_shuffle(places % count, key, count - 1)
        else:
            key = tf.stack([tf.constant(seed, "int64"), epoch * steps + first_step])
            size = [(last_step - first_step) * batch_size]
            drawn = tf.random.stateless_uniform(size, key, dtype="float64")
            chosen = tf.searchsorted(shares[:-1], drawn, side="right", out_type="int64")
        return tf.reshape(chosen, (-1, batch_size))

    if not shuffle:
        batches = tf.data.Dataset.range(count).batch(batch_size)
    elif first is None:
        passes = tf.data.Dataset.random(seed, rerandomize_each_iteration=True).take(1)
        last = tf.constant(steps, "int64")
        batches = passes.map(lambda number: shuffled(number, 0 * last, last)).unbatch()
        batches = batches.apply(tf.data.experimental.assert_cardinality(steps))
    else:
        numbers = tf.data.Dataset.range(first, tf.int64.max)
        places = numbers.map(lambda number: (number // steps, number % steps))
        batches = places.map(lambda epoch, step: shuffled(epoch, step, step + 1)[0])
    tensors = [tf.constant(array) for array in arrays]  # captured: not written into the graph
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.map(lambda chosen: make(tnp, tensors, chosen)).prefetch(2).with_options(options)
