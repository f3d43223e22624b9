"""Architectures: one per file, with one function `build_<file>_model`, imported on first use."""

import importlib


def __getattr__(name):
    """Import `build_<file>_model` from `<file>.py`."""
    if name == "build_seq2seq_transformer":
        return importlib.import_module(f"{__name__}.seq2seq_transformer").build_seq2seq_transformer
    file = name.removeprefix("build_").removesuffix("_model")
    if name != f"build_{file}_model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{file}"), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
