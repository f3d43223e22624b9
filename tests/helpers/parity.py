"""Parity with published implementations: their recorded weights, inputs and outputs.

tests/fixtures/architectures has a folder per architecture; its files are described in
tests/fixtures/README.md.
`tests/models/ports/<name>.py` says how an architecture of ours is built and filled:

- `arguments(settings)` returns the builder's arguments. `settings[key]` is a setting of the case,
  and each one has to be read. `settings.require(key, value)` fails for what we cannot express.
- `weights(official, settings)` yields `(path, array)` for each of our weights, see `ports/maps.py`.
  Each array of `official` has to be taken, or dropped for a reason that the case confirms.
- `inputs(extra, settings)`, if there is one, returns the model's inputs in addition to the history.
- `prepare(model, extra, settings)`, if there is one, fixes what the model would draw at random.
- `statistics(before, after, count)`, if there is one, returns the running statistics that our model
  should have after the step, in place of the recorded ones; `count` is the number of windows.

`python -m tests.helpers.parity docs/parity.md` writes the table of the documentation.
"""

import fnmatch
import functools
import importlib
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import keras
import numpy as np

from kerastrans import zoo
from tests.helpers.cases import load
from tests.helpers.tables import write_table

ROOT = Path(__file__).parents[1] / "fixtures" / "architectures"
MODES = {
    "inference": "output",
    "training": "output_train",
    "one step of SGD": "output_after_sgd",
}
SIZES = ("context", "horizon", "channels")
RATE = 0.4  # of dropout, where its effect is compared
SPREAD = f"spread_at_dropout_{RATE}"
ALWAYS_DROPPED = "*.num_batches_tracked"
CALENDAR_COLUMNS = {"s": 6, "t": 5, "h": 4, "d": 3, "b": 3, "w": 2, "m": 1, "a": 1}


class Settings:
    """Settings of a case. All those of its `configuration` have to be read."""

    def __init__(self, facts):
        self.own = facts["configuration"]
        self.all = {**facts.get("configuration_given_to_the_class", {}), **self.own}
        self.read = set(SIZES)

    def __getitem__(self, key):
        self.read.add(key)
        return self.all[key]

    def get(self, key, default=None):
        """Return a setting that not every case has."""
        self.read.add(key)
        return self.all.get(key, default)

    def require(self, key, *values):
        """Fail for a setting that our builder cannot express."""
        if self.get(key, values[0]) not in values:
            raise AssertionError(f"{key}={self[key]!r} cannot be expressed, only {values}")

    def ignore(self, *keys):
        """Read settings that the published class does not use."""
        self.read.update(keys)

    @property
    def num_calendar_columns(self):
        """Number of calendar features that the published code has at the case's frequency."""
        return CALENDAR_COLUMNS[self.get("freq", "h")]

    def check_all_read(self):
        unread = set(self.own) - self.read
        assert not unread, f"settings without an argument of ours: {sorted(unread)}"


class Official:
    """Arrays of a published model by name. Each of them is used exactly once."""

    def __init__(self, arrays, facts):
        self.arrays = arrays
        self.without_effect = facts["parameters_without_effect_on_the_loss"]
        self.constant = [*facts["fixed_tables"], *facts["buffers"]]
        self.used = {name for name in arrays if fnmatch.fnmatch(name, ALWAYS_DROPPED)}
        self.num_dropped = 0

    def __contains__(self, name):
        return name in self.arrays

    def take(self, name, unused=0):
        """Return an array; `unused` is the number of its values that have no effect."""
        assert name not in self.used, f"{name} is used twice"
        self.used.add(name)
        self.num_dropped += unused
        return self.arrays[name]

    def drop(self, *patterns):
        """Leave out parameters that have no effect, and constants."""
        for pattern in patterns:
            for name in fnmatch.filter(set(self.arrays) - self.used, pattern):
                array = self.take(name)
                if name in self.constant:
                    continue
                assert name in self.without_effect, f"{name} has an effect and is dropped"
                self.num_dropped += array.size * (2 if np.iscomplexobj(array) else 1)

    def drop_copies(self, of, prefix):
        """Leave out the second names of shared weights: `of` and `prefix` begin their names."""
        for name in [name for name in self.arrays if name.startswith(prefix)]:
            original = self.arrays[of + name.removeprefix(prefix)]
            np.testing.assert_array_equal(self.take(name), original)

    def check_all_used(self):
        left = sorted(set(self.arrays) - self.used)
        assert not left, f"official weights without one of ours: {left}"


