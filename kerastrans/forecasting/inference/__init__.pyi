"""The public names, which are imported on first use."""

from . import adaptation as adaptation
from . import artefact as artefact
from . import calibration as calibration
from . import importances as importances
from . import preset_files as preset_files
from . import rolling_origins as rolling_origins
from . import serialization as serialization
