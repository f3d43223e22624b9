"""Code that depends on the Keras backend: compilation, devices, precision, input pipelines."""

import collections
import contextlib
import contextvars
import functools
import os

import keras

# On JAX, a program is first compiled in a third of the time, and runs up to three times as long.
# After as many calls of the same shapes, and as many rows, it is compiled with all optimisations.
QUICK_CALLS, QUICK_ROWS = 8, 256
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
_comes_often = contextvars.ContextVar("comes_often", default=False)


@contextlib.contextmanager
def shapes_that_come_often():
    """Let programs called in this block be as fast as they get from then on, as in a service."""
    token = _comes_often.set(True)
    try:
        yield
    finally:
        _comes_often.reset(token)


def comes_often():
    """Return whether the shapes of this call come often, see `shapes_that_come_often`."""
    return _comes_often.get()


def compile_function(function, variables):
    """Compile `function(*tensors)`, which reads `variables`, once per shape of its arguments.

    TensorFlow and JAX use XLA. On PyTorch the function is not compiled, only run without gradients:
    torch.compile takes 40 s for one decoding step and makes it a seventh faster (PyTorch 2.13 on
    two CPU cores); see `record_function`. NumPy has no compiler.
    """
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function, jit_compile=True)
    if backend == "jax":
        return _compile_with_jax(function, variables)
    if backend == "numpy":
        return function

    import torch

    return torch.no_grad()(function)


def _compile_with_jax(function, variables):
    import jax

    # Weights are arguments, because a trace would treat captured values as constants.
    def stateless(values, *tensors):
        with keras.StatelessScope(state_mapping=zip(variables, values, strict=True)):
            return function(*tensors)

    compiled, calls = jax.jit(stateless), collections.Counter()
    quick = jax.jit(stateless, compiler_options=QUICK)

    def run(*tensors):
        values, leaves = [variable.value for variable in variables], jax.tree.leaves(tensors)
        # JAX accepts no options for a part of a function that is being compiled.
        is_part = any(isinstance(x, jax.core.Tracer) for x in (*values, *leaves))
        if is_part or not _compiles_quickly():
            return compiled(values, *tensors)
        shapes = tuple((x.shape, x.dtype) for x in leaves)
        rows = max((shape[0] for shape, _ in shapes if shape), default=1)
        calls[shapes] += QUICK_CALLS + QUICK_ROWS if comes_often() else 1
        is_early = calls[shapes] <= max(QUICK_CALLS, QUICK_ROWS // max(1, rows))
        return (quick if is_early else compiled)(values, *tensors)

    return run


@functools.cache
def _compiles_quickly():
    """Return whether XLA compiles for the CPU and has the options of `QUICK`."""
    import jax

    if jax.default_backend() != "cpu":
        return False
    try:
        jax.jit(lambda: 0, compiler_options=QUICK)()
    except (jax.errors.JaxRuntimeError, ValueError):  # options of another version
        return False
    return True


def record_function(function, variables):
    """Return an equal function that, on PyTorch, is faster after some calls of the same shapes.

    See `kerastrans.utils.recording`. Other backends compile the function at its first call.
    """
    if keras.backend.backend() != "torch":
        return function
    from kerastrans.utils.recording import RecordedFunction

    return RecordedFunction(function, variables)


def compiles():
    """Return whether a function is compiled for each shape: not on PyTorch, and not on NumPy."""
    return keras.backend.backend() in ("tensorflow", "jax")


def compile_inference(model):
    """Return a compiled function `(*arrays) -> array` of a functional model's inputs, in order.

    `Model.predict_on_batch` does the same, but TensorFlow counts its traces over all models of a
    process, and warns of retracing starting with the fifth model.
    """
    names = [tensor.name for tensor in model.inputs]

    def call(*tensors):
        inputs = dict(zip(names, tensors, strict=True)) if len(names) > 1 else tensors[0]
        return model(inputs, training=False)

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # TensorFlow counts traces per code object; a partial has none.
        function = tf.function(functools.partial(call), reduce_retracing=True)
    else:
        function = record_function(compile_function(call, model.variables), model.variables)

    def run(*arrays):
        tensors = [
            keras.ops.convert_to_tensor(array, dtype=symbol.dtype)
            for array, symbol in zip(arrays, model.inputs, strict=True)
        ]
        return keras.tree.map_structure(keras.ops.convert_to_numpy, function(*tensors))

    return run


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
        passes = tf.data.Dataset.random(seed, rerandomize_each_iteration=True).take(1)
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
