"""Pretrained forecasters with their published weights, one folder per family."""

import importlib

from kerastrans.models.pretrained.checkpoint import read_checkpoint

# The modules that can read a checkpoint, tried in this order: the one without others' layers first.
PORTS = {
    "zero": "zero.port",
    "chronos_bolt": "chronos.bolt_port",
    "chronos_2": "chronos.v2_port",
    "chronos_t5": "chronos.t5_port",
    "timesfm": "timesfm.port",
    "patchtst_fm": "patchtst_fm.port",
    "flowstate": "flowstate.port",
    "fracast": "fracast.port",
    "reverso": "reverso.port",
    "tinycast": "tinycast.port",
    "toto": "toto.port",
}


def load(folder):
    """Load the pretrained model of a folder with a published checkpoint.

    Args:
        folder: Folder with `config.json` and `model.safetensors`, as they were published.

    Returns:
        A `kerastrans.models.pretrained.base.PretrainedModel`, whose `forecast` takes arrays.

    Raises:
        FileNotFoundError: If one of the files does not exist.
        ValueError: If a file is damaged, no model of this package has the configuration, or the
            weights do not match the configuration; the message names the first key that differs.
    """
    config, tensors = read_checkpoint(folder)
    # Imported here, because names of published weights are known without Keras.
    import keras  # noqa: F401  first: `kerastrans._register` must not meet half-imported modules

    from kerastrans.utils.keras_internals import without_draws

    for port in PORTS.values():
        module = importlib.import_module(f"{__name__}.{port}")
        if module.reads(config):
            try:
                with without_draws():
                    return module.load(config, tensors)
            except ValueError as error:
                raise ValueError(f"{folder}: {error}") from error
    stated = config.get("architectures") or config.get("model_type") or sorted(config)[:8]
    raise ValueError(
        f"{folder} holds an unknown model: its config.json says {stated}; known models are "
        f"{', '.join(PORTS)}."
    )


def port_of(model):
    """Return the name in `PORTS` of a pretrained model."""
    module = type(model).__module__.removeprefix(f"{__name__}.")
    return next(port for port, path in PORTS.items() if path == module)
