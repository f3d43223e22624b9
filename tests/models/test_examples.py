"""The examples in the docstrings of the models run, and say what they say."""

import doctest
import importlib
import pkgutil

import pytest

from kerastrans import models

MODULES = [module.name for module in pkgutil.iter_modules(models.__path__, "kerastrans.models.")]
# No public builders, or builders that want a checkpoint.
WITHOUT = ("encoder_decoders", "projections", "pretrained")


@pytest.mark.parametrize("name", [*MODULES, "kerastrans.zoo"])
def test_examples_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
    assert results.attempted > 0 or name.endswith(WITHOUT)
