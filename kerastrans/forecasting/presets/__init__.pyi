"""Written by tools/checks/stubs.py from kerastrans/forecasting/presets/__init__.py."""

from kerastrans.forecasting.presets import catalog as catalog
from kerastrans.forecasting.presets.catalog import card as card, check as check, evaluate as evaluate, load as load, load_trained as load_trained, write as write
from kerastrans.forecasting.presets import sources as sources
from kerastrans.forecasting.presets.sources import FOLDER as FOLDER, names as names
