"""The public names, which are imported on first use."""

from . import app as app
from .app import create_app as create_app
from . import server as server
from .server import serve as serve
from . import settings as settings
from .settings import Settings as Settings
