"""The examples in the docstrings of the models run, and say what they say."""

import doctest
import importlib
import pkgutil

import pytest

from kerastrans import models
from kerastrans.models import parts

MODULES = [
    module.name
    for folder, prefix in ((models, "kerastrans.models."), (parts, "kerastrans.models.parts."))
    for module in pkgutil.iter_modules(folder.__path__, prefix)
]
# No public builders, or builders that want a checkpoint.
WITHOUT = ("encoder_decoders", "projections", "pretrained", "models.parts", "features")


@pytest.mark.parametrize("name", [*MODULES, "kerastrans.zoo"])
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
    assert results.attempted > 0 or name.endswith(WITHOUT)
