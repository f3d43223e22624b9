"""Published checkpoints: reading a folder, and assigning its tensors to a network."""

from numbers import Real
from pathlib import Path

import ml_dtypes  # noqa: F401  registers the dtype bfloat16 with NumPy
import numpy as np
import safetensors
from safetensors.numpy import load_file

from kerastrans.utils.files import first_line, read_json
from kerastrans.utils.validation import (
    check_at_most,
    check_choice,
    check_levels,
    check_positive_integers,
)

CONFIG, WEIGHTS = "config.json", "model.safetensors"
# Limit of the size of a layer, a context or a vocabulary; a larger size means a damaged config.
MAX_SIZE = 2**18
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def read_checkpoint(folder):
    """Read the configuration and the tensors of a folder, each as a dict.

    Raises:
        FileNotFoundError: If `config.json` or `model.safetensors` does not exist.
        ValueError: If a file is damaged, or the weights are only available as a pickle, which can
            run code.
    """
    folder = Path(folder)
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            pickles = sorted(path.name for kind in PICKLES for path in folder.glob(kind))
            if name == WEIGHTS and pickles:
                raise ValueError(
                    f"{folder} holds its weights in {pickles[0]}, a pickle, which can run code "
                    f"when it is read: save them as {WEIGHTS}."
                )
            raise FileNotFoundError(f"{folder} holds no {name}.")
    config = read_json(folder / CONFIG, {})
    try:
        return config, load_file(folder / WEIGHTS)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{folder / WEIGHTS} is damaged: {first_line(error)}.") from None


def read_section(config, name):
    """Return a dict within a configuration.

    Raises:
        ValueError: If the configuration has no dict of this name.
    """
    section = config.get(name)
    if not isinstance(section, dict):
        raise ValueError(f"the configuration lacks the section {name!r}.")
    return section


def read_sizes(config, *names):
    """Return a dict of sizes of a configuration, integers from 1 to `MAX_SIZE`, by name.

    Raises:
        ValueError: If a size is missing, or is not such an integer.
    """
    for name in names:
        if name not in config:
            raise ValueError(f"the configuration lacks {name!r}.")
    sizes = {name: config[name] for name in names}
    check_positive_integers(**sizes)
    for name, size in sizes.items():
        check_at_most(**{name: size, "the largest size": MAX_SIZE})
    return sizes


def read_quantiles(config):
    """Return the levels of the quantiles of a configuration, a list that increases in (0, 1).

    Raises:
        ValueError: If they are missing, or are not such a list of numbers.
    """
    if "quantiles" not in config:
        raise ValueError("the configuration lacks 'quantiles'.")
    levels = config["quantiles"]
    if not isinstance(levels, list) or not all(isinstance(x, Real) for x in levels):
        raise ValueError(
            f"the configuration's quantiles must be a list of numbers, got {levels!r}."
        )
    check_levels(levels)
    return levels


def refuse_others(config, **choices):
    """Raise ValueError for a switch whose value is not supported.

    Args:
        config: Dict of `config.json`.
        **choices: Tuple of the supported values, by the name of the switch. A switch that the
            configuration leaves out has the first of them.
    """
    for name, values in choices.items():
        check_choice(f"the configuration's {name}", config.get(name, values[0]), values)


def assign(tensors, layout, ignored=()):
    """Assign the tensors of a checkpoint to the variables of a network, all or none.

    Args:
        tensors: Dict from the keys of the checkpoint to NumPy arrays.
        layout: Dict from each key to its variable, or to a pair of the variable and a function that
            converts the tensor to the shape of the variable. A key of several variables has a list
            of these.
        ignored: Keys that the checkpoint may have and that are not read, such as a second name of a
            shared table.

    Raises:
        ValueError: If a key is missing, there is an additional key, or a tensor has a wrong shape.
    """
    missing = sorted(layout.keys() - tensors.keys())
    surplus = sorted(tensors.keys() - layout.keys() - set(ignored))
    if missing or surplus:
        kind, keys = ("lacks", missing) if missing else ("has an additional key", surplus)
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        raise ValueError(f"the checkpoint {kind} {keys[0]!r}{more}.")
    values = []
    for key, targets in layout.items():
        for target in targets if isinstance(targets, list) else [targets]:
            variable, convert = target if isinstance(target, tuple) else (target, np.asarray)
            values.append((variable, _convert_tensor(key, tensors[key], variable, convert)))
    for variable, value in values:
        variable.assign(value)


def _convert_tensor(key, tensor, variable, convert):
    """Return a tensor in the shape and the dtype of its variable."""
    try:
        value = convert(tensor)
    except (IndexError, ValueError):  # a wrong shape, which the next check reports
        value = tensor
    if value.shape != tuple(variable.shape):
        raise ValueError(
            f"the checkpoint's {key!r} has shape {tensor.shape}, which does not fit the "
            f"{tuple(variable.shape)} that its configuration requires."
        )
    return value.astype(variable.dtype)


def linear(prefix, layer):
    """Return the `layout` of a `keras.layers.Dense` that was a linear layer in PyTorch."""
    layout = {f"{prefix}.weight": (layer.kernel, np.transpose)}
    if layer.use_bias:
        layout[f"{prefix}.bias"] = layer.bias
    return layout


def fused(prefix, denses, use_bias=False):
    """Return the `layout` of alike Dense layers whose weights are one matrix in PyTorch, in order.

    Args:
        prefix: str, name of the fused layer.
        denses: List of `keras.layers.Dense` of the same width.
        use_bias: bool, whether the fused layer has a bias.
    """

    def part(number):
        return lambda tensor: np.split(tensor, len(denses))[number].T

    layout = {f"{prefix}.weight": [(x.kernel, part(i)) for i, x in enumerate(denses)]}
    if use_bias:
        layout[f"{prefix}.bias"] = [(x.bias, part(i)) for i, x in enumerate(denses)]
    return layout
