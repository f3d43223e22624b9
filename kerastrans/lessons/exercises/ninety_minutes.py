"""Exercises of lesson 0: the functions of a Transformer, written by the student."""

import keras
import numpy as np
from keras import ops

import kerastrans
from kerastrans.lessons.exercise import Exercise, known_mistakes


def create_look_ahead_mask(size):
    """Return (query, key): True for the keys that a query may attend to."""
    steps = np.arange(size)
    return steps[:, None] >= steps


def transformer_encoder(inputs, num_heads, key_dim, ff_dim, dropout):
    """Return an encoder block, as in the flow of this lesson, with an epsilon of 1e-6."""
    x = keras.layers.LayerNormalization(epsilon=1e-6)(inputs)
    x = keras.layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)(x, x)
    x = inputs + keras.layers.Dropout(dropout)(x)
    y = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    y = keras.layers.Dense(ff_dim, "relu")(y)
    y = keras.layers.Dense(inputs.shape[-1])(keras.layers.Dropout(dropout)(y))
    return x + keras.layers.Dropout(dropout)(y)


def transformer_decoder(inputs, encoder_output, num_heads, key_dim, ff_dim, dropout):
    """Return a decoder block, as in the flow of this lesson, with an epsilon of 1e-6."""
    x = keras.layers.LayerNormalization(epsilon=1e-6)(inputs)
    attention = keras.layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)
    x = inputs + keras.layers.Dropout(dropout)(attention(x, x, use_causal_mask=True))
    y = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    attention = keras.layers.MultiHeadAttention(num_heads, key_dim, dropout=dropout)
    x = x + keras.layers.Dropout(dropout)(attention(y, encoder_output))
    y = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    y = keras.layers.Dense(ff_dim, "relu")(y)
    y = keras.layers.Dense(inputs.shape[-1])(keras.layers.Dropout(dropout)(y))
    return x + keras.layers.Dropout(dropout)(y)


def build_transformer_model(
    input_shape, key_dim, num_heads, ff_dim, num_encoder_blocks, num_decoder_blocks, dropout
):
    """Return the model of your blocks, 64 wide, with a normalisation after both stacks."""
    inputs = keras.Input(input_shape), keras.Input((None, input_shape[1]))
    x, y = (kerastrans.PositionalEncoding(None, 64)(keras.layers.Dense(64)(z)) for z in inputs)
    for _ in range(num_encoder_blocks):
        x = transformer_encoder(x, num_heads, key_dim, ff_dim, dropout)
    x = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    for _ in range(num_decoder_blocks):
        y = transformer_decoder(y, x, num_heads, key_dim, ff_dim, dropout)
    y = keras.layers.LayerNormalization(epsilon=1e-6)(y)
    return keras.Model(inputs, keras.layers.Dense(input_shape[1])(y))


def _block(answer, shapes, *sizes):
    inputs = [keras.Input(shape) for shape in shapes]
    outputs = answer(*inputs, *sizes)
    return _computed(keras.Model(inputs if len(shapes) > 1 else inputs[0], outputs), shapes)


def _model(answer, input_shape, *sizes):
    return _computed(answer(input_shape, *sizes), (input_shape, input_shape))


def _computed(model, shapes):
    """Outputs with given weights, which follow from their number; weights; if dropout is in use."""
    weights = [(ops.size(x), ops.shape(x)) for x in model.weights]
    model.set_weights([_numbers(size).reshape(shape) / 4 for size, shape in weights])
    inputs = [_numbers(2 * np.prod(shape)).reshape(2, *shape) / 16 for shape in shapes]
    outputs, dropped = (
        ops.convert_to_numpy(model(inputs if len(inputs) > 1 else inputs[0], training=training))
        for training in (False, True)
    )
    return outputs.astype("float16"), model.count_params(), not np.allclose(outputs, dropped)


def _numbers(size):
    return np.random.default_rng(int(size)).standard_normal(int(size)).astype("float32")


EXERCISES = (
    Exercise(
        "0.1",
        create_look_ahead_mask,
        known_mistakes("0.1"),
        (
            "Compare the number of each query with that of each key.",
            "Queries are the first axis: steps[:, None].",
            "steps = np.arange(size); return steps[:, None] >= steps",
        ),
        cases=((4,), (1,)),
        why="use_causal_mask=True makes the same mask for any number of steps.",
    ),
    Exercise(
        "0.2",
        transformer_encoder,
        known_mistakes("0.2"),
        (
            "LayerNormalization -> MultiHeadAttention -> Dropout, and add the inputs.",
            "LayerNormalization -> Dense(ff_dim, 'relu') -> Dropout -> Dense -> Dropout, and add.",
            "x = inputs + Dropout(attention(norm, norm)); return x + Dropout(Dense(width)(...)), "
            "where the Dense layers get LayerNormalization(epsilon=1e-6)(x)",
        ),
        cases=((((4, 8),), 2, 3, 16, 0.5),),
        why="With the same weights kerastrans.transformer_encoder returns the same numbers.",
        run=_block,
    ),
    Exercise(
        "0.3",
        transformer_decoder,
        known_mistakes("0.3", "0.2"),
        (
            "It is the encoder block with a second attention in the middle.",
            "attention(x, x, use_causal_mask=True), then attention(queries, encoder_output).",
            "x = x + Dropout(attention(LayerNormalization(epsilon=1e-6)(x), encoder_output)), "
            "between causal self-attention and the feed-forward network of 0.2",
        ),
        cases=((((4, 8), (5, 8)), 2, 3, 16, 0.5),),
        why="With the same weights kerastrans.transformer_decoder returns the same numbers.",
        run=_block,
    ),
    Exercise(
        "0.4",
        build_transformer_model,
        known_mistakes("0.4"),
        (
            "Inputs: keras.Input(input_shape) and keras.Input((None, input_shape[1])).",
            "Each: Dense(64), PositionalEncoding, the blocks, LayerNormalization(epsilon=1e-6).",
            "return keras.Model([encoder_inputs, decoder_inputs], Dense(input_shape[1])(y)), where "
            "the decoder blocks get the normalised output of the encoder blocks",
        ),
        cases=(((4, 3), 3, 2, 16, 1, 2, 0.5),),
        why="kerastrans.build_transformer_model returns the same numbers with the same weights.",
        run=_model,
    ),
)
