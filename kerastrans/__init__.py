"""kerastrans: sequence-forecasting architectures as plain Keras 3 functional models."""

import importlib
import sys

from kerastrans.utils.lazy import Later, homes_of, names_of, use_only_backend
from kerastrans.version import __version__ as __version__

# Classes that are saved with models, besides those of heads, layers and models.
_SAVED = {
    "decoding.generation": ("AutoregressiveModel", "TokenModel"),
    "decoding.rollout": ("Rollout", "SampledQuantiles"),
    "layers.initializers": ("FanInUniform",),
    "text.metrics": ("TokenAccuracy",),
}
use_only_backend()
__getattr__, __dir__, __all__ = names_of(__name__)


class _KerasFinder:
    """Finder of the import system that calls `_register` as soon as Keras has been imported."""

    def find_spec(self, name, path=None, target=None):
        """Return the spec of Keras that the other finders find, None for any other module."""
        others = (finder for finder in sys.meta_path if finder is not self and name == "keras")
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module):
                execute(module)
                if module.__name__ == "keras":  # the loader of an archive loads other modules too
                    _register(module)

            spec.loader.exec_module = execute_and_register
        return spec


def _register(keras):
    """Make our classes known to `keras.saving.load_model` as soon as there is a Keras.

    A class replaces its stand-in when its module is imported.
    """
    importlib.import_module("kerastrans.utils.keras_internals").leave_tensorflow_out()
    models = importlib.import_module("kerastrans.models").HOMES
    saved = _SAVED | {f"models.{module}": names for module, names in models.items()}
    homes = homes_of("kerastrans.heads") | homes_of("kerastrans.layers")
    homes |= {name: f"kerastrans.{module}" for module, names in saved.items() for name in names}
    objects = keras.saving.get_custom_objects()
    for name, module in homes.items():
        objects.setdefault(f"kerastrans>{name}", Later(module, name))


if "keras" in sys.modules:
    _register(sys.modules["keras"])
else:
    sys.meta_path.insert(0, _KerasFinder())
