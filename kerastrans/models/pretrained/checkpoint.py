"""Published checkpoints: what a folder holds, and how it becomes the weights of a network."""

from pathlib import Path

import ml_dtypes  # noqa: F401  teaches NumPy the dtype bfloat16
import numpy as np
import safetensors
from safetensors.numpy import load_file

from kerastrans.utils.files import first_line, read_json
from kerastrans.utils.validation import check_at_most, check_choice, check_positive_integers

CONFIG, WEIGHTS = "config.json", "model.safetensors"
LARGEST_SIZE = 2**18  # of a layer, in steps, or of a vocabulary: more is a damaged configuration
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def read_checkpoint(folder):
    """The configuration and the tensors of a folder, a dict each.

    Raises:
        FileNotFoundError: No `config.json` or no `model.safetensors`.
        ValueError: A file that is damaged, or weights as a pickle alone, which can run code.
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
    """A dict within a configuration.

    Raises:
        ValueError: There is none of this name.
    """
    section = config.get(name)
    if not isinstance(section, dict):
        raise ValueError(f"the configuration lacks the section {name!r}.")
    return section


def read_sizes(config, *names):
    """Whole numbers from 1 to `LARGEST_SIZE` from a configuration, a dict by their names.

    Raises:
        ValueError: One is missing, or is no such number.
    """
    for name in names:
        if name not in config:
            raise ValueError(f"the configuration lacks {name!r}.")
    sizes = {name: config[name] for name in names}
    check_positive_integers(**sizes)
    for name, size in sizes.items():
        check_at_most(**{name: size, "the largest size": LARGEST_SIZE})
    return sizes


def refuse_others(config, **choices):
    """Raise ValueError for a switch that has none of its values here; one left out has the first.

    Args:
        config: dict of `config.json`.
        **choices: tuple of the values that are built, by the name of the switch.
    """
    for name, values in choices.items():
        check_choice(f"the configuration's {name}", config.get(name, values[0]), values)


def assign(tensors, layout, ignored=()):
    """Give a network the tensors of a checkpoint, all or none.

    Args:
        tensors: dict from the checkpoint's keys to NumPy arrays.
        layout: dict from each key to the variable that takes it, or to a pair of the variable and
            a function that turns the tensor into the variable's shape. Several variables of one
            key are a list.
        ignored: keys that may be there and are not read, such as a second name of a shared table.

    Raises:
        ValueError: A key that is missing, one too many, or a tensor of another shape.
    """
    missing = sorted(layout.keys() - tensors.keys())
    surplus = sorted(tensors.keys() - layout.keys() - set(ignored))
    if missing or surplus:
        kind, keys = ("lacks", missing) if missing else ("has a surplus", surplus)
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        raise ValueError(f"the checkpoint {kind} {keys[0]!r}{more}.")
    values = []
    for key, targets in layout.items():
        for target in targets if isinstance(targets, list) else [targets]:
            variable, convert = target if isinstance(target, tuple) else (target, np.asarray)
            values.append((variable, _fitting(key, tensors[key], variable, convert)))
    for variable, value in values:
        variable.assign(value)


def _fitting(key, tensor, variable, convert):
    """A tensor in the shape and the dtype of its variable."""
    try:
        value = convert(tensor)
    except (IndexError, ValueError):  # it cannot be turned into any shape that would do
        value = tensor
    if value.shape != tuple(variable.shape):
        raise ValueError(
            f"the checkpoint's {key!r} has shape {tensor.shape}, which does not fit the "
            f"{tuple(variable.shape)} that its configuration asks for."
        )
    return value.astype(variable.dtype)


def linear(prefix, layer):
    """The `layout` of a linear layer of PyTorch, as a `keras.layers.Dense`."""
    layout = {f"{prefix}.weight": (layer.kernel, np.transpose)}
    if layer.use_bias:
        layout[f"{prefix}.bias"] = layer.bias
    return layout
