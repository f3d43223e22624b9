"""Code that depends on the Keras backend: devices, precision, input pipelines."""

import contextlib
import os

import keras
from keras import ops


def processes():
    """Return the index of this process and the number of processes that train together."""
    if keras.backend.backend() != "jax":
        return 0, 1
    import jax

    return jax.process_index(), jax.process_count()


def accelerator():
    """Return the kind of the default device, "cpu", "gpu" or "tpu", and its compute capability.

    The capability is (0, 0) unless the device is a GPU that reports it.
    """
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
    """Let the process allocate GPU memory as needed, which PyTorch does by default."""
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        for device in tf.config.list_physical_devices("GPU"):
            with contextlib.suppress(RuntimeError):  # the memory is already allocated
                tf.config.experimental.set_memory_growth(device, True)
    if keras.backend.backend() == "jax":
        # JAX reads the variable when it creates the first tensor.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def round_products(rounds):
    """Set whether products of float32 matrices may round their factors to TensorFloat-32."""
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
    """Return whether an exception, of any backend, reports that memory is exhausted."""
    signs = ("ResourceExhausted", "RESOURCE_EXHAUSTED", "OutOfMemory", "allocate memory")
    text = f"{type(error).__name__}: {error}"
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)


def log_gamma(x):
    """Return the logarithm of the gamma function element-wise, which `keras.ops` lacks."""
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
    """Return a `tf.data.Dataset` of batches, see `kerastrans.data.batches.make_batches`.

    Its elements are `make(tnp, arrays, chosen)`. A `PyDataset` would be simpler, but Keras runs it
    through TensorFlow's generator dataset, which makes the allocator of the whole process release
    memory immediately: training took twice as long.

    Autotuning is disabled. At the end of every epoch the pipeline would wait for its tuner, which
    sleeps for 10, 20, 40 ... ms: epochs of 1.5 s took up to 2.5 s (TensorFlow 2.21).

    The position of an example in an epoch is computed from seed and epoch (3 million positions took
    0.8 s on one core), or drawn if `shares`, the cumulative probabilities, are given. If `first` is
    given, the dataset has no end and computes the order batch by batch. Otherwise it is one epoch
    and computes its order at once: a nested dataset would take 14 ms longer to open.
    """
    import tensorflow as tf
    import tensorflow.experimental.numpy as tnp

    steps = -(-count // batch_size)
    shares = None if shares is None else tf.constant(shares, "float64")
    # TensorFlow would rewrite their conditions and loops: an eighth of the time of a short fit.
    as_written = tf.autograph.experimental.do_not_convert

    def shuffled(epoch, first_step, last_step):
        """Return the examples of some batches of an epoch, `(batches, batch_size)`."""
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
        # `tf.data.Dataset.random(seed)` would depend on `keras.utils.set_random_seed` too.
        numbers = tf.raw_ops.RandomDatasetV2(
            seed=seed,
            seed2=seed or 2**31 - 1,  # with two zeros TensorFlow would draw a seed
            seed_generator=tf.raw_ops.DummySeedGenerator(),
            rerandomize_each_iteration=True,
            output_types=[tf.int64],
            output_shapes=[[]],
        )
        passes = tf.data.experimental.from_variant(numbers, tf.TensorSpec([], "int64")).take(1)
        last = tf.constant(steps, "int64")
        batches = passes.map(as_written(lambda number: shuffled(number, 0 * last, last))).unbatch()
        batches = batches.apply(tf.data.experimental.assert_cardinality(steps))
    else:
        # Number the batches of all epochs, and compute epoch and step from the number.
        numbers = tf.data.Dataset.range(first, tf.int64.max)
        places = numbers.map(as_written(lambda number: (number // steps, number % steps)))
        batches = places.map(as_written(lambda epoch, step: shuffled(epoch, step, step + 1)[0]))
    tensors = [tf.constant(array) for array in arrays]  # captured, not embedded in the graph
    options = tf.data.Options()
    options.autotune.enabled = False
    batches = batches.map(as_written(lambda chosen: make(tnp, tensors, chosen)))
    return batches.prefetch(2).with_options(options)


def write_steps(cache, steps, index, axis):
    """Return a cache with new steps from `index` on, along an axis.

    Keras needs 30 operations of PyTorch for `slice_update` at an index that is a tensor. Without
    gradients the cache itself is changed there: XLA, too, does not copy it.
    """
    if keras.backend.backend() != "torch" or isinstance(index, int):
        starts = [index if i == axis else 0 for i in range(len(cache.shape))]
        return ops.slice_update(cache, starts, steps)
    places = index + ops.arange(steps.shape[axis], dtype="int64")
    import torch

    write = cache.index_copy if torch.is_grad_enabled() else cache.index_copy_
    return write(axis, places, steps.to(cache.dtype))