@dataclass(frozen=True)
class Case:
    """One case of a fixture.

    Attributes:
        name: Name of the architecture.
        case: Name of the case.
        source: Dict of the repository, commit, licence and notes. The case may have its own.
        facts: Dict of the case in case.json.
        arrays: Dict of inputs and recorded outputs.
        weights: Dict of official weights.
    """

    name: str
    case: str
    source: dict = field(repr=False)
    facts: dict = field(repr=False)
    arrays: dict = field(repr=False)
    weights: dict = field(repr=False)

    @property
    def limit(self):
        return self.facts["suggested_limit"]

    def group(self, prefix):
        """Return the arrays whose names begin with `prefix`, without it."""
        found = [key for key in self.arrays if key.startswith(prefix)]
        return {key.removeprefix(prefix): self.arrays[key] for key in found}


def cases():
    """Return `(folder, case)` for all cases of the fixtures."""
    found = []
    for path in sorted(ROOT.glob("*/case.json")):
        found += [(path.parent, case) for case in json.loads(path.read_text())["cases"]]
    return found


def facts(folder, case):
    """Return what case.json has about a case."""
    return json.loads((folder / "case.json").read_text())["cases"][case]


def read(folder, case):
    source = json.loads((folder / "case.json").read_text())
    start = f"{case}/"

    def arrays(file):
        stored = load(folder / file)
        names = [name for name in stored.files if name.startswith(start)]
        return {name.removeprefix(start): stored[name] for name in names}

    own = source.pop("cases")[case]
    source |= {key: own[key] for key in source if key in own}
    return Case(folder.name, case, source, own, arrays("cases.npz.xz"), arrays("weights.npz.xz"))


def weights_by_path(model):
    """Return the model's weights by path.

    A layer that was not given a name, such as "dense_17" or "block_3_ffn_expand", has a number that
    depends on what was built before: it is counted from 0 in each model, in the order in which the
    layers were created.
    """
    found, counts = {}, {}

    def number(layer):
        return int(re.fullmatch(r".*?_?(\d*)", layer.name)[1] or 0)

    given = [re.fullmatch(r"block_(\d+)_.*", layer.name) for layer in model.layers]
    blocks = sorted({int(name[1]) for name in given if name})
    for layer in sorted(model.layers, key=number):
        weights = [w for w in layer.weights if "seed_generator" not in w.path]
        name, stem = layer.name, re.sub(r"_\d+$", "", layer.name)
        if block := re.match(r"block_(\d+)_", name):
            name = name.replace(block[1], str(blocks.index(int(block[1]))), 1)
        if weights and stem.replace("_", "") == type(layer).__name__.lower():
            counts[stem] = counts.get(stem, -1) + 1
            name = f"{stem}_{counts[stem]}"
        for weight in weights:
            path = f"{name}/{weight.path.partition('/')[2]}"
            assert path not in found, f"two weights are called {path}"
            found[path] = weight
    return found


def fill(ours, values, trainable=True):
    """Assign the arrays of a port to our weights, or only those that are not trained."""
    left = dict(ours)
    for path, value in values:
        assert path in left, f"{path} is not a weight of ours, or was assigned: {sorted(left)}"
        weight = left.pop(path)
        assert tuple(weight.shape) == np.shape(value), (path, weight.shape, np.shape(value))
        if trainable or not weight.trainable:
            weight.assign(np.asarray(value, "float32"))
    assert not left, f"weights of ours without an official one: {sorted(left)}"


def relative_difference(found, expected, largest):
    """Return the maximum over windows and channels of difference / largest value of `largest`."""
    found = keras.ops.convert_to_numpy(found)
    assert found.shape == expected.shape, f"{found.shape}, expected {expected.shape}"
    assert np.isfinite(found).all(), "not finite"
    difference = np.abs(found.astype("float64") - expected).max(axis=1)
    return float((difference / np.abs(largest).max(axis=1)).max())


@dataclass(frozen=True)
class Comparison:
    """What the comparison with a case found.

    Attributes:
        differences: Dict from each mode to the largest relative difference.
        ours: int, number of trainable parameters of our model.
        official: int, the same of the published model, without those that have no effect.
        published: int, all its trainable parameters.
    """

    differences: dict
    ours: int
    official: int
    published: int


@functools.cache  # the tests of a case ask for it once each
def compare(folder, name):
    return compare_case(read(folder, name))


def port_of(case):
    return importlib.import_module(f"tests.models.ports.{case.name}")


