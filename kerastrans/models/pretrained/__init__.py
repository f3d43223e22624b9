"""Published forecasters with their published weights, one a file."""

import importlib

from kerastrans.models.pretrained.checkpoint import read_checkpoint

# The files of this folder that read a checkpoint, in the order in which they are asked.
PORTS = (
    "chronos_bolt",
    "chronos_2",
    "chronos_t5",
    "timesfm",
    "patchtst_fm",
    "flowstate",
    "fracast",
    "toto",
    "zero",
)


def load(folder):
    """The pretrained model of a folder with its published checkpoint.

    Args:
        folder: Folder with `config.json` and `model.safetensors`, as they were published.

    Returns:
        A `kerastrans.models.pretrained.base.PretrainedModel`, whose `forecast` takes arrays.

    Raises:
        FileNotFoundError: No such file.
        ValueError: A damaged file, a configuration that no model here has, or weights that are
            not the ones of this configuration; the first of them is named.
    """
    config, tensors = read_checkpoint(folder)
    for port in PORTS:
        module = importlib.import_module(f"{__name__}.{port}")
        if module.reads(config):
            try:
                return module.load(config, tensors)
            except ValueError as error:
                raise ValueError(f"{folder}: {error}") from error
    stated = config.get("architectures") or config.get("model_type") or sorted(config)[:8]
    raise ValueError(
        f"{folder} holds a model that is not known here: its config.json says {stated}, known "
        f"are {', '.join(PORTS)}."
    )
