"""Former paths of public modules: importing one warns, and gives the module at its new path."""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

from kerastrans.utils.deprecation import warn_former_name

_PRESENT = {
    "data.clock": "data.time.clock",
    "data.csv_reader": "data.tables.reader",
    "data.cuts": "data.window_index",
    "data.gaps": "data.missing",
    "data.partitions": "data.parquet",
    "data.seasons": "data.time.seasons",
    "data.windows": "data.array_windows",
    "forecasting.combining": "forecasting.selection.combination",
    "forecasting.pretrained": "forecasting.presets.pretrained",
    "forecasting.scale": "forecasting.partitions",
    "forecasting.tuning": "forecasting.selection.tuning",
    "forecasting.upload": "forecasting.presets.upload",
    "layers.positional_encoding": "layers.embedding.positional_encoding",
    "models.blocks": "models.parts.blocks",
    "models.covariates": "models.parts.regression",
    "models.ensemble": "models.parts.ensemble",
    "models.sublayers": "models.parts.sublayers",
}


class _FormerPaths(MetaPathFinder, Loader):
    """Finds modules that have moved; the last of the finders, so that no present path meets it."""

    def find_spec(self, name, path, target=None):
        package, _, module = name.partition(".")
        if package == "kerastrans" and module in _PRESENT:
            return ModuleSpec(name, self)
        return None

    def exec_module(self, module):
        former = module.__name__
        present = f"kerastrans.{_PRESENT[former.partition('.')[2]]}"
        warn_former_name("module", former, present, since="0.3", until="0.5")
        sys.modules[former] = importlib.import_module(present)


def install():
    """Let `import` find the former paths."""
    sys.meta_path.append(_FormerPaths())
