"""Programs: functions compiled by TensorFlow and JAX, operations recorded on PyTorch."""

import collections
import contextlib
import contextvars
import functools

import keras
from keras import ops

# On JAX, a program is first compiled in a third of the time, and runs up to three times as long.
# After as many calls of the same shapes, and as many rows, it is compiled with all optimisations.
QUICK_CALLS, QUICK_ROWS = 8, 256
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
# A record takes as long as 20 to 60 calls of a small batch.
RECORD_AFTER = 32
MAX_RECORDS = 64
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


def compiles():
    """Return whether a function is compiled for each shape: not on PyTorch, and not on NumPy."""
    return keras.backend.backend() in ("tensorflow", "jax")


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


def record_function(function, variables):
    """Return an equal function that, on PyTorch, is faster after some calls of the same shapes.

    See `RecordedFunction`. Other backends compile the function at its first call.
    """
    is_torch = keras.backend.backend() == "torch"
    return RecordedFunction(function, variables) if is_torch else function


class RecordedFunction:
    """Calls a function of tensors without gradients, faster once the same shapes have come often.

    Keras checks and converts the arguments of each of several hundred operations, which takes
    longer than the arithmetic of a small batch. After `RECORD_AFTER` calls with the same shapes,
    the operations of PyTorch are recorded; from then on nothing else is run. A function that
    cannot be recorded, or whose record gives other numbers for the next arguments, is called as
    before.

    Args:
        function: Function of trees of tensors that returns a tree of tensors. It may depend on
            values of tensors only by operations of Keras and PyTorch. All else in its arguments
            must be hashable.
        variables: List of the Keras variables that it reads. The records have their values as
            arguments: a later change of a weight has its effect.
    """

    def __init__(self, function, variables):
        self._function = function
        self._variables = variables
        # By the shapes of the tensors and the values of all else: the `MAX_RECORDS` latest.
        self._state = functools.lru_cache(MAX_RECORDS)(_State)

    def __call__(self, *arguments):
        import torch

        with torch.no_grad():
            return self._call(arguments)

    def _call(self, arguments):
        leaves = keras.tree.flatten(arguments)
        tensors = [x for x in leaves if ops.is_tensor(x)]
        state = self._state(tuple(map(_kind, leaves)))
        if state.program:
            return state.program(*tensors)

        outputs = self._function(*arguments)
        state.calls = max(state.calls + 1, RECORD_AFTER if comes_often() else 0)
        if state.calls == RECORD_AFTER:
            state.candidate = self._record(arguments, outputs)
        elif state.candidate:
            if _agree(state.candidate(*tensors), outputs):
                state.program = state.candidate
            state.candidate = None
        return outputs

    def _record(self, arguments, outputs):
        """Return a function of the tensors among the arguments, or None if there can be none."""
        from torch.fx.experimental.proxy_tensor import make_fx

        leaves = keras.tree.flatten(arguments)
        places = [i for i, leaf in enumerate(leaves) if ops.is_tensor(leaf)]

        def stateless(values, *tensors):
            filled = dict(zip(places, tensors, strict=True))
            filled = [filled.get(i, leaf) for i, leaf in enumerate(leaves)]
            mapping = zip(self._variables, values, strict=True)
            with keras.StatelessScope(state_mapping=mapping):
                called = self._function(*keras.tree.pack_sequence_as(arguments, filled))
            return keras.tree.flatten(called)

        values = [variable.value for variable in self._variables]
        try:
            program = make_fx(stateless)(values, *(leaves[place] for place in places))
        except (RuntimeError, TypeError):  # Python or NumPy needs the value of a tensor
            return None
        structure = keras.tree.map_structure(lambda _: 0, outputs)

        def run(*tensors):
            flat = program([variable.value for variable in self._variables], *tensors)
            return keras.tree.pack_sequence_as(structure, flat)

        return run


class _State:
    """Number of calls of one kind, their program, and a candidate that was not yet compared."""

    def __init__(self, kind):
        self.calls, self.candidate, self.program = 0, None, None


def _kind(leaf):
    """Return what decides which operations are called."""
    if ops.is_tensor(leaf):
        return leaf.shape, leaf.stride(), leaf.dtype, leaf.device
    return leaf


def _agree(outputs, expected):
    """Return whether all numbers are equal to 1e-5."""
    import torch

    return all(
        torch.isclose(x, y, rtol=1e-5, atol=0, equal_nan=True).all()
        for x, y in zip(keras.tree.flatten(outputs), keras.tree.flatten(expected), strict=True)
    )
