import functools

import keras
import pytest

from tests.helpers.architectures import build, moved


@functools.cache
def _shared_model(name):
    keras.utils.set_random_seed(1)
    return moved(build(name))


@pytest.fixture
def model(name):
    """The architecture called `name`, built once for all tests that do not train it."""
    return _shared_model(name)
