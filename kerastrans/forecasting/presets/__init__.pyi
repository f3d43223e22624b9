"""The public names, which are imported on first use."""

from . import catalog as catalog
from .catalog import (
    card as card,
    check as check,
    evaluate as evaluate,
    load as load,
    load_trained as load_trained,
    write as write,
)
from . import sources as sources
from .sources import FOLDER as FOLDER, names as names
