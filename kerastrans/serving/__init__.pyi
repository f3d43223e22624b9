"""Written by tools/checks/stubs.py from kerastrans/serving/__init__.py."""

from kerastrans.serving import app as app
from kerastrans.serving.app import create_app as create_app
from kerastrans.serving import server as server
from kerastrans.serving.server import serve as serve
from kerastrans.serving import settings as settings
from kerastrans.serving.settings import Settings as Settings
