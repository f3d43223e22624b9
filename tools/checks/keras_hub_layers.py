"""Record inputs, weights and outputs of KerasHub's layers, with which the tests compare ours.

    pip install --target /tmp/keras_hub --no-deps keras-hub
    PYTHONPATH=/tmp/keras_hub python -m tools.checks.keras_hub_layers

writes `tests/fixtures/keras_hub_layers.npz`. The committed file was made with KerasHub 0.32.0 and
Keras 3.15.1 on JAX, on a CPU. Weights and inputs are normal random numbers.
"""

from pathlib import Path

import keras
import numpy as np

FILE = Path(__file__).parents[2] / "tests" / "fixtures" / "keras_hub_layers.npz"
SIZES = {"intermediate_dim": 8, "num_heads": 2}
# Options and call arguments of the layers; sequences and masks are those of `inputs`.
LAYERS = {
    "encoder": ("TransformerEncoder", SIZES, ["x"], {}),
    "encoder_first": (
        "TransformerEncoder",
        {**SIZES, "normalize_first": True, "activation": "gelu", "layer_norm_epsilon": 1e-3},
        ["x"],
        {"padding_mask": "x_mask", "attention_mask": "x_table"},
    ),
    "decoder": (
        "TransformerDecoder",
        SIZES,
        ["x", "memory"],
        {"decoder_padding_mask": "x_mask", "encoder_padding_mask": "memory_mask"},
    ),
    "decoder_only": ("TransformerDecoder", {**SIZES, "normalize_first": True}, ["x"], {}),
    "decoder_both_ways": ("TransformerDecoder", SIZES, ["x"], {"use_causal_mask": False}),
    "sine": ("SinePositionEncoding", {"max_wavelength": 500}, ["x"], {"start_index": 3}),
    "embedding": ("PositionEmbedding", {"sequence_length": 9}, ["x"], {"start_index": 3}),
    "rotary": ("RotaryEmbedding", {"max_wavelength": 500}, ["x"], {"start_index": 3}),
    "rotary_heads": ("RotaryEmbedding", {"scaling_factor": 2.0}, ["heads"], {}),
}


def inputs():
    """Return the sequences `(batch, time, width)` and the masks that the layers are called with."""
    random = np.random.default_rng(0)
    return {
        "x": random.standard_normal((3, 5, 6), "float32"),
        "memory": random.standard_normal((3, 7, 6), "float32"),
        "heads": random.standard_normal((3, 5, 2, 4), "float32"),
        "x_mask": np.arange(5) < np.array([[5], [3], [1]]),
        "memory_mask": np.arange(7) < np.array([[2], [7], [4]]),
        "x_table": (random.random((3, 5, 5)) < 0.5) | np.eye(5, dtype=bool),
    }


def arguments(name, given):
    """Return the arrays and options of the call of a layer."""
    _, _, sequences, options = LAYERS[name]
    filled = {key: given[x] if isinstance(x, str) else x for key, x in options.items()}
    return [given[x] for x in sequences], filled


def main():
    import keras_hub

    random, given = np.random.default_rng(1), inputs()
    recorded = {}
    for name, (kind, options, _, _) in LAYERS.items():
        layer = getattr(keras_hub.layers, kind)(**options)
        sequences, filled = arguments(name, given)
        layer(*sequences, **filled)
        for weight in layer.weights:
            if "seed" in weight.path:
                continue
            value = 0.5 * random.standard_normal(weight.shape).astype("float32")
            weight.assign(value)
            recorded[f"{name}/{weight.path.partition('/')[2]}"] = value
        outputs = layer(*sequences, **filled)
        recorded[f"{name}/outputs"] = keras.ops.convert_to_numpy(outputs)
    np.savez_compressed(FILE, **recorded)
    print(f"{FILE}: {len(recorded)} arrays of keras_hub {keras_hub.__version__}")


if __name__ == "__main__":
    main()
