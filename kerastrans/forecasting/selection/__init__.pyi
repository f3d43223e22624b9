"""The public names, which are imported on first use."""

from . import combination as combination
from .combination import Selected as Selected, combine as combine
from . import search as search
from .search import select as select
from . import tuning as tuning
