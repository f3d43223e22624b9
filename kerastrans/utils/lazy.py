"""Public names that are imported on first use, and what is set before Keras is imported."""

import contextlib
import importlib
import importlib.util
import os
import sys

BACKENDS = ("tensorflow", "jax", "torch")  # the names of Keras's backends, packages and extras


def install(extra):
    """Return the command that installs an extra, for a message: no index has this package."""
    return f'pip install ".[{extra}]" in a clone of kerastrans'


def use_only_backend():
    """Set Keras to the only backend that is installed, unless it is set by KERAS_BACKEND."""
    if "KERAS_BACKEND" in os.environ or "keras" in sys.modules:
        return
    installed = [name for name in BACKENDS if importlib.util.find_spec(name)]
    if len(installed) == 1:
        os.environ["KERAS_BACKEND"] = installed[0]


def names_of(package, homes, with_modules=True):
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names live in other modules.

    Args:
        package: str, name of the package.
        homes: dict of a module below `package` -> its public names; the module itself is public
            too, under the last part of its name.
        with_modules: bool, whether the modules are public.
    """
    modules = {module.rpartition(".")[2]: module for module in homes if with_modules}
    home_of = {name: module for module, names in homes.items() for name in names}
    public = sorted({*modules, *home_of})

    def get(name):
        if name in home_of:
            return getattr(_import(f"{package}.{home_of[name]}"), name)
        if name in modules:
            return _import(f"{package}.{modules[name]}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: public, public


class Later:
    """Stand-in for a class that is imported when one of its attributes is first used.

    Args:
        module: str, name of its module.
        name: str, name of the class.
    """

    def __init__(self, module, name):
        self._module, self._name = module, name

    def __getattr__(self, attribute):
        return getattr(getattr(_import(self._module), self._name), attribute)


def _import(name):
    with naming_backends():
        return importlib.import_module(name)


@contextlib.contextmanager
def naming_backends():
    """Name the backends that can be installed if Keras finds none.

    Raises:
        ImportError: If the backend that Keras is set to is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in BACKENDS:
            raise
        raise ImportError(
            f"Keras is set to run on {error.name}, which is not installed: {install(error.name)}, "
            "or set KERAS_BACKEND to the one that is. The backends are tensorflow, jax and torch."
        ) from error
