"""Exercises of lesson 2b."""

import keras
import numpy as np
from keras import ops

from kerastrans.lessons.exercise import Exercise, known_mistakes
from kerastrans.lessons.exercises.positional_encoding import WRONG_TABLES


class PositionalEncoding(keras.layers.Layer):
    """Write a layer that adds the sinusoids to (batch, length, dim), and reloads."""

    def __init__(self, max_len, dim, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len
        self.dim = dim
        angles = np.arange(max_len)[:, None] / 10000 ** (np.arange(0, dim, 2) / dim)
        pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        self.encoding = pairs.reshape(max_len, dim).astype("float32")

    def call(self, inputs):  # (batch, length, dim)
        return inputs + self.encoding[: inputs.shape[1]]

    def get_config(self):
        return {**super().get_config(), "max_len": self.max_len, "dim": self.dim}


class MultiHeadAttention(keras.layers.Layer):
    """Write a layer of multi-head self-attention from four Dense layers.

    `build` makes them in this order: query, key, value, output.
    """

    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim

    def build(self, shape):
        width = self.num_heads * self.key_dim
        self.query, self.key, self.value = (keras.layers.Dense(width) for _ in range(3))
        self.output_projection = keras.layers.Dense(shape[-1])
        for dense in (self.query, self.key, self.value):
            dense.build(shape)
        self.output_projection.build((*shape[:-1], width))

    def call(self, x):  # (batch, time, d_model)
        denses = self.query, self.key, self.value
        queries, keys, values = (self.split_heads(dense(x)) for dense in denses)
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / self.key_dim**0.5
        attended = ops.matmul(ops.softmax(scores), values)  # (batch, heads, time, key_dim)
        return self.output_projection(self.merge_heads(attended))

    def split_heads(self, x):
        x = ops.reshape(x, (*x.shape[:-1], self.num_heads, self.key_dim))
        return ops.swapaxes(x, 1, 2)  # (batch, heads, time, key_dim)

    def merge_heads(self, x):
        batch, heads, time, key_dim = x.shape
        return ops.reshape(ops.swapaxes(x, 1, 2), (batch, time, heads * key_dim))

    def get_config(self):
        return {**super().get_config(), "num_heads": self.num_heads, "key_dim": self.key_dim}


def layer_norm(x):
    """Return layer normalisation of (batch, time, width), epsilon 1e-3 as in Keras."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-3)


def encoder_block(x, norm, attend, feed_forward):
    """Return the output of a pre-norm encoder block from its three parts."""
    x = x + attend(norm(x))
    return x + feed_forward(norm(x))


def _with_table(table):
    """The layer with another table, which a function of max_len, dim and base makes."""

    class Other(PositionalEncoding):
        def __init__(self, max_len, dim, **kwargs):
            super().__init__(max_len, dim, **kwargs)
            self.encoding = table(max_len, dim, 10000).astype("float32")

    return Other


def _scores_times(factor):
    """A class whose scores are multiplied by one more factor, of its num_heads and key_dim."""

    class Scaled(MultiHeadAttention):
        def call(self, x):
            for weight in self.query.weights:
                weight.assign(weight * factor(self.num_heads, self.key_dim))
            return super().call(x)

    return Scaled


def _numpy(outputs):
    return outputs if outputs is None or outputs is ... else ops.convert_to_numpy(outputs)


def _positions(layer_class, inputs):
    layer = layer_class(max_len=8, dim=inputs.shape[-1])
    return _numpy(layer_class.from_config(layer.get_config())(inputs))


def _attended(layer_class, x):
    layer = layer_class(num_heads=2, key_dim=3)
    layer = layer_class.from_config(layer.get_config())
    layer.build(x.shape)
    if len(layer.weights) != 8:
        raise TypeError(
            f"build makes {len(layer.weights)} weights, expected 8: kernel and bias of the query, "
            "key, value and output projections, by dense.build(shape)"
        )
    random = np.random.default_rng(0)
    layer.set_weights([random.standard_normal(weight.shape) for weight in layer.weights])
    return _numpy(layer(x))


_random = np.random.default_rng(0)
X = _random.standard_normal((2, 4, 6)).astype("float32")
WIDE = _random.standard_normal((2, 4, 8)).astype("float32")  # not as wide as two heads of three
_NORM_CASE = X, layer_norm, lambda x: 2 * x[..., ::-1], lambda x: x**2


EXERCISES = (
    Exercise(
        "2b.1",
        PositionalEncoding,
        {
            **known_mistakes("2b.1"),
            **{message: _with_table(table) for message, table in WRONG_TABLES.items()},
        },
        (
            "Compute the table (max_len, dim) once, in __init__.",
            "call adds the first inputs.shape[1] rows; get_config returns max_len and dim.",
            "return inputs + self.encoding[: inputs.shape[1]]; get_config: "
            "{**super().get_config(), 'max_len': self.max_len, 'dim': self.dim}",
        ),
        cases=((X,), (np.zeros((1, 8, 4), "float32"),)),
        why="Keras reloads the layer from what get_config returns.",
        run=_positions,
    ),
    Exercise(
        "2b.2",
        MultiHeadAttention,
        {
            "The scores are not divided by the root of key_dim.": _scores_times(
                lambda num_heads, key_dim: key_dim**0.5
            ),
            "You divided by key_dim, not by its root.": _scores_times(
                lambda num_heads, key_dim: key_dim**-0.5
            ),
            "You divided by the root of num_heads * key_dim; each head is key_dim wide.": (
                _scores_times(lambda num_heads, key_dim: num_heads**-0.5)
            ),
            **known_mistakes("2b.2"),
        },
        (
            "build makes Dense layers for query, key, value and output, in this order, and builds "
            "each of them: dense.build(shape).",
            "Split: reshape to (batch, time, heads, key_dim) and swap axes 1 and 2; merge: the "
            "other way round.",
            "softmax(queries @ keys^T / key_dim ** 0.5) @ values, merged to "
            "(batch, time, heads * key_dim), then the output layer.",
        ),
        cases=((WIDE,),),
        why="With the same weights it equals keras.layers.MultiHeadAttention.",
        run=_attended,
    ),
    Exercise(
        "2b.3",
        layer_norm,
        known_mistakes("2b.3"),
        (
            "Each step of each example has its own mean and variance, over the last axis.",
            "Use axis=-1 and keepdims=True.",
            "(x - mean) / np.sqrt(variance + 1e-3)",
        ),
        cases=((X,), (np.ones((1, 2, 3)),), (np.array([[[1.0, 2.0], [2.0, 3.0]]]),)),
        why="It does not depend on the other examples of the batch.",
    ),
    Exercise(
        "2b.4",
        encoder_block,
        known_mistakes("2b.4"),
        (
            "Two sublayers; each adds its result to its own input.",
            "Pre-norm: x + sublayer(norm(x)).",
            "x = x + attend(norm(x)); return x + feed_forward(norm(x))",
        ),
        cases=(_NORM_CASE,),
        why="The sum lets every block start as nearly the identity.",
    ),
)
