"""Train the models of the page, and write them into docs/explorer: minutes of one core."""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import keras

from kerastrans.models import pretrained
from tools.site.explorer import recipes
from tools.site.explorer.files import read_weights, round_weights, write_file
from tools.site.explorer.switches import page_function
from tools.site.explorer.zero import zero_function

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "explorer"
FACTS = FOLDER / "models.json"
ZERO = "zero"  # kerastrans-zero 2, which is not trained here


@dataclass(frozen=True)
class Recipe:
    """A model of the page.

    Attributes:
        build: Function that returns the model, not trained.
        train: Function that trains it.
        describe: Function that returns the facts of the trained model, a dict.
        signature: Tuple of a name, a shape and a data type for each input of the file, apart from
            the two switches.
    """

    build: callable
    train: callable
    describe: callable
    signature: tuple


RECIPES = {
    "copy": Recipe(
        recipes.build_copy,
        recipes.train_copy,
        recipes.describe_copy,
        (
            ("encoder_inputs", (1, recipes.NUM_STEPS, recipes.NUM_CHANNELS), "float32"),
            ("decoder_inputs", (1, None, recipes.NUM_CHANNELS), "float32"),
        ),
    ),
    "numbers": Recipe(
        recipes.build_numbers,
        recipes.train_numbers,
        recipes.describe_numbers,
        (("encoder_inputs", (1, None), "int32"), ("decoder_inputs", (1, None), "int32")),
    ),
    "departures": Recipe(
        recipes.build_departures,
        recipes.train_departures,
        recipes.describe_departures,
        (
            ("encoder_inputs", (1, recipes.CONTEXT, 1), "float32"),
            ("decoder_inputs", (1, None, 1), "float32"),
        ),
    ),
}


def main(names):
    for name in names or (*RECIPES, ZERO):
        start = time.monotonic()
        facts = make_zero() if name == ZERO else make(name)
        print(f"{name}: {facts}, {time.monotonic() - start:.0f} s", flush=True)


def make(name):
    """Train a model, write its file, and return its facts, which are also in `FACTS`."""
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    tf.config.experimental.enable_op_determinism()
    recipe = RECIPES[name]
    model = recipe.build()
    recipe.train(model)
    round_weights(model)
    switches = ("look_ahead", (), "bool"), ("scaled", (), "bool")
    signature = [
        tf.TensorSpec(shape, dtype, name=name)
        for name, shape, dtype in (*recipe.signature, *switches)
    ]
    write_file(path_of(name), page_function(model), signature, model.get_weights())
    return _note(name, parameters=model.count_params(), **recipe.describe(model))


def make_zero():
    """Write the file of kerastrans-zero 2, and return its facts."""
    import tensorflow as tf

    network = pretrained.load(ROOT / "saved_models" / "kerastrans_zero_2").network
    signature = [
        tf.TensorSpec((1, network.inputs[0].shape[1]), "float32", name="history"),
        tf.TensorSpec((1, None), "float32", name="steps"),
    ]
    write_file(path_of(ZERO), zero_function(network), signature, [])
    return _note(ZERO, parameters=network.count_params())


def path_of(name):
    """Return the path of a model's file."""
    return FOLDER / f"{name}.onnx"


def load(name):
    """Return a model of the page with the weights of its file."""
    model = RECIPES[name].build()
    weights = read_weights(path_of(name))
    model.set_weights([x.reshape(w.shape) for x, w in zip(weights, model.weights, strict=True)])
    return model


def _note(name, **facts):
    """Return the facts of a model after adding them to `FACTS`."""
    known = json.loads(FACTS.read_text()) if FACTS.exists() else {}
    known[name] = {"bytes": path_of(name).stat().st_size, **facts}
    FACTS.write_text(json.dumps(known, sort_keys=True) + "\n")
    return known[name]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*RECIPES, ZERO, []], help="all by default")
    main(parser.parse_args().names)
