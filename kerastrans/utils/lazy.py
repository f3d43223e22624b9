"""Public names that are imported on first use, and what is set before Keras is imported."""

import ast
import contextlib
import importlib
import importlib.util
import os
import pkgutil
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


def names_of(package):
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names live in other modules.

    Args:
        package: str, name of the package, whose `__init__.pyi` imports its public names.
    """
    homes = homes_of(package)
    public = sorted(homes)

    def get(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        # A module, or a name in one.
        if home == package or not hasattr(_import(home), name):
            return _import(f"{home}.{name}")
        return getattr(_import(home), name)

    return get, lambda: public, public


def homes_of(package):
    """Return a dict of the public names of a package -> the modules they are imported from."""
    nodes = ast.parse(pkgutil.get_data(package, "__init__.pyi")).body
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {
        name.name: f"{package}.{node.module}" if node.module else package
        for node in imports
        for name in node.names
    }


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
