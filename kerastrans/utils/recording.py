"""Programs of PyTorch operations, recorded from functions that call Keras."""

import functools

import keras
from keras import ops

from kerastrans.utils.backend import comes_often

# A record takes as long as 20 to 60 calls of a small batch.
RECORD_AFTER = 32
MAX_RECORDS = 64


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