def build(case, *, fix_draws=True, **options):
    """Build our model of a case.

    Args:
        case: `Case`.
        fix_draws: bool, whether to fix what the model would draw at random.
        **options: Arguments of the builder in place of those of the port.

    Returns:
        `(model, inputs, assign)`. `assign(arrays, trainable)` assigns official weights, or only
        those that are not trained, and returns the `Official`.
    """
    port, settings = port_of(case), Settings(case.facts)
    sizes = [settings[size] for size in SIZES]
    model = zoo.build(case.name, *sizes, **{**port.arguments(settings), **options})
    history, extra = case.arrays["history"], case.group("extra/")
    inputs = {"history": history}
    if hasattr(port, "inputs"):
        inputs |= port.inputs(extra, settings)
    if fix_draws and hasattr(port, "prepare"):
        port.prepare(model, extra, settings)
    settings.check_all_read()  # before a setting that is not read makes the weights differ
    inputs = inputs if len(model.inputs) > 1 else history
    ours = weights_by_path(model)

    def assign(arrays, trainable):
        official = Official(arrays, case.facts)
        fill(ours, port.weights(official, settings), trainable)
        official.check_all_used()
        return official

    return model, inputs, assign


def compare_case(case):
    """Build our model of a case, with the official weights, and compare it in all modes."""
    model, inputs, assign = build(case)
    official = assign(case.weights, True)
    jit = keras.backend.backend() == "jax"
    model.compile(keras.optimizers.SGD(0.01), "mse", run_eagerly=not jit, jit_compile=jit)
    found = {"inference": model(inputs, training=False), "training": model(inputs, training=True)}
    assign(case.weights, False)
    model.train_on_batch(inputs, case.arrays["target"])
    port, after = port_of(case), case.group("after/")
    if hasattr(port, "statistics"):
        count = len(case.arrays["history"])
        kept = [keras.ops.convert_to_numpy(weight) for weight in model.non_trainable_weights]
        assign({**case.weights, **port.statistics(case.weights, after, count)}, False)
        for ours, weight in zip(kept, model.non_trainable_weights, strict=True):
            expected = keras.ops.convert_to_numpy(weight)
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-7)
        assign({**case.weights, **after}, False)
    found["one step of SGD"] = model(inputs, training=False)
    differences = {
        mode: relative_difference(found[mode], case.arrays[key], case.arrays["output"])
        for mode, key in MODES.items()
    }
    trainable = case.facts["parameters_trainable"]
    size = sum(np.prod(weight.shape, dtype=int) for weight in model.trainable_weights)
    return Comparison(differences, int(size), trainable - official.num_dropped, trainable)


def spread(case, rate, repeats=250, batches=4):
    """Measure the spread of our forecasts in training mode at a dropout rate.

    It is the root of the mean variance over repeated passes of the windows, in units of the largest
    absolute forecast of a window and channel without dropout.

    Args:
        case: `Case` of a model that treats each window by itself.
        rate: float in (0, 1), dropout rate.
        repeats: int, number of copies of the windows in a batch.
        batches: int, number of passes.
    """
    model, inputs, assign = build(case, dropout=rate, fix_draws=False)
    assign(case.weights, True)
    output, passes = case.arrays["output"], []
    repeated = keras.tree.map_structure(lambda x: np.concatenate([x] * repeats), inputs)
    for _ in range(batches):
        found = keras.ops.convert_to_numpy(model(repeated, training=True))
        passes.append(found.reshape(repeats, *output.shape))
    deviations = np.concatenate(passes).std(axis=0) / np.abs(output).max(axis=1, keepdims=True)
    return float(np.sqrt(np.mean(deviations**2)))


def table():
    """Return the rows of docs/parity.md: one per case, by architecture."""
    for folder, name in cases():
        case, found = read(folder, name), compare(folder, name)
        figures = [f"{found.differences[mode]:.1e}" for mode in MODES]
        parameters = [f"{found.ours:,}", f"{found.official:,}", f"{found.published:,}"]
        yield [f"`{case.name}`", name, link(case.source), *figures, *parameters]


def link(source):
    """Return the links to the repositories of a case at their commits, for docs/parity.md."""
    return " and ".join(
        f"[{url.removeprefix('github.com/')}](https://{url}/tree/{commit[:7]}) ({commit[:7]})"
        for url, commit in zip(source["repository"], source["commit"], strict=True)
    )


def main(path):
    """Write the table into a page, between its two comments."""
    header = ["architecture", "case", "source", *MODES, "parameters", "official", "published"]
    write_table(Path(path), "parity", [header, *table()])


if __name__ == "__main__":
    main(sys.argv[1])
